/**
 * The result of `isthmus nodes inspect` on a node, checked by `plan/check`. It is passed between processes, so it has a
 * schema.
 */
import { z } from 'zod';

export const nodeInspection = z.object({
  /** Release of the kernel. */
  kernel: z.string(),
  /** State of each requested module: `loaded` (or built in), `loadable`, or `absent`. */
  modules: z.record(z.string(), z.enum(['loaded', 'loadable', 'absent'])),
  interfaces: z.array(z.object({ name: z.string(), mtu: z.int(), addresses: z.array(z.string()) })),
  /** Sockets of the node that receive packets or accept connections. */
  listening: z.array(z.object({ protocol: z.enum(['TCP', 'UDP']), port: z.int(), address: z.string() })),
  /** Names of CNI configurations, in the order in which runtimes use them. */
  cni: z.array(z.string()),
  /** Facts that could not be read on the node, with the cause. */
  unreadable: z.array(z.string()),
});

export type NodeInspection = z.infer<typeof nodeInspection>;

export interface InspectedNode {
  readonly node: string;
  /** Undefined if the node could not be inspected. */
  readonly look: NodeInspection | undefined;
  readonly why: string;
}

/** Modules that the chart loads on nodes with the datapath `system`. */
export const switchModules = ['openvswitch', 'vport_geneve', 'vport_vxlan'] as const;
