import { parseNumber } from './number.ts';
import type { NumberConstant } from './number.ts';
import { at, quoted } from './place.ts';

interface Span {
  /** Offset of the first UTF-16 unit, and of the one behind the last. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export type Token = Span &
  (
    | Content
    /** `openComment` is the offset of a `//` that has no line break behind it. */
    | { readonly kind: 'end'; readonly openComment?: number }
  );

type Content =
  | { readonly kind: 'name' | 'string' | 'address set' | 'port group' | 'symbol' }
  | { readonly kind: 'number'; readonly constant: NumberConstant }
  | { readonly kind: 'error'; readonly message: string };

const blank = /[ \t\n\r\v\f]+|\/\*[^\n]*?\*\//y;
const lineComment = /\/\/[^\n]*/y;
const quotedString = /"(?:[^"\\]|\\[^])*"/y;
const reference = /[$@][A-Za-z_.][A-Za-z_.0-9]*/y;
const name = /[A-Za-z_][A-Za-z_.0-9]*/y;
const symbol = /==|!=|&&|\|\||<->|<=|>=|\.\.|--|[(){}[\]=!<>,;:-]/y;
// A dot ends the run where another follows (`1..5`), a colon where a dot came before (`1.2.3.4:80`).
const number = /[0-9A-Za-z:]*(?:\.(?!\.)[0-9A-Za-z]*)*/y;
const numberStart = /\d|::|[0-9a-fA-F]+:/y;

function take(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  return pattern.exec(text)?.[0];
}

/** The tokens of a match expression; the last is `end`, or the first that OVN's lexer refuses. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  let openComment: number | undefined;
  for (;;) {
    const skipped = take(blank, text, offset) ?? take(lineComment, text, offset);
    if (skipped !== undefined) {
      openComment = skipped.startsWith('//') ? offset : undefined;
      offset += skipped.length;
      continue;
    }
    if (offset === text.length) {
      const end = { kind: 'end', start: offset, end: offset, text: '' } as const;
      return [...tokens, openComment === undefined ? end : { ...end, openComment }];
    }
    const [raw, content] = tokenAt(text, offset);
    tokens.push({ ...content, start: offset, end: offset + raw.length, text: raw });
    if (content.kind === 'error') return tokens;
    openComment = undefined;
    offset += raw.length;
  }
}

function tokenAt(text: string, offset: number): [raw: string, content: Content] {
  if (take(numberStart, text, offset) !== undefined) return numberAt(text, offset);
  const found = take(name, text, offset);
  if (found !== undefined) return [found, { kind: 'name' }];
  const string = take(quotedString, text, offset);
  if (string !== undefined) return [string, stringContent(string, offset)];
  const referred = take(reference, text, offset);
  if (referred !== undefined) return [referred, { kind: referred.startsWith('$') ? 'address set' : 'port group' }];
  const sign = take(symbol, text, offset);
  if (sign !== undefined) return [sign, { kind: 'symbol' }];
  return [text.slice(offset, offset + 1), { kind: 'error', message: strayCharacter(text, offset) }];
}

function numberAt(text: string, offset: number): [raw: string, content: Content] {
  let raw = take(number, text, offset) ?? '';
  // No blanks may stand before or behind the slash.
  if (text[offset + raw.length] === '/' && typeof parseNumber(raw) !== 'string')
    raw += `/${take(number, text, offset + raw.length + 1) ?? ''}`;
  const constant = parseNumber(raw);
  if (typeof constant !== 'string') return [raw, { kind: 'number', constant }];
  return [raw, { kind: 'error', message: `${quoted(raw)} ${at(offset)} ${constant}` }];
}

const escape =
  /\\(?:["\\/bfnrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?!0000|[dD][89a-fA-F])[0-9a-fA-F]{4})/g;

function stringContent(raw: string, offset: number): Content {
  if (!raw.replace(escape, '').includes('\\')) return { kind: 'string' };
  return {
    kind: 'error',
    message: `the string ${quoted(raw.slice(1, -1))} ${at(offset)} has an escape that JSON does not know`,
  };
}

function strayCharacter(text: string, offset: number): string {
  const character = String.fromCodePoint(text.codePointAt(offset) ?? 0);
  const place = at(offset);
  if (character === '&' || character === '|') return `single "${character}" ${place}: write "${character}${character}"`;
  if (character === '"') return `the string that begins ${place} is not closed`;
  if (character === "'") return `"'" ${place}: strings are written in double quotes`;
  if (character === '$' || character === '@') return `"${character}" ${place} has no name behind it`;
  if (character === '^') return `"^" ${place}: chassis template variables are not available here`;
  if (text.startsWith('/*', offset)) return `the comment that begins ${place} is not closed on its line`;
  if (character === '/')
    return `"/" ${place} does not follow a constant: write a mask without blanks, as in 10.0.0.0/8`;
  if (character === '.') return `"." ${place} belongs to no name or number`;
  if (/^[ -~]$/.test(character)) return `unexpected character ${quoted(character)} ${place}`;
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `character U+${code} ${place} is not allowed outside of strings and comments`;
}
