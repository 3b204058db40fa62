import { widthOf } from './number.ts';
import { at, quoted } from './place.ts';
import type { MatchProblem } from './place.ts';
import type { MatchSymbol } from './symbols.ts';
import type { Token } from './token.ts';

/** A field, or some of its bits, as a comparison mentions it. */
export interface Field {
  readonly symbol: MatchSymbol;
  readonly token: Token;
  readonly bits: number;
}

/** One constant, or a set of at least one in braces; all of them integers or all strings. */
export interface Constants {
  readonly tokens: readonly Token[];
  readonly isSet: boolean;
}

export function isRelation(token: Token): boolean {
  return token.kind === 'symbol' && /^(?:==|!=|<=?|>=?)$/.test(token.text);
}

/** The relation with its sides exchanged: 80 <= tcp.dst is tcp.dst >= 80. */
export function turned(relation: string): string {
  if (relation.startsWith('<')) return relation.replace('<', '>');
  return relation.replace('>', '<');
}

export function isText(token: Token): boolean {
  return token.kind === 'string' || token.kind === 'port group';
}

/** A token as a message quotes it. */
export function shownOf(token: Token): string {
  return quoted(token.kind === 'string' ? token.text.slice(1, -1) : token.text);
}

function problem(token: Token, message: string): MatchProblem {
  return { offset: token.start, message };
}

/** A field without a relation means "is not 0", which OVN takes of one bit, or of anything that is negated. */
export function compareBare({ symbol, token, bits }: Field, isNegated: boolean): MatchProblem | undefined {
  const place = at(token.start);
  if (symbol.level === 'string')
    return problem(token, `${symbol.name} ${place} must be compared: ${symbol.name} == "port"`);
  if (bits > 1 && !isNegated)
    return problem(
      token,
      `${token.text} ${place} has ${bits} bits and must be compared with a constant, as in ${token.text} != 0`,
    );
  return symbol.level === 'protocol' && isNegated ? negatedProtocol(token) : undefined;
}

/** Whether OVN can do `field relation constants`, inside an odd number of `!` where `isNegated`. */
export function checkComparison(
  field: Field,
  relation: string,
  constants: Constants,
  isNegated: boolean,
): MatchProblem | undefined {
  const typed = checkTypes(field, constants);
  if (typed !== undefined) return typed;
  const isEquality = relation === '==' || relation === '!=';
  if (!isEquality) return checkOrder(field, constants);
  const { level, name } = field.symbol;
  const isPositive = (relation === '==') !== isNegated;
  if (level === 'protocol') {
    const isUntested = constants.tokens.some(
      (token) => token.kind === 'number' && isTrue(token.constant.value) !== isPositive,
    );
    return isUntested ? negatedProtocol(field.token) : undefined;
  }
  if ((level !== 'nominal' && level !== 'string') || isPositive) return undefined;
  return problem(
    field.token,
    `${name} ${at(field.token.start)} can only be tested for equality, not for its opposite: list the values that shall match`,
  );
}

function isTrue(value: bigint): boolean {
  return (value & 1n) === 1n;
}

function negatedProtocol(token: Token): MatchProblem {
  const cure = 'name the protocols that shall match, or put a rule of higher priority before this one';
  return problem(token, `${token.text} ${at(token.start)} cannot be negated in OVN: ${cure}`);
}

function checkTypes({ symbol, token: field }: Field, { tokens }: Constants): MatchProblem | undefined {
  for (const token of tokens) {
    const place = at(token.start);
    if (symbol.level === 'string' && !isText(token))
      return problem(
        token,
        `${symbol.name} names a port: ${quoted(token.text)} ${place} must be a string in double quotes, or a port group @name`,
      );
    if (symbol.level !== 'string' && isText(token))
      return problem(
        token,
        `${field.text} is a number: ${token.text.startsWith('@') ? token.text : 'the string'} ${place} must be a constant without quotes, or an address set $name`,
      );
    if (token.kind === 'address set' && symbol.level !== 'string' && symbol.width < 32)
      return problem(
        token,
        `${symbol.name} has ${bitsText(symbol)} and cannot hold an address of ${token.text} ${place}`,
      );
    if (token.kind !== 'number') continue;
    const width = widthOf(token.constant);
    if (width > symbol.width) return problem(token, tooWide(symbol, token.text, place, width));
  }
  return undefined;
}

function bitsText({ width }: MatchSymbol): string {
  return width === 1 ? '1 bit' : `${width} bits`;
}

function tooWide(symbol: MatchSymbol, text: string, place: string, width: number): string {
  const other = symbol.name.startsWith('ip4.') && text.includes(':') ? `: use ip6.${symbol.name.slice(4)}` : '';
  return `${symbol.name} has ${bitsText(symbol)}, but ${quoted(text)} ${place} needs ${width}${other}`;
}

function checkOrder({ symbol, token: field }: Field, { tokens, isSet }: Constants): MatchProblem | undefined {
  const [first] = tokens;
  if (first === undefined) return undefined;
  const place = at(first.start);
  if (isSet) return problem(first, `the set ${place} can only be used with "==" and "!="`);
  if (symbol.level !== 'field')
    return problem(field, `${symbol.name} ${at(field.start)} has no order: it can only be compared with "=="`);
  if (first.kind === 'number' && first.constant.mask !== undefined)
    return problem(first, `the masked constant ${quoted(first.text)} ${place} can only be used with "==" and "!="`);
  return undefined;
}
