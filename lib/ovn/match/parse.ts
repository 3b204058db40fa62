import { checkComparison, compareBare, isRelation, isText, shownOf, turned } from './compare.ts';
import type { Constants, Field } from './compare.ts';
import { Alternatives, alternativesOf, tooManyAlternatives } from './cost.ts';
import { at, quoted } from './place.ts';
import type { MatchProblem } from './place.ts';
import { settableOnly, suggestionFor, symbols } from './symbols.ts';
import type { Token } from './token.ts';

/** The place of the match, which decides which fields of a packet are known. */
export type MatchContext = 'acl-from-lport' | 'acl-to-lport' | 'router-policy';

/** OVN allows 100, of which northd uses one for an ACL. */
const maxDepth = 99;

type Shape = 'whole' | 'comparison';

/** The first problem of a match given as tokens; undefined if there is none. */
export function parseMatch(tokens: readonly Token[], context: MatchContext): MatchProblem | undefined {
  return new Parser(tokens, context).run();
}

/** Recursive descent over OVN's grammar. Each method returns undefined once `#problem` is set. */
class Parser {
  readonly #tokens: readonly Token[];
  readonly #context: MatchContext;
  #index = 0;
  #depth = 0;
  #isNegated = false;
  #alternatives = new Alternatives();
  #problem: MatchProblem | undefined;

  constructor(tokens: readonly Token[], context: MatchContext) {
    this.#tokens = tokens;
    this.#context = context;
  }

  run(): MatchProblem | undefined {
    const first = this.#token;
    if (first.kind === 'end') return { offset: 0, message: 'the match is empty: write 1 to match every packet' };
    if (this.#expression() && this.#token.kind !== 'end') this.#unexpectedEnd();
    return this.#problem;
  }

  get #token(): Token {
    const token = this.#tokens[this.#index];
    if (token === undefined) throw new Error('a match was read past its last token');
    return token;
  }

