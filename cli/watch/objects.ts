/** Parses Kubernetes objects for the commands. A problem of a spec is part of the value. */
import { z } from 'zod';
import { networksInForce, routingInForce } from '../../lib/api/in-force.ts';
import { isForOtherClusters, type U2oFeatures } from '../../lib/api/subnet-routing.ts';
import { bgpRoutes } from '../../lib/slices/bgp-routes.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { interconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { transitSwitchSpec } from '../../lib/api/kinds/transit-switch.ts';
import { annotation, defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import { remoteRoutes } from '../../lib/slices/remote-routes.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { parseCidr } from '../../lib/net/cidr.ts';
import type { SlicedView } from '../../lib/slices/slice.ts';
import type {
  Gateway,
  HubMember,
  Interconnect,
  LearnedPrefix,
  Lease,
  Node,
  RemoteCluster,
  Subnet,
  TransitSwitch,
  Workload,
} from '../model/snapshot.ts';

function specOr<T>(schema: z.ZodType<T>, raw: RawObject): T | Problem {
  const parsed = schema.safeParse(raw['spec'] ?? {});
  return parsed.success ? parsed.data : { code: 'SpecInvalid', message: z.prettifyError(parsed.error) };
}

/** Our own programs write the status, and the API server has validated its schema. */
function statusOf(raw: RawObject): object {
  return raw['status'] ?? {};
}

export function parseInterconnect(raw: RawObject): Interconnect {
  return {
    spec: specOr(interconnectSpec, raw),
    status: statusOf(raw),
    isDeleting: raw.metadata.deletionTimestamp !== undefined,
    finalizers: raw.metadata.finalizers ?? [],
  };
}

export function parseGateway(raw: RawObject): Gateway {
  const spec = (raw['spec'] ?? {}) as { drain?: boolean };
  const status: Gateway['status'] = statusOf(raw);
  const { checkedAt, probes = [] } = status;
  const times = [...probes.map(({ at }) => at), ...(checkedAt === undefined ? [] : [checkedAt])].map(Date.parse);
  const measuredMs = times.length === 0 ? undefined : Math.max(...times);
  return { node: raw.metadata.name, isDrained: spec.drain === true, measuredMs, status };
}

export function parseTransitSwitch(raw: RawObject): TransitSwitch {
  // An object that the agent created has no user's spec; all fields have defaults.
  const spec = transitSwitchSpec.parse(raw['spec'] ?? {});
  return { name: raw.metadata.name, spec, status: statusOf(raw) };
}

type Prefixes = RemoteCluster['prefixes'];

export const remoteClusterView: SlicedView<RemoteRoute, Prefixes, RemoteCluster> = {
  kind: remoteRoutes,
  merge: (prefixes) => prefixes,
  parse: (raw) => (prefixes) => ({ name: raw.metadata.name, status: statusOf(raw), prefixes }),
};

export function parseHubMember(raw: RawObject): HubMember {
  const spec = (raw['spec'] ?? {}) as { allowedPrefixes?: string[]; maxPrefixes?: number };
  const status: HubMember['status'] = statusOf(raw);
  return {
    name: status.clusterName ?? raw.metadata.name,
    allowedPrefixes: spec.allowedPrefixes ?? [],
    maxPrefixes: spec.maxPrefixes ?? 10_000,
    status,
  };
}

interface SubnetSpec {
  readonly vpc?: string;
  readonly cidrBlock?: string;
  readonly u2oFeatures?: U2oFeatures;
  readonly disableInterConnection?: boolean;
  readonly private?: boolean;
  readonly allowSubnets?: readonly string[];
}

export function parseSubnet(raw: RawObject): Subnet {
  const spec = (raw['spec'] ?? {}) as SubnetSpec;
  return {
    name: raw.metadata.name,
    vpc: (spec.vpc ?? '') === '' ? defaultVpc : (spec.vpc ?? defaultVpc),
    wished: spec.cidrBlock ?? '',
    cidrs: networksInForce(raw.metadata.annotations),
    isDisabled: spec.disableInterConnection === true,
    isJoin: raw.metadata.name === joinSubnet,
    isUnderlay: !isForOtherClusters(routingInForce(raw.metadata.annotations), spec),
    allowed:
      spec.private === true ? (spec.allowSubnets ?? []).flatMap((text) => parseCidr(text.trim()) ?? []) : undefined,
    conditions: conditionsOf(raw),
  };
}

export function parseNode(raw: RawObject): Node {
  const status = (raw['status'] ?? {}) as { addresses?: { type: string; address: string }[] };
  return {
    name: raw.metadata.name,
    labels: raw.metadata.labels ?? {},
    chassis: raw.metadata.annotations?.[annotation.chassis],
    addresses: (status.addresses ?? []).flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : [])),
    conditions: conditionsOf(raw),
  };
}

/** Without prefixes that are routes of the node only. */
export const learnedView: SlicedView<BgpRoute, readonly BgpRoute[], readonly LearnedPrefix[]> = {
  kind: bgpRoutes,
  merge: (routes) => routes,
  parse: (raw) => (routes) =>
    routes.flatMap(({ prefix, vpc, peer, tags = [] }) => {
      const cidr = parseCidr(prefix);
      return cidr === undefined || vpc === undefined ? [] : [{ node: raw.metadata.name, vpc, cidr, peer, tags }];
    }),
};

function conditionsOf(raw: RawObject): readonly Condition[] {
  return ((raw['status'] ?? {}) as { conditions?: Condition[] }).conditions ?? [];
}

export function parseLease(raw: RawObject): Lease | undefined {
  const spec = (raw['spec'] ?? {}) as { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
  const renewedMs = Date.parse(spec.renewTime ?? '');
  if (Number.isNaN(renewedMs)) return undefined;
  const durationMs = (spec.leaseDurationSeconds ?? 15) * 1000;
  return { holder: spec.holderIdentity ?? '', renewedMs, durationMs, movement: 'not watched' };
}

interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly Condition[];
  readonly containerStatuses?: readonly { readonly state?: { readonly waiting?: { readonly reason?: string } } }[];
}

/** @throws Error for a pod that does not belong to Isthmus: the list selects only pods of Isthmus */
export function parseWorkload(raw: RawObject): Workload {
  const component = raw.metadata.labels?.['app.kubernetes.io/name'];
  if (component !== 'isthmus-interconnect' && component !== 'isthmus-hub' && component !== 'isthmus-daemon')
    throw new Error(`pod ${raw.metadata.name} is not a pod of Isthmus`);
  const status = (raw['status'] ?? {}) as PodStatus;
  const waiting = status.containerStatuses?.map(({ state }) => state?.waiting?.reason).find((why) => why !== undefined);
  return {
    component,
    pod: raw.metadata.name,
    node: ((raw['spec'] ?? {}) as { nodeName?: string }).nodeName ?? '',
    isReady: status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    reason: waiting ?? (status.phase === 'Running' ? '' : (status.phase ?? 'Unknown')),
  };
}
