import { z } from 'zod';
import { ageColumn, conditionColumn, conditions, dateTime, mapList, reasonColumn, type Kind } from './shared.ts';

/** A node that carries traffic between clusters. Made and removed by the agent; named as the node. */
export const interconnectGatewaySpec = z.object({
  drain: z
    .boolean()
    .default(false)
    .describe('Move all paths to other gateways, without loss, and keep them there: before maintenance.'),
  endpoints: z
    .array(
      z
        .string()
        .max(64)
        .regex(/^(\[[0-9a-fA-F:]+\]|[0-9.]+):[1-9][0-9]{0,4}$/),
    )
    .max(3)
    .default([])
    .describe(
      'Where other clusters reach WireGuard of this gateway if not at its tunnel address, the best first: `address:port` of an address translation or of a load balancer that leads to it. Not needed where this gateway can reach those of the other cluster: they follow it.',
    ),
  rotateKey: z
    .string()
    .max(64)
    .default('')
    .describe(
      'Each new value makes the node replace its WireGuard key once, without loss. `isthmus ic rotate-keys` sets the time.',
    ),
});

/** A gateway of another cluster, as the hub knows it. */
export const gatewayPeer = z.object({
  chassis: z.string(),
  cluster: z.string(),
  address: z.string().describe('Its tunnel address.'),
});

/** Another gateway of the same cluster. */
export const gatewaySibling = z.object({
  chassis: z.string(),
  address: z.string().describe('Its tunnel address.'),
  cutOff: z
    .boolean()
    .describe(
      'This gateway and the other one do not receive packets from each other, although both are running: udp 6081 is dropped between them.',
    )
    .optional(),
});

/** A tunnel from this gateway to another one, as the node's own Open vSwitch has it. */
export const gatewayTunnel = z.object({
  chassis: z.string().describe('The other gateway.'),
  address: z.string(),
  state: z
    .enum(['up', 'down', 'init', 'admin_down', 'unknown'])
    .describe(
      'BFD state; unknown where Open vSwitch runs no BFD on the tunnel. Also down: where Open vSwitch of the node has no such tunnel or does not run.',
    ),
  diagnostic: z
    .string()
    .describe('Why this end is not up: a diagnostic of RFC 5880, or a sentence if the reason is not from BFD.')
    .optional(),
  remoteDiagnostic: z.string().describe('Why the other end is not up: a diagnostic of RFC 5880.').optional(),
  flaps: z
    .int()
    .describe(
      'How often BFD went up or down, as of the last change that was written; ovs-vswitchd counts from its start.',
    )
    .optional(),
  since: dateTime.describe('When the state was first seen as it is.').optional(),
});

/** Programs of a gateway's node without which it cannot forward, or takes up no change. */
export const gatewayProgram = z.enum(['ovn-controller', 'ovs-vswitchd', 'ovsdb-server']);

/** Result of probes: packets of known size between the two tunnel addresses, outside the tunnel. */
export const gatewayProbe = z.object({
  chassis: z.string(),
  address: z.string(),
  rttMs: z.object({ min: z.number(), avg: z.number(), max: z.number() }).optional(),
  lossPercent: z
    .number()
    .describe('Of five small ICMP packets. 100 may also mean that ICMP is filtered: then check the tunnel.'),
  mtu: z
    .int()
    .describe(
      'Largest IP packet, in bytes and at most `wantedMTU`, that reached it without fragmentation; absent where small ones are not answered.',
    )
    .optional(),
  problem: z.string().describe('Why the node could send no packet at all.').optional(),
  at: dateTime,
});

