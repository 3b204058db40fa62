/** Kubernetes objects as this room needs them. Nothing of the raw object is kept; what is wrong is part of the value. */
import { z } from 'zod';
import { interconnectSpec, type InterconnectSpec, type InterconnectStatus } from '../../lib/api/kinds/interconnect.ts';
import { networksInForce } from '../../lib/api/in-force.ts';
import { annotation, defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import { parseIp, type Ip } from '../../lib/net/ip.ts';

/** The one Interconnect that counts. */
export const canonicalName = 'default';

export interface Interconnect {
  readonly uid: string;
  readonly generation: number;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  readonly spec: InterconnectSpec | Problem;
  readonly status: InterconnectStatus;
}

export function parseInterconnect(raw: RawObject): Interconnect {
  const parsed = interconnectSpec.safeParse(raw['spec']);
  const { metadata } = raw;
  return {
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    isDeleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    spec: parsed.success ? parsed.data : { code: 'SpecInvalid', message: z.prettifyError(parsed.error) },
    status: raw['status'] ?? {},
  };
}

export interface Subnet {
  readonly vpc: string;
  readonly cidrs: readonly Cidr[];
  /** Whether other clusters may know of it. */
  readonly isShared: boolean;
}

const subnetFields = z.object({
  spec: z
    .object({
      vpc: z.string().optional(),
      vlan: z.string().optional(),
      logicalGateway: z.boolean().optional(),
      disableInterConnection: z.boolean().optional(),
    })
    .default({}),
});

export function parseSubnet(raw: RawObject): Subnet {
  const { data } = subnetFields.safeParse(raw);
  const spec = data?.spec ?? {};
  // An underlay network is reached through the physical one, unless OVN is its gateway.
  const isRouted = (spec.vlan ?? '') === '' || spec.logicalGateway === true;
  const isOpen = spec.disableInterConnection !== true && raw.metadata.name !== joinSubnet;
  const isShared = isRouted && isOpen;
  return {
    vpc: spec.vpc === undefined || spec.vpc === '' ? defaultVpc : spec.vpc,
    cidrs: networksInForce(raw.metadata.annotations),
    isShared,
  };
}

export interface Node {
  readonly labels: Readonly<Record<string, string>>;
  /** As its daemon wrote it; undefined before. */
  readonly chassis: string | undefined;
  readonly addresses: readonly Ip[];
}

const nodeAddresses = z.array(z.object({ type: z.string(), address: z.string() }));

export function parseNode(raw: RawObject): Node {
  const status = (raw['status'] ?? {}) as { addresses?: unknown };
  const { data } = nodeAddresses.safeParse(status.addresses);
  return {
    labels: raw.metadata.labels ?? {},
    chassis: raw.metadata.annotations?.[annotation.chassis],
    addresses: (data ?? []).flatMap(({ type, address }) => (type === 'InternalIP' ? (parseIp(address) ?? []) : [])),
  };
}

/** A RemoteCluster or TransitSwitch: only its status is ours to compare. */
export interface Report {
  readonly uid: string;
  readonly status: Readonly<Record<string, unknown>>;
}

export function parseReport(raw: RawObject): Report {
  return { uid: raw.metadata.uid, status: (raw['status'] ?? {}) as Record<string, unknown> };
}
