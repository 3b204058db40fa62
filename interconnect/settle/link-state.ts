/** How the state of the link follows from what happened to it. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { LinkState, MembershipGoal } from '../model/link-state.ts';

/** Refusals after which the present certificate is worth nothing. */
const finalCodes: readonly string[] = ['NotAMember', 'CertificateInvalid'];

export function isSameGoal(a: MembershipGoal | undefined, b: MembershipGoal | undefined): boolean {
  return a?.cluster === b?.cluster && a?.hub === b?.hub && a?.tokenRef === b?.tokenRef;
}

export function endsMembership(code: string): boolean {
  return finalCodes.includes(code);
}

/** Whether the problem lasts until a person acts. */
export function isRefusal(problem: Problem | undefined): boolean {
  return problem !== undefined && problem.code !== 'HubUnreachable';
}

/** A certificate is renewed at two thirds of its life. */
export function isRenewalDue(
  { notBeforeMs, notAfterMs }: { readonly notBeforeMs: number; readonly notAfterMs: number },
  nowMs: number,
): boolean {
  return nowMs >= notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3;
}

/** The hub calls this cluster `name`; undefined: it has no name yet. `wanted`: the name it should have. */
export function named(before: LinkState, name: string | undefined, wanted: string | undefined): LinkState {
  const { renaming, cluster, ...state } = before;
  if (name === undefined) return state;
  if (wanted === undefined || wanted === name) return { ...state, cluster: name };
  const message = `this cluster is being renamed from "${name}" to "${wanted}"`;
  const why = cluster === name ? renaming : undefined;
  return { ...state, cluster: name, renaming: why ?? { code: 'Renaming', message } };
}

/** The hub did not give this cluster the wanted name. */
export function notRenamed(before: LinkState, wanted: string, { code, message: reason }: Problem): LinkState {
  const message = `this cluster keeps the name "${before.cluster}" until the hub calls it "${wanted}": ${reason}`;
  return { ...before, renaming: { code, message } };
}

export function connected(before: LinkState): LinkState {
  return { ...before, isJoined: true, isConnected: true, problem: undefined };
}

export function disconnected(before: LinkState, problem: Problem | undefined): LinkState {
  return { ...before, isConnected: false, problem };
}

/** The last attempt to renew the certificate failed for this reason; undefined: it did not fail. */
export function renewed(before: LinkState, problem: Problem | undefined): LinkState {
  const { renewal: _, ...state } = before;
  return problem === undefined ? state : { ...state, renewal: problem };
}
