/** Parsers of Kubernetes objects. The raw object is not kept; its problems are part of the value. */
import {
  type Interconnect,
  type Life,
  type Subnet,
  type Node,
  type Report,
  type TransitSwitchObject,
  madeByAgent,
  type GatewayObject,
} from '../model/objects.ts';
import type { KeySliceObject } from '../model/key-slice.ts';
import { z } from 'zod';
import {
  gatewayProbe,
  gatewayTunnel,
  gatewayWireGuard,
  interconnectGatewaySpec,
  type InterconnectGatewayStatus,
} from '../../lib/api/kinds/interconnect-gateway.ts';
import { gatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import { interconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { transitSwitchSpec } from '../../lib/api/kinds/transit-switch.ts';
import { networksInForce, routingInForce } from '../../lib/api/in-force.ts';
import { readAs } from '../../lib/api/read-as.ts';
import { isForOtherClusters } from '../../lib/api/subnet-routing.ts';
import { annotation, defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { fieldsOf, textsOf } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';

export function parseInterconnect(raw: RawObject): Interconnect {
  return {
    ...lifeOf(raw),
    generation: raw.metadata.generation ?? 0,
    spec: specOf(interconnectSpec, raw),
    status: raw['status'] ?? {},
  };
}

function lifeOf({ metadata }: RawObject): Life {
  return {
    uid: metadata.uid,
    isDeleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
  };
}

function specOf<S extends z.ZodType>(schema: S, raw: RawObject): z.infer<S> | Problem {
  const parsed = readAs(schema, raw['spec'] ?? {});
  return parsed.success ? parsed.data : { code: 'SpecInvalid', message: z.prettifyError(parsed.error) };
}

const subnetFields = z.object({
  spec: z
    .object({
      vpc: z.string().optional(),
      u2oFeatures: z.object({ overlayOnlyRouting: z.boolean().optional() }).optional(),
      disableInterConnection: z.boolean().optional(),
      enableLb: z.boolean().optional(),
    })
    .default({}),
});

export function parseSubnet(raw: RawObject): Subnet {
  const { data } = readAs(subnetFields, raw);
  const spec = data?.spec ?? {};
  // An underlay network is reached through the physical one, unless OVN has a part in its routing.
  const isRouted = isForOtherClusters(routingInForce(raw.metadata.annotations), spec);
  const isOpen = spec.disableInterConnection !== true && raw.metadata.name !== joinSubnet;
  const isShared = isRouted && isOpen;
  return {
    vpc: spec.vpc === undefined || spec.vpc === '' ? defaultVpc : spec.vpc,
    cidrs: networksInForce(raw.metadata.annotations),
    isShared,
    hasLoadBalancers: spec.enableLb !== false,
  };
}

const nodeAddresses = z.array(z.object({ type: z.string(), address: z.string() }));
const nodeConditions = z.array(z.object({ type: z.string(), status: z.string() }));

export function parseNode(raw: RawObject): Node {
  const status = (raw['status'] ?? {}) as { addresses?: unknown; conditions?: unknown };
  const { data } = readAs(nodeAddresses, status.addresses);
  const { data: conditions = [] } = readAs(nodeConditions, status.conditions);
  const isTrue = (type: string): boolean => conditions.some((one) => one.type === type && one.status === 'True');
  return {
    labels: raw.metadata.labels ?? {},
    chassis: raw.metadata.annotations?.[annotation.chassis],
    addresses: (data ?? []).flatMap(({ type, address }) => (type === 'InternalIP' ? (parseIp(address) ?? []) : [])),
    isReady: isTrue('Ready') && !isTrue('NetworkUnavailable'),
    hasNetwork: !isTrue('NetworkUnavailable'),
  };
}

export function parseServiceCidr(raw: RawObject): readonly Cidr[] {
  return textsOf(fieldsOf(raw['spec'])['cidrs']).flatMap((text) => parseCidr(text) ?? []);
}

export function parseReport(raw: RawObject): Report {
  return { uid: raw.metadata.uid, status: (raw['status'] ?? {}) as Record<string, unknown> };
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

/** Statuses that daemons write: a list that cannot be read is empty. */
const measured = z.object({
  tunnels: z.array(gatewayTunnel).catch([]),
  probes: z.array(gatewayProbe).catch([]),
  siblingTunnels: z.array(gatewayTunnel).catch([]),
  wireGuard: gatewayWireGuard.optional().catch(undefined),
});

const keySlice = z.object({ cidr: z.string(), isOwn: z.boolean(), gateways: z.array(gatewayKey) });

/** One that cannot be read is written again. */
export function parseKeySlice(raw: RawObject): KeySliceObject {
  const data = readAs(keySlice, raw).data ?? { cidr: '', isOwn: false, gateways: [] };
  return { uid: raw.metadata.uid, ...data };
}

export function parseGateway(raw: RawObject): GatewayObject {
  const spec = specOf(interconnectGatewaySpec, raw);
  const status: InterconnectGatewayStatus = fieldsOf(raw['status']);
  const { wireGuard, ...rest } = measured.parse(status);
  const [[key, value]] = Object.entries(madeByAgent) as [[string, string]];
  return {
    ...lifeOf(raw),
    isMadeByAgent: raw.metadata.labels?.[key] === value,
    // A spec that cannot be read drains nothing.
    isDrained: !('code' in spec) && spec.drain,
    status,
    ...rest,
    ...(wireGuard === undefined ? {} : { wireGuard }),
    checkedAt: typeof status.checkedAt === 'string' ? status.checkedAt : undefined,
  };
}
