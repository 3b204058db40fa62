/**
 * Texts from members. In: a text. Out: whether databases, logs and people can read it, or the legible part of it. Pure.
 */

export const longestText = 255;

/** Control characters, and halves of surrogate pairs: the databases read neither. */
const illegible = /[\p{Cc}\p{Cs}]/u;
const allIllegible = new RegExp(illegible, 'gu');

export function isLegible(text: string): boolean {
  return text.length <= longestText && !illegible.test(text);
}

/** Cut to `most` characters, with a sign in place of each that cannot be read. */
export function legible(text: string, most = longestText): string {
  return text.slice(0, most).replace(allIllegible, '\u{fffd}');
}
