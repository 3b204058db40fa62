/** Values for tests of the plans: this cluster is `east`, with gateways a1 and a2; `west` has b1 and b2; two paths. */
import { type Cidr, parseCidr } from '../../lib/net/cidr.ts';
import { type Ip, parseIp } from '../../lib/net/ip.ts';
import type { Gateway, Member, Port, Route, TransitSwitch } from './messages.ts';
import type { LocalView } from './local.ts';
import type { OwnNetwork, OwnPath } from './networks.ts';

export const cidr = (text: string): Cidr => parseCidr(text) as Cidr;

export function gateway(chassis: string, ip: string): Gateway {
  return { chassis, hostname: `host-${chassis}`, encaps: [{ type: 'geneve', ip, options: { csum: 'true' } }] };
}

const vpc = {
  router: 'ovn-cluster',
  routerId: 'uuid',
  prefixes: [{ cidr: '10.16.0.0/16', origin: 'connected', tags: [] }],
  ranges: [
    { name: 'subnet join', cidr: cidr('100.64.0.0/16') },
    { name: 'subnet ovn-default', cidr: cidr('10.16.0.0/16') },
  ],
  links: [],
};

export const local: LocalView = {
  cluster: 'east',
  handle: 'east',
  vpcs: new Map([['ovn-cluster', vpc]]),
  transitRequests: [
    {
      name: 'ts',
      vpc: 'ovn-cluster',
      isJoined: true,
      vpcProblem: undefined,
      cidrs: [],
      paths: 0,
      clusters: [],
      problem: undefined,
    },
  ],
  nodeAddresses: [{ node: 'n1', ip: parseIp('172.30.1.11') as Ip }],
  nodeChassis: [
    { node: 'n1', chassis: 'a1' },
    { node: 'n2', chassis: 'a2' },
  ],
  gatewayNodes: [
    { node: 'n1', chassis: 'a1', isDrained: false },
    { node: 'n2', chassis: 'a2', isDrained: false },
  ],
  unknownNodes: [],
  chassis: new Map([
    ['a1', { gateway: gateway('a1', '172.30.1.11'), isInterconnect: true }],
    ['a2', { gateway: gateway('a2', '172.30.1.12'), isInterconnect: true }],
  ]),
};

const switches = ['ts', 'ts1'];

export function port(cluster: string, host: number, index: number, fields: Partial<Port> = {}): Port {
  return {
    switch: switches[index] ?? '',
    logicalPort: `${switches[index]}-${cluster}`,
    mac: `0a:58:64:${64 + 32 * index}:00:0${host}`,
    networks: [`100.100.${32 * index}.${host}/19`],
    tunnelKey: host,
    gateways: [],
    holder: '',
    draining: false,
    ...fields,
  };
}

export const granted: TransitSwitch = {
  name: 'ts',
  cidrs: ['100.100.0.0/16'],
  definedBy: '',
  clusters: [],
  paths: [0, 1].map((index) => ({
    index,
    switch: switches[index] ?? '',
    cidrs: [`100.100.${32 * index}.0/19`],
    tunnelKey: 16_711_681 + index,
    retiring: false,
    port: port('east', 1, index),
  })),
};

export function ownPath(index: number, fields: Partial<OwnPath> = {}): OwnPath {
  const { retiring, port: own, ...path } = granted.paths[index] as TransitSwitch['paths'][number];
  const order = index === 0 ? ['a1', 'a2'] : ['a2', 'a1'];
  return {
    ...path,
    port: own as Port,
    order,
    holder: order[0] ?? '',
    phase: 'settled',
    isRetiring: retiring,
    ...fields,
  };
}

export function network(paths: readonly OwnPath[] = [ownPath(0), ownPath(1)]): OwnNetwork {
  return { name: 'ts', vpc, cidrs: [cidr('100.100.0.0/16')], definedBy: '', paths };
}

export function route(prefix: string, fields: Partial<Route> = {}): Route {
  return {
    transitSwitch: 'ts',
    prefix,
    origin: 'connected',
    tags: [],
    via: ['west'],
    nextHops: [
      { switch: 'ts', address: '100.100.0.2' },
      { switch: 'ts1', address: '100.100.32.2' },
    ],
    ...fields,
  };
}

export const west: Member = {
  name: 'west',
  foreign: false,
  connected: true,
  lastSeenMs: 0,
  gateways: [gateway('b1', '172.30.2.11'), gateway('b2', '172.30.2.12')],
  ports: [
    port('west', 2, 0, { gateways: ['b1', 'b2'], holder: 'b1' }),
    port('west', 2, 1, { gateways: ['b2', 'b1'], holder: 'b2' }),
  ],
  routes: [route('10.17.0.0/16')],
};