/** WireGuard on the node of a gateway. */
export const gatewayWireGuard = z.object({
  publicKey: z.string().describe('Base64. The private key is in a file on the node and nowhere else.').optional(),
  keyMadeAt: dateTime.describe('When the key was made, by the clock of the node.').optional(),
  nextKey: z
    .object({ publicKey: z.string().describe('Base64.'), madeAt: dateTime })
    .describe('The key that replaces `publicKey` once the gateways of other clusters accept it.')
    .optional(),
  listenPort: z.int().describe('UDP port.').optional(),
  endpoints: z.array(z.string()).describe('Where other gateways reach it: `address:port`.').optional(),
  address: z.string().describe('Its address within the tunnels, once the node has it.').optional(),
  guarded: z
    .boolean()
    .describe('Whether the node sends packets for addresses within the tunnels to WireGuard and nowhere else.'),
  peers: z
    .array(
      z.object({
        chassis: z.string(),
        session: z
          .enum(['Up', 'None'])
          .describe('Up: there was a handshake in the last three minutes, after which WireGuard sends nothing.'),
        endpoint: z.string().describe('Where WireGuard sends to it: `address:port`.').optional(),
        nextKey: z.string().describe('The next key of the other gateway, if this one accepts it.').optional(),
      }),
    )
    .meta(mapList('chassis'))
    .optional(),
  problem: z.string().describe('Why WireGuard does not run on the node.').optional(),
});

export const interconnectGatewayStatus = z.object({
  conditions: conditions.optional(),
  chassis: z.string().optional(),
  address: z.string().optional(),
  paths: z
    .array(z.string())
    .describe('Paths whose port it holds: `<transit switch>/<path>`; written by the agent.')
    .optional(),
  wantedMTU: z
    .int()
    .describe('IP packet size between tunnel addresses that pods of this cluster need, in bytes; written by the agent.')
    .optional(),
  peers: z
    .array(gatewayPeer)
    .meta(mapList('chassis'))
    .describe('Gateways of other clusters, to which this one has tunnels; written by the agent.')
    .optional(),
  tunnels: z
    .array(gatewayTunnel)
    .meta(mapList('chassis'))
    .describe('One for each peer; written by the daemon of the node, immediately when a state changes.')
    .optional(),
  probes: z
    .array(gatewayProbe)
    .meta(mapList('chassis'))
    .describe('One for each peer; written by the daemon of the node when something changes, and periodically.')
    .optional(),
  siblings: z
    .array(gatewaySibling)
    .meta(mapList('chassis'))
    .describe('The other gateways of this cluster; written by the agent.')
    .optional(),
  siblingTunnels: z
    .array(gatewayTunnel)
    .meta(mapList('chassis'))
    .describe('One for each sibling; written by the daemon of the node, immediately when a state changes.')
    .optional(),
  silentPrograms: z
    .array(gatewayProgram)
    .describe('Programs of the node that do not answer: dead or frozen; written by the daemon of the node.')
    .optional(),
  wireGuard: gatewayWireGuard
    .describe('Written by the daemon of the node, if some pair of clusters wants encryption.')
    .optional(),
  checkedAt: dateTime
    .describe(
      'When the daemon of the node last looked, by its clock; written every three seconds, and every second while a sibling is cut off. If it stops changing, nothing that the daemon has written counts any more.',
    )
    .optional(),
});

export type InterconnectGatewaySpec = z.infer<typeof interconnectGatewaySpec>;
export type InterconnectGatewayStatus = z.infer<typeof interconnectGatewayStatus>;
export type GatewayWireGuard = z.infer<typeof gatewayWireGuard>;
export type GatewayPeer = z.infer<typeof gatewayPeer>;
export type GatewaySibling = z.infer<typeof gatewaySibling>;
export type GatewayTunnel = z.infer<typeof gatewayTunnel>;
export type GatewayProgram = z.infer<typeof gatewayProgram>;
export type GatewayProbe = z.infer<typeof gatewayProbe>;

/** No packets arrive, or the other end reports that: an end that receives nothing sends state `init` or `down` (RFC 5880). */
export function isTunnelDown(state: string | undefined): boolean {
  return state === 'down' || state === 'init';
}

export const interconnectGatewayKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'InterconnectGateway',
  plural: 'interconnectgateways',
  singular: 'interconnectgateway',
  shortNames: ['icgw'],
  scope: 'Cluster',
  spec: interconnectGatewaySpec,
  status: interconnectGatewayStatus,
  hasStatusSubresource: true,
  description:
    'A node that carries traffic between clusters, with its tunnels to other gateways. Created by the agent for each node that the Interconnect selects; set only `spec.drain`.',
  columns: [
    { name: 'Address', type: 'string', path: '.status.address' },
    { name: 'Paths', type: 'string', path: '.status.paths' },
    { name: 'Drain', type: 'boolean', path: '.spec.drain' },
    conditionColumn('Ready'),
    reasonColumn(),
    ageColumn,
  ],
};
