/**
 * Says whether OVN understands a match expression that a user wrote in a Subnet's ACLs or a Vpc's policy routes.
 * In: the text and where it will stand. Out: nothing, or the first place that is wrong, with a sentence. Called by
 * parsers at the edge, before a row is planned: northd copies the text into logical flows, and ovn-controller
 * drops a flow that it cannot parse with a line in its log, so that a mistaken "drop" ACL would not be there.
 * Rule: a match that OVN accepts is accepted here, unless it cannot take effect in this place or would end
 * ovn-controller. The text is never changed. Pure, linear in the text's length.
 */
import { parseMatch } from './parse.ts';
import type { MatchContext } from './parse.ts';
import { at } from './place.ts';
import type { MatchProblem } from './place.ts';
import { tokensOf } from './token.ts';
import type { Token } from './token.ts';

export type { MatchContext } from './parse.ts';
export type { MatchProblem } from './place.ts';

/** Longest match in UTF-16 units; some 8,000 addresses written out. */
export const maxMatchLength = 131_072;

/** The first problem of a match expression; undefined if OVN takes it. */
export function checkMatch(text: string, context: MatchContext): MatchProblem | undefined {
  if (text.length > maxMatchLength)
    return {
      offset: maxMatchLength,
      message: `the match has ${text.length} characters, of which ${maxMatchLength} are allowed: put the addresses into an address set, or write several matches`,
    };
  const tokens = tokensOf(text);
  return parseMatch(tokens, context) ?? (context === 'router-policy' ? undefined : hiddenParenthesis(tokens));
}

/** Where the switch has stateful ACLs, northd puts the match in parentheses, and a last `//` hides the closing one. */
function hiddenParenthesis(tokens: readonly Token[]): MatchProblem | undefined {
  const last = tokens.at(-1);
  if (last?.kind !== 'end' || last.openComment === undefined) return undefined;
  return {
    offset: last.openComment,
    message: `the comment ${at(last.openComment)} would hide the parenthesis that OVN puts after the match of an ACL: end its line, or write /* */`,
  };
}

/** Names a match refers to, each once, sorted; also of a text that `checkMatch` refuses. */
export interface ReferencedNames {
  /** Without `$`. OVN also makes `<group>_ip4` and `<group>_ip6` of each port group; those have no row in northbound. */
  readonly addressSets: readonly string[];
  /** Without `@`. */
  readonly portGroups: readonly string[];
}

/** The address sets and port groups a match mentions: a missing one makes OVN drop the whole match. */
export function referencedNames(text: string): ReferencedNames {
  const tokens = tokensOf(text.slice(0, maxMatchLength));
  const namesOf = (kind: 'address set' | 'port group'): string[] =>
    [...new Set(tokens.flatMap((token) => (token.kind === kind ? [token.text.slice(1)] : [])))].sort();
  return { addressSets: namesOf('address set'), portGroups: namesOf('port group') };
}
