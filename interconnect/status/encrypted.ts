/** The condition Encrypted of RemoteClusters and of the Interconnect. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { EncryptionMode, Member } from '../model/messages.ts';
import { keyProblem, modeOf, wishToward } from '../settle/encryption.ts';
import type { RemoteState } from '../settle/remotes.ts';
import { bad, good, summary, type Verdict } from './conditions.ts';
import type { Situation } from './situation.ts';

const type = 'Encrypted';

/** The mode of the pair; absent if neither this cluster nor another one wants encryption. */
export function encryptionOf(
  member: Member,
  { encryption }: Pick<Situation, 'encryption'>,
): { readonly encryption?: EncryptionMode } {
  return encryption === undefined ? {} : { encryption: modeOf(encryption.wish, member) };
}

/** None for a pair of clusters whose tunnels are not to be encrypted. */
export function encryptedVerdict(
  member: Member,
  state: RemoteState | undefined,
  situation: Situation,
): readonly Verdict[] {
  const { encryption } = situation;
  if (encryption === undefined || state === undefined || modeOf(encryption.wish, member) === 'off') return [];
  const [first, ...others] = problemsOf(member, state, situation);
  if (first !== undefined) return [bad(type, { code: first.code, message: summary([first, ...others]) })];
  const { encrypted } = state.gateways;
  const message = `tunnels to ${encrypted.size} gateways of ${member.name} are encrypted`;
  const own = wishToward(encryption.wish, member.name);
  if (own === member.encryption) return [good(type, 'Encrypted', message)];
  const other = member.encryption === undefined || member.encryption === '' ? 'off' : member.encryption;
  return [good(type, 'ModeDiffers', `${message}; the mode is ${own} here and ${other} in ${member.name}`)];
}

function problemsOf(member: Member, { gateways, verdicts }: RemoteState, situation: Situation): readonly Problem[] {
  const { encryption, gatewayOf } = situation;
  if (encryption === undefined) return [];
  const problems: Problem[] = [];
  for (const { chassis } of member.gateways) {
    if (gateways.encrypted.has(chassis)) continue;
    const problem = gateways.refused.get(chassis) ?? keyProblem(chassis, member, encryption);
    const outcome = gateways.mode === 'required' ? 'there is no tunnel to it' : 'the tunnel to it is not encrypted';
    problems.push({ code: problem.code, message: `${problem.message}; ${outcome}` });
  }
  for (const { localGateway, remoteGateway } of verdicts) {
    const report = gatewayOf(localGateway)?.wireGuard;
    if (!gateways.encrypted.has(remoteGateway) || report === undefined) continue;
    const { problem } = report;
    if (problem !== undefined) problems.push({ code: 'WireGuardDown', message: `gateway ${localGateway}: ${problem}` });
    else if (report.peers?.find(({ chassis }) => chassis === remoteGateway)?.session !== 'Up') {
      const ends = member.gateways.find(({ chassis }) => chassis === remoteGateway)?.wireGuard?.endpoints ?? [];
      const ours = (report.endpoints ?? []).join(' or ');
      const message = `${localGateway} and ${remoteGateway} of ${member.name} have no handshake: let UDP pass between ${ours} and ${ends.join(' or ')}, in both directions`;
      problems.push({ code: 'NoHandshake', message });
    }
  }
  return problems;
}

/** Of all clusters with which encryption is wanted. */
export function allEncryptedVerdict(situation: Situation): Verdict {
  let count = 0;
  const problems: Problem[] = [];
  for (const [name, state] of situation.remotes.entries()) {
    const member = situation.members.get(name);
    const [verdict] = member === undefined ? [] : encryptedVerdict(member, state, situation);
    if (verdict === undefined) continue;
    count += 1;
    if (verdict.status === 'False') problems.push({ code: verdict.reason ?? '', message: verdict.message ?? '' });
  }
  const [first] = problems;
  const counts = `${count - problems.length} of ${count} clusters`;
  if (first !== undefined) return bad(type, { code: first.code, message: `${counts}: ${summary(problems)}` });
  return good(type, count === 0 ? 'NoPeers' : 'Encrypted', count === 0 ? 'no other cluster is joined yet' : counts);
}
