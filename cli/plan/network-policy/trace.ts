/**
 * What OVN does with the packets of a connection, beside what the policies say. In: the output of ovn-trace, whose matches name the policies they come from, and the judgement of both ends. Out: for each end whether OVN
 * lets the packet pass, by which ACL, and whether that is what its policies decide. Rule: an ACL of a Subnet or a security group may drop what policies allow;
 * where OVN has no tiers, it may also allow what they deny. Pure.
 */
import { readAclText, type AclRules } from '../../../lib/policies/acl-text.ts';
import { clusterGroup, isolationGroup } from '../../../lib/policies/group-names.ts';
import { policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import type { OvnTrace } from '../../model/ovn-trace.ts';

/** Whose ACL decides about a packet. `none`: none does, and what no ACL matches passes. */
export type Decider = 'policies' | 'others' | 'none';

export interface EndTrace {
  readonly direction: PolicyDirection;
  readonly isPassed: boolean;
  readonly decider: Decider;
  /** `ls_out_acl_eval`: where the packet was decided or dropped. */
  readonly stage: string;
  /** In words: `NetworkPolicy shop/web`, `the drop of what no NetworkPolicy allows`, or the match of an ACL; empty if no ACL decides. */
  readonly by: string;
  /** Whether the policies of this end decide the same; undefined if another feature decides. */
  readonly agrees: boolean | undefined;
}

export interface OvnAnswer {
  /** Whether the output of ovn-trace has the pipelines of the packet; otherwise nothing else of this is known. */
  readonly isUnderstood: boolean;
  readonly verdict: 'allowed' | 'denied';
  /** Whether no end decides otherwise than its policies. */
  readonly agrees: boolean;
  /** Those that the packet reached. */
  readonly ends: readonly EndTrace[];
}

interface Line {
  readonly stage: string;
  readonly match: string;
}

/** The stages that a packet goes through in one pipeline of a switch or router. */
export interface Section {
  readonly pipeline: 'ingress' | 'egress';
  readonly inport: string;
  readonly outport: string;
  readonly lines: readonly Line[];
  /** Whether the packet leaves the pipeline: for the egress pipeline, or for a port. */
  readonly isLeft: boolean;
}

const header = /^(ingress|egress)\(dp="[^"]*", inport="([^"]*)"(?:, outport="([^"]*)")?\)$/;
const flow = /^ *\d+\. (\w+)(?: \([^)]*\))?: (.*), priority \d+, uuid [0-9a-f]+$/;
const aclStage = /^ls_(?:in|out)_acl(?:_after_lb)?(?:_eval|_sample|_action)?$/;
const matchingStage = /^ls_(?:in|out)_acl(?:_after_lb)?(?:_eval)?$/;

export function parseTrace(text: string): readonly Section[] {
  const sections: { -readonly [K in keyof Section]: K extends 'lines' ? Line[] : Section[K] }[] = [];
  for (const line of text.split('\n')) {
    const current = sections.at(-1);
    const [, pipeline, inport = '', outport = ''] = header.exec(line) ?? [];
    if (pipeline !== undefined) {
      if (current?.pipeline === 'ingress') current.isLeft = true;
      sections.push({ pipeline: pipeline as Section['pipeline'], inport, outport, lines: [], isLeft: false });
      continue;
    }
    const [, stage, match = ''] = flow.exec(line) ?? [];
    if (stage !== undefined) current?.lines.push({ stage, match });
    else if (current?.pipeline === 'egress' && line.trimStart().startsWith('/* output to ')) current.isLeft = true;
  }
  return sections;
}

/** @param allowed what the policies of each end say */
export function answerOfOvn(
  { ports }: Pick<OvnTrace, 'ports'>,
  text: string,
  allowed: Readonly<Record<PolicyDirection, boolean>>,
): OvnAnswer {
  const sections = parseTrace(text);
  const { from, to } = ports;
  const sender = sections.find(({ pipeline, inport }) => pipeline === 'ingress' && inport === from);
  const receiver = sections.find(({ pipeline, outport }) => pipeline === 'egress' && outport === to);
  const ends = policyDirections.toReversed().flatMap((direction) => {
    const section = direction === 'ingress' ? receiver : sender;
    return section === undefined ? [] : [endOf(direction, section, allowed[direction])];
  });
  // A packet that does not arrive at its pod was dropped on the way, also by other parts of OVN.
  const isThere = to === undefined || receiver !== undefined;
  const isAllowed = isThere && ends.every(({ isPassed }) => isPassed);
  const isUnderstood = sections.length > 0 && (from === undefined || sender !== undefined);
  return {
    isUnderstood,
    verdict: isAllowed ? 'allowed' : 'denied',
    agrees: ends.every(({ agrees }) => agrees !== false),
    ends,
  };
}

function endOf(direction: PolicyDirection, { lines, isLeft: isPassed }: Section, isAllowed: boolean): EndTrace {
  const last = lines.at(-1);
  const isByAcl = isPassed || (last !== undefined && aclStage.test(last.stage));
  // What drops a packet may be in a stage before that of policies.
  const first = isPassed ? (direction === 'ingress' ? 'ls_out_acl' : 'ls_in_acl_after_lb') : 'ls_';
  const deciding = isByAcl
    ? lines.findLast(({ stage, match }) => matchingStage.test(stage) && stage.startsWith(first) && isDecision(match))
    : undefined;
  const { decider, by } =
    deciding === undefined ? { decider: 'none' as const, by: '' } : describe(direction, deciding.match);
  const stage = deciding?.stage ?? (isPassed ? '' : (last?.stage ?? ''));
  // Where OVN has tiers, no other ACL allows what policies deny.
  const isOthers = isPassed ? decider === 'others' && !stage.endsWith('_eval') : decider !== 'policies';
  const agrees = isOthers && isPassed !== isAllowed ? undefined : isPassed === isAllowed;
  return { direction, isPassed, decider, stage, by, agrees };
}

/** Whether an ACL says anything: those that end a tier match everything. */
function isDecision(match: string): boolean {
  return /@|[a-z]port == /.test(match);
}

function describe(direction: PolicyDirection, match: string): { readonly decider: Decider; readonly by: string } {
  const origin = readAclText(match);
  if (origin !== undefined)
    return {
      decider: 'policies',
      by: origin.rules === undefined ? 'the drop of what no NetworkPolicy allows' : nameOf(origin),
    };
  const groups = [...match.matchAll(/@([\w.]+)/g)].flatMap(([, group]) => group ?? []);
  for (const group of groups) {
    if (group === isolationGroup(direction) || group === clusterGroup(direction))
      return { decider: 'policies', by: 'what always passes' };
    if (/^(?:isthmus\.cluster\.)?node\./.test(group)) return { decider: 'policies', by: 'what always passes' };
    if (group.startsWith('np.')) return { decider: 'policies', by: `a policy of port group ${group}` };
  }
  return { decider: 'others', by: match };
}

function nameOf({ kind, namespace, name }: AclRules): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}
