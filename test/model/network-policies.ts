/**
 * NetworkPolicies as Kubernetes documents them, for comparison with packets. In: policies and pods as they are in the API, and a connection; out:
 * whether those that select one of its ends allow it. Pure, and written from the documents of Kubernetes: nothing of the product is imported but the
 * arithmetic of addresses.
 */
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';

export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

export interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

export interface Port {
  readonly protocol?: 'TCP' | 'UDP';
  readonly port?: number | string;
  readonly endPort?: number;
}

export interface Policy {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: {
    readonly podSelector: Selector;
    readonly policyTypes?: readonly ('Ingress' | 'Egress')[];
    readonly ingress?: readonly { readonly from?: readonly Peer[]; readonly ports?: readonly Port[] }[];
    readonly egress?: readonly { readonly to?: readonly Peer[]; readonly ports?: readonly Port[] }[];
  };
}

/** A pod, or a host that is none: without a namespace. */
export interface Host {
  readonly name: string;
  readonly namespace?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: readonly {
    readonly name: string;
    readonly protocol: 'TCP' | 'UDP';
    readonly containerPort: number;
  }[];
}

export interface World {
  readonly policies: readonly Policy[];
  /** Labels of each namespace. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

export type Direction = 'Ingress' | 'Egress';

export interface Connection {
  readonly from: Host;
  readonly to: Host;
  /** The addresses that the connection has, of one family. */
  readonly source: string;
  readonly destination: string;
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
}

export function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isIn = value !== undefined && values.includes(value);
      return operator === 'In' ? isIn : !isIn;
    })
  );
}

export function isWithin(network: string, address: string): boolean {
  const [cidr, ip] = [parseCidr(network), parseIp(address)];
  return cidr !== undefined && ip !== undefined && cidrContains(cidr, ip);
}

function isPeer(world: World, own: string, peer: Peer, host: Host, address: string): boolean {
  if (peer.ipBlock !== undefined) {
    const { cidr, except = [] } = peer.ipBlock;
    return isWithin(cidr, address) && !except.some((one) => isWithin(one, address));
  }
  if (host.namespace === undefined) return false;
  const isNamespace =
    peer.namespaceSelector === undefined
      ? host.namespace === own
      : selects(peer.namespaceSelector, world.namespaces.get(host.namespace) ?? {});
  return isNamespace && selects(peer.podSelector ?? {}, host.labels);
}

function isPort({ protocol = 'TCP', port, endPort }: Port, { to, protocol: used, port: number }: Connection): boolean {
  if (protocol !== used) return false;
  if (port === undefined) return true;
  if (typeof port === 'string')
    return to.ports.some((one) => one.name === port && one.protocol === used && one.containerPort === number);
  return endPort === undefined ? number === port : port <= number && number <= endPort;
}

/** Whether the policies that select one end of the connection allow it; undefined if none selects it in this direction. */
export function isAllowedAt(world: World, direction: Direction, connection: Connection): boolean | undefined {
  const { from, to, source, destination } = connection;
  const [self, other, address] = direction === 'Ingress' ? [to, from, source] : [from, to, destination];
  const isolating = world.policies.filter(({ metadata, spec }) => {
    const types = spec.policyTypes ?? ['Ingress', ...(spec.egress === undefined ? [] : ['Egress'])];
    return metadata.namespace === self.namespace && types.includes(direction) && selects(spec.podSelector, self.labels);
  });
  if (isolating.length === 0) return undefined;
  return isolating.some(({ metadata, spec }) => {
    const rules =
      direction === 'Ingress'
        ? (spec.ingress ?? []).map((rule) => ({ peers: rule.from ?? [], ports: rule.ports ?? [] }))
        : (spec.egress ?? []).map((rule) => ({ peers: rule.to ?? [], ports: rule.ports ?? [] }));
    return rules.some(
      ({ peers, ports }) =>
        (peers.length === 0 || peers.some((peer) => isPeer(world, metadata.namespace, peer, other, address))) &&
        (ports.length === 0 || ports.some((port) => isPort(port, connection))),
    );
  });
}
