/**
 * The chart's values that decide whether it can be installed, with the chart's defaults. helm checks the other values. charts/isthmus/values.yaml is
 * the source; a test verifies that both agree.
 */
import { z } from 'zod';
import { parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { encapTypes } from '../../lib/net/tunnel-overhead.ts';

/** The format of the chart: an IPv4 CIDR, an IPv6 CIDR, or both separated by a comma. */
const networks = z
  .string()
  .refine((text) => isPair(text.split(',')), 'is not an IPv4 CIDR, an IPv6 CIDR, or both separated by a comma');
const labels = z.record(z.string(), z.string());
const replicas = z.int().min(1);
const port = z.int().min(1).max(65_535);

export const chartDefaults = {
  image: { repository: 'isthmus', tag: '', pullPolicy: 'IfNotPresent' },
  imagePullSecrets: [],
  metrics: { bindAddress: '127.0.0.1' },
  networking: {
    podCIDR: '10.16.0.0/16',
    joinCIDR: '100.64.0.0/16',
    encapType: 'geneve',
    datapathType: 'system',
    mtu: 0,
    enableLb: true,
  },
  rbac: { admissionPolicy: true },
  controller: { replicas: 2, nodeSelector: { 'kubernetes.io/os': 'linux' } },
  daemon: { nodeSelector: { 'kubernetes.io/os': 'linux' }, cni: { confDir: '/etc/cni/net.d' } },
  ovn: {
    central: { deploy: true, nodeSelector: { 'node-role.kubernetes.io/control-plane': '' } },
    tls: { enabled: true },
  },
  ovs: { deploy: true },
  interconnect: { enabled: false, hub: '', replicas: 2, gatewayNodeSelector: { 'ovn.kubernetes.io/ic-gw': 'true' } },
  hub: {
    enabled: false,
    port: 6650,
    transitCIDR: '100.100.0.0/16',
    nodeSelector: {},
    storage: { className: '', hostPath: '' },
  },
  speaker: { enabled: true, nodeSelector: { 'ovn.kubernetes.io/bgp': 'true' } },
} as const;

export const chartValues = z.object({
  image: z.object({ repository: z.string(), tag: z.string(), pullPolicy: z.string() }),
  imagePullSecrets: z.array(z.object({ name: z.string() })),
  metrics: z.object({ bindAddress: z.string() }),
  networking: z.strictObject({
    podCIDR: networks,
    joinCIDR: networks,
    encapType: z.enum(encapTypes),
    datapathType: z.enum(['system', 'netdev']),
    mtu: z.int().min(0).max(65_535),
    enableLb: z.boolean(),
  }),
  rbac: z.strictObject({ admissionPolicy: z.boolean() }),
  controller: z.object({ replicas, nodeSelector: labels }),
  daemon: z.object({ nodeSelector: labels, cni: z.object({ confDir: z.string() }) }),
  ovn: z.object({
    central: z.object({ deploy: z.boolean(), nodeSelector: labels }),
    tls: z.object({ enabled: z.boolean() }),
  }),
  ovs: z.object({ deploy: z.boolean() }),
  interconnect: z.object({ enabled: z.boolean(), hub: z.string(), replicas, gatewayNodeSelector: labels }),
  hub: z.object({
    enabled: z.boolean(),
    port,
    transitCIDR: networks,
    nodeSelector: labels,
    storage: z.object({ className: z.string(), hostPath: z.string() }),
  }),
  speaker: z.object({ enabled: z.boolean(), nodeSelector: labels }),
});

export type ChartValues = z.infer<typeof chartValues>;

function isPair(parts: readonly string[]): boolean {
  const families = parts.map((part) => parseCidr(part)?.family);
  return families.length <= 2 && !families.includes(undefined) && new Set(families).size === families.length;
}

/** The networks of a value that has passed the schema. */
export function networksOf(text: string): readonly Cidr[] {
  return text.split(',').flatMap((part) => parseCidr(part) ?? []);
}

/** Whether agents of an interconnect run in this cluster. */
export function isMember({ interconnect }: ChartValues): boolean {
  return interconnect.enabled || interconnect.hub !== '';
}
