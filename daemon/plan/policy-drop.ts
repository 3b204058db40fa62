/** Says which policy dropped a packet, and how to find out why. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { AclOrigin } from '../../lib/policies/acl-text.ts';
import type { PacketHeaders } from '../model/packet-in.ts';

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

export interface PolicyDrop {
  readonly origin: AclOrigin;
  readonly pod: PodName;
  readonly packet: Omit<PacketHeaders, 'isMulticast'>;
  /** The pod at the other end, if it is known and in the same Namespace. */
  readonly peer: PodName | undefined;
  /** The NetworkPolicies that isolate the pod in this direction; at least one if no rule is the origin. */
  readonly isolating: readonly PodName[];
}

/** So many names and rules are listed. */
const mostListed = 5;

function list(words: readonly string[]): string {
  const more = words.length - mostListed;
  return words.slice(0, mostListed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function textOf({ namespace, name }: PodName): string {
  return `${namespace}/${name}`;
}

function causeOf({ origin, isolating }: PolicyDrop): string {
  if (origin.rules !== undefined) {
    const { kind, namespace, name, direction, rules } = origin;
    const places = rules.map((rule) => `spec.${direction}[${rule}]`);
    return `denied by ${kind} ${namespace === '' ? name : `${namespace}/${name}`}, ${list(places)}`;
  }
  const isOne = isolating.length === 1;
  const names = list(isolating.map(textOf));
  return `isolated by NetworkPolic${isOne ? 'y' : 'ies'} ${names}, of which no rule allows it`;
}

/** The command that explains the drop; undefined for protocols that it does not know. */
function hintOf({ origin, pod, packet, peer }: PolicyDrop): string | undefined {
  const { protocol, port, source, destination } = packet;
  if (port === undefined || port === 0) return undefined;
  const isIngress = origin.direction === 'ingress';
  const other = peer === undefined ? (isIngress ? source : destination) : textOf(peer);
  const ends = isIngress ? [other, textOf(pod)] : [textOf(pod), other];
  return `isthmus policy why ${ends.join(' ')} ${port}/${protocol}`;
}

export function dropProblem(drop: PolicyDrop): Problem {
  const { origin, packet, peer } = drop;
  const { protocol, port, source, destination } = packet;
  const isIngress = origin.direction === 'ingress';
  const address = isIngress ? source : destination;
  const other = peer === undefined ? address : `${address} (pod ${textOf(peer)})`;
  const what = `${protocol}${port === undefined ? '' : ` to port ${port}`}`;
  const hint = hintOf(drop);
  const message = `${origin.direction}: ${what} ${isIngress ? 'from' : 'to'} ${other} was dropped, ${causeOf(drop)}`;
  return { code: 'PolicyDrop', message: hint === undefined ? message : `${message}; "${hint}" explains it` };
}
