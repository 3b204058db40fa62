/** Kubernetes objects as this room needs them. Nothing of the raw object is kept; what is wrong is part of the value. */
import { z } from 'zod';
import {
  interconnectGatewaySpec,
  type GatewayProbe,
  type GatewayTunnel,
  type InterconnectGatewayStatus,
} from '../../lib/api/kinds/interconnect-gateway.ts';
import { interconnectSpec, type InterconnectSpec, type InterconnectStatus } from '../../lib/api/kinds/interconnect.ts';
import { transitSwitchSpec, type TransitSwitchSpec } from '../../lib/api/kinds/transit-switch.ts';
import { networksInForce, routingInForce } from '../../lib/api/in-force.ts';
import { isForOtherClusters } from '../../lib/api/subnet-routing.ts';
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
  return {
    ...lifeOf(raw),
    generation: raw.metadata.generation ?? 0,
    spec: specOf(interconnectSpec, raw),
    status: raw['status'] ?? {},
  };
}

/** What the finalizers of this room need. */
export interface Life {
  readonly uid: string;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
}

function lifeOf({ metadata }: RawObject): Life {
  return {
    uid: metadata.uid,
    isDeleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
  };
}

function specOf<S extends z.ZodType>(schema: S, raw: RawObject): z.infer<S> | Problem {
  const parsed = schema.safeParse(raw['spec'] ?? {});
  return parsed.success ? parsed.data : { code: 'SpecInvalid', message: z.prettifyError(parsed.error) };
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
      u2oFeatures: z.object({ overlayOnlyRouting: z.boolean().optional() }).optional(),
      disableInterConnection: z.boolean().optional(),
    })
    .default({}),
});

export function parseSubnet(raw: RawObject): Subnet {
  const { data } = subnetFields.safeParse(raw);
  const spec = data?.spec ?? {};
  // An underlay network is reached through the physical one, unless OVN has a part in its routing.
  const isRouted = isForOtherClusters(routingInForce(raw.metadata.annotations), spec);
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
  /** Whether it can forward, as far as Kubernetes knows. */
  readonly isReady: boolean;
  /** Its daemon has not said that Open vSwitch or ovn-controller is down. */
  readonly hasNetwork: boolean;
}

const nodeAddresses = z.array(z.object({ type: z.string(), address: z.string() }));
const nodeConditions = z.array(z.object({ type: z.string(), status: z.string() }));

export function parseNode(raw: RawObject): Node {
  const status = (raw['status'] ?? {}) as { addresses?: unknown; conditions?: unknown };
  const { data } = nodeAddresses.safeParse(status.addresses);
  const { data: conditions = [] } = nodeConditions.safeParse(status.conditions);
  const isTrue = (type: string): boolean => conditions.some((one) => one.type === type && one.status === 'True');
  return {
    labels: raw.metadata.labels ?? {},
    chassis: raw.metadata.annotations?.[annotation.chassis],
    addresses: (data ?? []).flatMap(({ type, address }) => (type === 'InternalIP' ? (parseIp(address) ?? []) : [])),
    isReady: isTrue('Ready') && !isTrue('NetworkUnavailable'),
    hasNetwork: !isTrue('NetworkUnavailable'),
  };
}

/** An object of which only the status is ours to compare. */
export interface Report {
  readonly uid: string;
  readonly status: Readonly<Record<string, unknown>>;
}

export function parseReport(raw: RawObject): Report {
  return { uid: raw.metadata.uid, status: (raw['status'] ?? {}) as Record<string, unknown> };
}

export interface TransitSwitchObject extends Life, Report {
  readonly generation: number;
  readonly spec: TransitSwitchSpec | Problem;
}

export function parseTransitSwitch(raw: RawObject): TransitSwitchObject {
  const { metadata } = raw;
  return {
    ...lifeOf(raw),
    ...parseReport(raw),
    generation: metadata.generation ?? 0,
    spec: specOf(transitSwitchSpec, raw),
  };
}

/** On gateways that the agent made: only those are its to remove. */
export const madeByAgent = { 'app.kubernetes.io/managed-by': 'isthmus-interconnect' } as const;

export interface GatewayObject extends Life {
  readonly isMadeByAgent: boolean;
  readonly isDrained: boolean;
  readonly status: InterconnectGatewayStatus;
  readonly tunnels: readonly GatewayTunnel[];
  readonly probes: readonly GatewayProbe[];
  /** To the other gateways of this cluster. */
  readonly siblingTunnels: readonly GatewayTunnel[];
  /** When they were last looked at, by the node's clock. */
  readonly checkedAt: string | undefined;
}

export function parseGateway(raw: RawObject): GatewayObject {
  const spec = specOf(interconnectGatewaySpec, raw);
  const status: InterconnectGatewayStatus = raw['status'] ?? {};
  const [[key, value]] = Object.entries(madeByAgent) as [[string, string]];
  return {
    ...lifeOf(raw),
    isMadeByAgent: raw.metadata.labels?.[key] === value,
    // What cannot be read drains nothing.
    isDrained: !('code' in spec) && spec.drain,
    status,
    tunnels: status.tunnels ?? [],
    probes: status.probes ?? [],
    siblingTunnels: status.siblingTunnels ?? [],
    checkedAt: status.checkedAt,
  };
}