  #is(text: string): boolean {
    return this.#token.kind === 'symbol' && this.#token.text === text;
  }

  #accept(text: string): boolean {
    const isThere = this.#is(text);
    if (isThere) this.#index += 1;
    return isThere;
  }

  /** What the lexer refused comes before what the grammar expected in its place. */
  #fail(message: string, token: Token = this.#token): undefined {
    const found = this.#token.kind === 'error' ? this.#token : token;
    this.#problem = { offset: found.start, message: found.kind === 'error' ? found.message : message };
    return undefined;
  }

  #expected(what: string): undefined {
    const previous = this.#tokens[this.#index - 1];
    const behind = previous === undefined ? '' : ` after ${shownOf(previous)}`;
    const found = this.#token.kind === 'end' ? 'the match ends' : `found ${shownOf(this.#token)}`;
    return this.#fail(`expected ${what}${behind}, but ${found} ${at(this.#token.start)}`);
  }

  #unexpectedEnd(): undefined {
    const found = this.#token;
    if (this.#is(')')) return this.#fail(`")" ${at(found.start)} closes no parenthesis`);
    if (this.#is('..')) return this.#fail(`".." ${at(found.start)}: a range is written 80 <= tcp.dst <= 90`);
    const hint = found.kind === 'name' ? suggestionFor(found.text) : undefined;
    const cure = hint?.startsWith('write') === true ? hint : 'join conditions with "&&" or "||"';
    return this.#fail(`unexpected ${shownOf(found)} ${at(found.start)}: ${cure}`);
  }

  #expression(): true | undefined {
    const outer = this.#alternatives;
    this.#alternatives = new Alternatives();
    if (this.#negation() === undefined) return undefined;
    const operator = this.#token;
    const joint = this.#is('&&') || this.#is('||') ? operator.text : '';
    const isChoice = joint !== '' && (joint === '||') !== this.#isNegated;
    while (this.#accept(joint)) {
      if (isChoice) this.#alternatives = new Alternatives();
      if (this.#negation() === undefined) return undefined;
    }
    if (this.#is('&&') || this.#is('||'))
      return this.#fail(
        `"&&" and "||" are mixed ${at(this.#token.start)}: put parentheses around what belongs together`,
      );
    const field = isChoice ? undefined : outer.include(this.#alternatives);
    this.#alternatives = outer;
    return field === undefined ? true : this.#fail(tooManyAlternatives(field, operator), operator);
  }

  #negation(): true | undefined {
    const sign = this.#token;
    if (!this.#accept('!')) return this.#primary() === undefined ? undefined : true;
    this.#isNegated = !this.#isNegated;
    const shape = this.#primary();
    this.#isNegated = !this.#isNegated;
    if (shape === undefined) return undefined;
    if (shape === 'whole') return true;
    return this.#fail(`"!" ${at(sign.start)} needs parentheses around the comparison it negates`, sign);
  }

  #primary(): Shape | undefined {
    if (this.#is('(')) return this.#parenthesized();
    if (this.#token.kind !== 'name') return this.#constantFirst();
    const next = this.#tokens[this.#index + 1];
    if (next?.kind === 'symbol' && next.text === '(') return this.#call();
    const field = this.#field();
    if (field === undefined) return undefined;
    const relation = this.#token.text;
    if (!isRelation(this.#token))
      return this.#is('=')
        ? this.#fail(`"=" ${at(this.#token.start)} does not compare: write "=="`)
        : this.#checked(compareBare(field, this.#isNegated), 'whole', field, '!=');
    this.#index += 1;
    const constants = this.#constants();
    if (constants === undefined) return undefined;
    return this.#compared(field, relation, constants);
  }

  #parenthesized(): Shape | undefined {
    const open = this.#token;
    if (this.#depth === maxDepth)
      return this.#fail(`more than ${maxDepth} parentheses are nested ${at(open.start)}: write fewer`);
    this.#index += 1;
    this.#depth += 1;
    const isFine = this.#expression();
    this.#depth -= 1;
    if (isFine === undefined) return undefined;
    if (this.#accept(')')) return 'whole';
    if (this.#token.kind === 'end') return this.#fail(`"(" ${at(open.start)} is never closed`, open);
    return this.#expected('")", "&&" or "||"');
  }

  #call(): Shape | undefined {
    if (this.#token.text !== 'is_chassis_resident')
      return this.#fail(
        `unknown function ${quoted(this.#token.text)} ${at(this.#token.start)}: OVN has is_chassis_resident("port")`,
      );
    this.#index += 2;
    if (this.#token.kind !== 'string') return this.#expected('the name of a port in double quotes');
    this.#index += 1;
    return this.#accept(')') ? 'whole' : this.#expected('")"');
  }

  /** `1`, `80 == tcp.dst` or `80 <= tcp.dst <= 90`. */
  #constantFirst(): Shape | undefined {
    const start = this.#token;
    const low = this.#constants(true);
    if (low === undefined) return undefined;
    const relation = this.#token;
    if (!isRelation(relation)) {
      if (start.kind === 'number' && (start.text === '0' || start.text === '1')) return 'whole';
      return this.#expected('a relation such as "=="');
    }
    this.#index += 1;
    const field = this.#field();
    if (field === undefined) return undefined;
    const asWritten = turned(relation.text);
    const isRange = isRelation(this.#token);
    const shape = this.#compared(field, asWritten, low);
    if (shape === undefined || !isRange) return shape;
    const second = this.#token;
    this.#index += 1;
    const high = this.#constants();
    if (high === undefined) return undefined;
    if (relation.text[0] === second.text[0] && /^[<>]/.test(second.text))
      return this.#compared(field, second.text, high);
    const place = `"${second.text}" ${at(second.start)}`;
    return this.#fail(`a range is written x < field < y or x > field > y: ${place} makes none`, second);
  }

  #compared(field: Field, relation: string, constants: Constants): Shape | undefined {
    const problem = checkComparison(field, relation, constants, this.#isNegated);
    return this.#checked(problem, 'comparison', field, relation, constants);
  }

  #checked(
    problem: MatchProblem | undefined,
    shape: Shape,
    field: Field,
    relation: string,
    constants?: Constants,
  ): Shape | undefined {
    this.#problem = problem;
    if (problem !== undefined) return undefined;
    const isOrder = relation !== '==' && relation !== '!=';
    const isPositive = isOrder || (relation === '==') !== this.#isNegated;
    const factor = alternativesOf(field, constants, isPositive);
    if (factor === 1 || this.#alternatives.multiply(field.symbol.name, factor)) return shape;
    return this.#fail(tooManyAlternatives(field.symbol.name, field.token), field.token);
  }

  #field(): Field | undefined {
    const token = this.#token;
    if (token.kind !== 'name') return this.#expected('a field');
    const symbol = symbols.get(token.text);
    if (symbol === undefined) return this.#unknownField(token);
    if (symbol.name === 'outport' && this.#context === 'acl-from-lport')
      return this.#fail(
        `outport ${at(token.start)} is not known yet in a from-lport ACL: use a to-lport ACL, or inport`,
      );
    this.#index += 1;
    return this.#accept('[')
      ? this.#bits({ symbol, token, bits: symbol.width })
      : { symbol, token, bits: symbol.width };
  }

  #unknownField(token: Token): undefined {
    if (settableOnly.has(token.text))
      return this.#fail(`${token.text} ${at(token.start)} cannot be matched: OVN only sets it`);
    const hint = suggestionFor(token.text);
    return this.#fail(`unknown field ${quoted(token.text)} ${at(token.start)}${hint === undefined ? '' : `: ${hint}`}`);
  }

  #bits(field: Field): Field | undefined {
    const { name, width, level } = field.symbol;
    const first = this.#token;
    if (level === 'string') return this.#fail(`${name} ${at(field.token.start)} is a string and has no bits to select`);
    const low = this.#bit();
    if (low === undefined) return undefined;
    const high = this.#accept('..') ? this.#bit() : low;
    if (high === undefined) return undefined;
    if (!this.#accept(']')) return this.#expected('"]"');
    if (low > high)
      return this.#fail(`bits ${low}..${high} ${at(first.start)} run backwards: write the lower first`, first);
    if (high >= width)
      return this.#fail(`bit ${high} ${at(first.start)} does not exist: ${name} has ${width} bits, from 0`, first);
    const isWhole = low === 0 && high === width - 1;
    if (!isWhole && level === 'nominal')
      return this.#fail(
        `OVN cannot select bits of ${name} ${at(field.token.start)}: compare the whole field`,
        field.token,
      );
    return { ...field, bits: high - low + 1 };
  }

  #bit(): number | undefined {
    const token = this.#token;
    const isIndex = token.kind === 'number' && token.constant.format === 'decimal' && token.constant.mask === undefined;
    if (!isIndex || token.constant.value > 0x7fffffffn) return this.#expected('the number of a bit');
    this.#index += 1;
    return Number(token.constant.value);
  }

  #constants(isFirst = false): Constants | undefined {
    const isSet = this.#accept('{');
    const open = this.#tokens[this.#index - 1];
    const found: Token[] = [];
    for (;;) {
      const token = this.#constant(isSet && found.length > 0, open, isFirst);
      if (token === undefined) return undefined;
      const [first = token] = found;
      if (isText(first) !== isText(token))
        return this.#fail(
          `${shownOf(token)} ${at(token.start)} stands in a set of ${isText(first) ? 'strings' : 'integers'}`,
        );
      found.push(token);
      this.#index += 1;
      if (isSet) this.#accept(',');
      if (!isSet || this.#accept('}')) return { tokens: found, isSet };
    }
  }

  #constant(isInSet: boolean, open: Token | undefined, isFirst: boolean): Token | undefined {
    const token = this.#token;
    if (token.kind === 'number' || token.kind === 'string' || token.kind === 'address set') return token;
    if (token.kind === 'port group')
      return this.#context === 'router-policy'
        ? this.#fail(`port group ${token.text} ${at(token.start)} has no router ports: name the router port in quotes`)
        : token;
    if (isInSet && token.kind === 'end' && open !== undefined)
      return this.#fail(`"{" ${at(open.start)} is never closed`, open);
    if (isFirst) return this.#expected('a condition');
    if (token.kind !== 'name') return this.#expected('a constant');
    return this.#expected(
      symbols.has(token.text)
        ? 'a constant (OVN cannot compare two fields)'
        : 'a constant (strings are written in double quotes)',
    );
  }
}
