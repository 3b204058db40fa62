/** What a node tells of itself: made by `isthmus nodes inspect` there, judged by `plan/check` here. It crosses processes, so it has a schema. */
import { z } from 'zod';

export const nodeLook = z.object({
  /** Release of the kernel. */
  kernel: z.string(),
  /** Modules that were asked for: `loaded` (or built in), `loadable`, or `absent`. */
  modules: z.record(z.string(), z.enum(['loaded', 'loadable', 'absent'])),
  interfaces: z.array(z.object({ name: z.string(), mtu: z.int(), addresses: z.array(z.string()) })),
  /** Sockets of the node that take packets or connections. */
  listening: z.array(z.object({ protocol: z.enum(['TCP', 'UDP']), port: z.int(), address: z.string() })),
  /** Names of CNI configurations, in the order in which runtimes take them. */
  cni: z.array(z.string()),
  /** What could not be read there, and why. */
  unreadable: z.array(z.string()),
});

export type NodeLook = z.infer<typeof nodeLook>;

export interface LookedAt {
  readonly node: string;
  /** Undefined where the node could not be looked at. */
  readonly look: NodeLook | undefined;
  readonly why: string;
}

/** Modules that the chart loads on nodes with the datapath `system`. */
export const switchModules = ['openvswitch', 'vport_geneve', 'vport_vxlan'] as const;
