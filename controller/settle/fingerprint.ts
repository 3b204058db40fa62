/** Values as texts: equal ones for what makes no difference to anybody. */
import { formatIp } from '../../lib/net/ip.ts';
import type { Kinds } from '../model/objects.ts';
import type { Verdict } from '../model/settled.ts';
import { notedGateways, noteOn } from './subnet/accepted-note.ts';

/** Without what only this room writes. */
export function subnetFingerprint(subnet: Kinds['subnets'] | undefined): string {
  if (subnet === undefined) return '';
  const { uid, spec, unsupported, isDeleting } = subnet;
  // A gateway that was replaced is nobody's address.
  const former = notedGateways(noteOn(subnet))
    .map(formatIp)
    .filter((ip) => !spec.gateway.split(',').includes(ip));
  return text([uid, spec, unsupported, isDeleting, former]);
}

/** Of objects of which only the spec, and that they are being deleted, is of interest. */
export function specFingerprint(
  object: { readonly uid: string; readonly spec: unknown; readonly isDeleting: boolean } | undefined,
): string {
  return object === undefined ? '' : text([object.uid, object.spec, object.isDeleting]);
}

/** Values may be big integers, which JSON does not know. */
export function text(value: unknown): string {
  return JSON.stringify(value ?? null, (_, part: unknown) => (typeof part === 'bigint' ? part.toString(16) : part));
}

export function verdictFingerprint(verdict: Verdict | undefined): string {
  if (verdict === undefined) return '';
  const { problem, isOpen, spec, net, of, vpc } = verdict;
  return text([vpc, net, of, isOpen, spec, problem?.code, problem?.message]);
}
