/**
 * Makes text safe for a terminal: names and messages of objects may have been written by anybody, also in another cluster. Pure.
 */

/**
 * Control characters, and characters that are not seen but change what is: the direction of text, or its lines. A terminal acts
 * on the ones, and shows other words than are there for the others. A line feed and a tab are text.
 */
const unsafe = /[[\p{Cc}\p{Cf}\u2028\u2029]--[\n\t]]/v;
const allUnsafe = new RegExp(unsafe, 'gv');
/** What `paintFor` writes. */
const colour = new RegExp(`(${String.fromCodePoint(27)}\\[(?:0|1|2|31|32|33)m)`);

/** Each unsafe character as `\u001b`, which is also valid in JSON. With `isColoured`, colours of this program stay. */
export function printable(text: string, isColoured: boolean): string {
  if (!unsafe.test(text)) return text;
  if (!isColoured) return text.replace(allUnsafe, escaped);
  return text
    .split(colour)
    .map((part, at) => (at % 2 === 1 ? part : part.replace(allUnsafe, escaped)))
    .join('');
}

/** The same for a text that is shown within a line: line feeds and tabs would make it look like several. */
export function inLine(text: string): string {
  return printable(text, false).replace(/[\n\t]/g, escaped);
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, at) => {
    const unit = character.charCodeAt(at);
    return `\\u${unit.toString(16).padStart(4, '0')}`;
  }).join('');
}
