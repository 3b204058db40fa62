/** The status of a HubMember. Pure: the same status comes back where there is nothing to say that is new. */
import type { HubMemberStatus } from '../../../lib/api/kinds/hub-member.ts';
import { setCondition } from '../../../lib/kube/conditions.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import type { AllocatedPort } from '../state/record.ts';
import type { MemberPresence, MemberSpec } from '../state/registry.ts';

/** For a member that stays connected the time is written no more often than this. */
export const lastSeenEveryMs = 15 * 60 * 1000;

const sentences = {
  Connected: 'its agent has a session with the hub',
  Absent: 'its agent has no session with the hub; what it had is kept',
  Stale:
    'its agent had no session for long and no other cluster reached it: its rows were removed, its membership stays',
} as const;

export interface MemberFacts {
  readonly spec: MemberSpec;
  readonly ports: readonly AllocatedPort[];
  readonly presence: MemberPresence;
  readonly nowMs: number;
}

export function renderMember(before: HubMemberStatus, { spec, ports, presence, nowMs }: MemberFacts): HubMemberStatus {
  const { state, lastSeenMs } = presence;
  const nowIso = new Date(nowMs).toISOString();
  const status = state === 'Connected' ? 'True' : 'False';
  const connected = { type: 'Connected', status, reason: state, message: sentences[state] } as const;
  const conditions = setCondition(setCondition(before.conditions, connected, nowIso), limitsOf(spec), nowIso);
  const isSameState = conditions === before.conditions;
  const isFresh = lastSeenMs - (Date.parse(before.lastSeen ?? '') || 0) < lastSeenEveryMs;
  const isSeen = lastSeenMs > 0 && !(isSameState && isFresh);
  const allocated = ports.map(({ switch: pathSwitch, mac, networks, tunnelKey }) => ({
    switch: pathSwitch,
    mac,
    networks: [...networks],
    tunnelKey,
  }));
  return {
    ...before,
    conditions: [...conditions],
    ...(isSeen ? { lastSeen: new Date(lastSeenMs).toISOString() } : {}),
    ports: allocated,
  };
}

function limitsOf({ allowedPrefixes }: MemberSpec) {
  const wrong = allowedPrefixes.filter((text) => parseCidr(text) === undefined);
  if (wrong.length === 0)
    return { type: 'SpecAccepted', status: 'True', reason: 'Accepted', message: 'its limits apply' } as const;
  const message = `allowedPrefixes: ${wrong.join(', ')} is no CIDR and allows nothing; write for example 10.16.0.0/16`;
  return { type: 'SpecAccepted', status: 'False', reason: 'PrefixInvalid', message } as const;
}
