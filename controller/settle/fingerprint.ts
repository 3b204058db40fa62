/** Values as texts. Values without a relevant difference have equal texts. */
import { formatIp } from '../../lib/net/ip.ts';
import type { Kinds } from '../model/objects.ts';
import type { Verdict } from '../model/settled.ts';
import { notedGateways, noteOn } from './subnet/accepted-note.ts';

/** Without the fields that only this room writes. */
export function subnetFingerprint(subnet: Kinds['subnets'] | undefined): string {
  if (subnet === undefined) return '';
  const { uid, spec, unsupported, isDeleting } = subnet;
  // A replaced gateway is not an address of any port.
  const former = notedGateways(noteOn(subnet))
    .map(formatIp)
    .filter((ip) => !spec.gateway.split(',').includes(ip));
  return text([uid, spec, unsupported, isDeleting, former]);
}

/** For objects of which only the spec and the deletion matter. */
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
