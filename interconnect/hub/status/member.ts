/** The status of a HubMember. Pure: an unchanged status is returned as it is. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { HubMemberStatus, MemberReport } from '../../../lib/api/kinds/hub-member.ts';
import { setCondition } from '../../../lib/api/conditions.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import type { PathReport } from '../../model/messages.ts';
import type { AllocatedPort } from '../model/record.ts';
import type { MemberFigures, MemberPresence, MemberSpec } from '../model/store.ts';

const sentences = {
  Connected: 'its agent has a session with the hub',
  Absent: 'its agent has no session with the hub; its rows are kept',
  Stale:
    'its agent had no session for a long time and no other cluster reached it: its rows were removed, its membership remains',
} as const;

export interface MemberFacts {
  readonly spec: MemberSpec;
  readonly ports: readonly AllocatedPort[];
  readonly presence: MemberPresence;
  readonly figures: MemberFigures;
  readonly nowMs: number;
}

export function renderMember(
  before: HubMemberStatus,
  { spec, ports, presence, figures, nowMs }: MemberFacts,
): HubMemberStatus {
  const { state } = presence;
  const nowIso = new Date(nowMs).toISOString();
  const status = state === 'Connected' ? 'True' : 'False';
  const connected = { type: 'Connected', status, reason: state, message: sentences[state] } as const;
  const conditions = setCondition(setCondition(before.conditions, connected, nowIso), limitsOf(spec), nowIso);
  const allocated = ports.map(({ switch: pathSwitch, mac, networks, tunnelKey }) => ({
    switch: pathSwitch,
    mac,
    networks: [...networks],
    tunnelKey,
  }));
  const { lastSeen: _, report: __, ...rest } = before;
  const lastSeen = lastSeenOf(before, presence);
  const report =
    figures.report === undefined ? before.report : figures.report === null ? undefined : reportOf(figures.report);
  return {
    ...rest,
    conditions: [...conditions],
    ...(lastSeen === undefined ? {} : { lastSeen }),
    ports: allocated,
    ...countsOf(figures),
    ...(report === undefined ? {} : { report }),
  };
}

function reportOf({ version, clusters, clustersUp, listed }: PathReport): MemberReport {
  const paths = listed.map(({ cluster, paths: all, up, state, reason, sinceMs, encryption = '' }) => ({
    cluster,
    paths: all,
    up,
    state,
    ...(reason === '' ? {} : { reason }),
    ...(sinceMs === 0 ? {} : { since: new Date(sinceMs).toISOString() }),
    ...(encryption === '' ? {} : { encryption }),
  }));
  return { version, clusters, clustersUp, paths };
}

function countsOf({ prefixes, exports, rejections }: MemberFigures): Partial<HubMemberStatus> {
  return {
    ...(prefixes === undefined ? {} : { prefixes }),
    ...(exports === undefined ? {} : { exports }),
    ...(rejections === undefined ? {} : { rejections }),
  };
}

/** For an object without a membership: the rest of its status is out of date. */
export function refuseMember(before: HubMemberStatus, { code, message }: Problem, nowMs: number): HubMemberStatus {
  const refused = { type: 'SpecAccepted', status: 'False', reason: code, message } as const;
  return { ...before, conditions: [...setCondition(before.conditions, refused, new Date(nowMs).toISOString())] };
}

/** When its session ended. One that is connected is seen now, and any time that is written would be old. */
function lastSeenOf(before: HubMemberStatus, { state, lastSeenMs }: MemberPresence): string | undefined {
  if (state === 'Connected') return undefined;
  // A hub that starts has not seen it: the time that an earlier one wrote is closer to the truth.
  if (before.lastSeen !== undefined) return before.lastSeen;
  return lastSeenMs > 0 ? new Date(lastSeenMs).toISOString() : undefined;
}

function limitsOf({ allowedPrefixes }: MemberSpec) {
  const wrong = allowedPrefixes.filter((text) => parseCidr(text) === undefined);
  if (wrong.length === 0)
    return { type: 'SpecAccepted', status: 'True', reason: 'Accepted', message: 'its limits apply' } as const;
  const message = `allowedPrefixes: ${wrong.join(', ')} is not a CIDR and allows nothing; write for example 10.16.0.0/16`;
  return { type: 'SpecAccepted', status: 'False', reason: 'PrefixInvalid', message } as const;
}
