/**
 * The topology of a lab, written by its user in YAML. In: a topology file; out: a checked value, or one error
 * that names every invalid field. Addresses are not part of it: layout.ts derives them.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

// No dash: namespaces are named <lab>-<cluster>-<node>, and the parts must stay apart.
const name = z.string().regex(/^[a-z][a-z0-9]{0,11}$/, 'must be 1 to 12 characters a-z0-9, beginning with a letter');
const cidr = z.string().regex(/^\d{1,3}(\.\d{1,3}){3}\/\d{1,2}$/, 'must be an IPv4 CIDR such as 10.16.0.0/16');
const cidr6 = z
  .string()
  .regex(/^[0-9a-f]*:[0-9a-f:]+\/\d{1,3}$/, 'must be an IPv6 CIDR such as fd00:10:16::/112')
  .optional();
const asn = z.int().min(1).max(4294967295);
const ovn = z
  .string()
  .regex(/^\d\d\.\d\d$/, 'must be an OVN version such as 25.03')
  .optional();
const labels = z.record(z.string(), z.string()).default({});
/** The pod runtime of a node: bare namespaces by the lab itself, a containerd of the node, or a kubelet with a containerd. */
const runtime = z.enum(['bare', 'containerd', 'kubelet'], 'must be bare, containerd or kubelet').optional();

const cluster = z.strictObject({
  name,
  podCidr: cidr,
  joinCidr: cidr.default('100.64.0.0/16'),
  /** With both the cluster is dual-stack. */
  podCidr6: cidr6,
  joinCidr6: cidr6,
  serviceCidr: cidr.default('10.96.0.0/16'),
  /** With it Services have addresses of both families. */
  serviceCidr6: cidr6,
  asn,
  /** The OVN and Open vSwitch of this cluster, where it differs from the lab's. */
  ovn,
  /** False: it is not a member of the hub until join.ts makes it one. */
  joins: z.boolean().default(true),
  /** Of the nodes that name none themselves; bare if absent. */
  runtime,
  /** The mode of kube-proxy on kubelets; `none`: it does not run, and Isthmus serves Services on the nodes as well. Other nodes never have one. */
  kubeProxy: z.enum(['iptables', 'nftables', 'none'], 'must be iptables, nftables or none').default('iptables'),
  nodes: z.array(z.strictObject({ name, labels, runtime })).min(1).max(200),
});

const topology = z
  .strictObject({
    /** This machine's own by default. */
    ovn,
    clusters: z.array(cluster).min(1).max(100),
    hub: z
      .strictObject({
        transitCidr: cidr.default('100.100.0.0/16'),
        /** With it the clusters are joined by IPv6 too. */
        transitCidr6: cidr6,
        /** Servers of each interconnect database: one alone, or a raft of three. */
        databases: z.union([z.literal(1), z.literal(3)], 'must be 1, or 3 for a raft').default(1),
      })
      .optional(),
    routers: z
      .array(z.strictObject({ name, asn, outside: cidr.default('192.0.2.1/32') }))
      .max(3)
      .default([]),
    /** Whether nodes that are gateways between clusters run wireguard-go. */
    wireguard: z.boolean().default(false),
    /** Physical networks: each node has an interface in each, `eth1`, `eth2` …, and there is a gateway in each VLAN. */
    lans: z
      .array(
        z.strictObject({
          name,
          gateways: z
            .array(
              z.strictObject({
                /** 0: packets without a tag. */
                vlan: z.int().min(0).max(4094).default(0),
                addresses: z
                  .array(z.string().regex(/^[0-9a-f.:]+\/\d{1,3}$/, 'must be an address such as 10.20.0.1/24'))
                  .min(1),
              }),
            )
            .min(1),
        }),
      )
      .max(4)
      .default([]),
  })
  .superRefine((value, context) => {
    const lans = value.lans.map((lan) => lan.name);
    const places = [...value.clusters.map((c) => c.name), ...value.routers.map((r) => r.name), ...lans, 'hub', 'net'];
    reportDuplicates(places, 'clusters, routers and lans (hub and net are taken)', context);
    for (const c of value.clusters)
      reportDuplicates(
        c.nodes.map((n) => n.name).concat('pods', 'bin'),
        `nodes of ${c.name} (pods and bin are taken)`,
        context,
      );
    reportMixture(value, context);
  });

export type Topology = z.infer<typeof topology>;

/** On kubelets the chart runs the processes that the lab would run otherwise, so the lab must not run them. */
function reportMixture(value: Pick<Topology, 'clusters' | 'hub' | 'lans'>, context: z.RefinementCtx): void {
  const runtimes = value.clusters.flatMap((c) => c.nodes.map((node) => node.runtime ?? c.runtime ?? 'bare'));
  if (!runtimes.includes('kubelet')) return;
  const refuse = (message: string): void => context.addIssue({ code: 'custom', message });
  if (runtimes.some((one) => one !== 'kubelet')) refuse('where one node has a kubelet, all nodes of all clusters must');
  if (value.hub !== undefined) refuse('hub: on kubelets the chart runs the hub (hub.enabled)');
  if (value.lans.length > 0) refuse('lans: not there for kubelets');
}

function reportDuplicates(names: readonly string[], where: string, context: z.RefinementCtx): void {
  for (const twice of new Set(names.filter((n, i) => names.indexOf(n) !== i))) {
    context.addIssue({ code: 'custom', message: `name ${twice} is used twice among the ${where}` });
  }
}

/** Reads and checks a topology file. @throws Error naming the file and each field at fault. */
export function readTopology(file: string): Topology {
  return checkTopology(parse(readFileSync(file, 'utf8')) as unknown, file);
}

/** @throws Error naming the source and each field at fault. */
export function checkTopology(value: unknown, source: string): Topology {
  const result = topology.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map((issue) => `  ${issue.path.join('.') || '(top)'}: ${issue.message}`);
  throw new Error(`topology ${source} is not usable:\n${issues.join('\n')}`);
}
