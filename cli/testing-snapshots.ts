/** Two healthy clusters as values, and drafts of them that a test may modify. Called by tests only. */
import { networksInForce } from '../lib/api/in-force.ts';
import { interconnectSpec } from '../lib/api/kinds/interconnect.ts';
import { transitSwitchSpec } from '../lib/api/kinds/transit-switch.ts';
import { annotation } from '../lib/api/names.ts';
import { parseRoutePolicy } from '../lib/route-policy/parse.ts';
import type { Snapshot } from './model/snapshot.ts';

export const nowMs = Date.parse('2026-03-01T12:00:00Z');
const hour = 3_600_000;
export const authority = 'a'.repeat(64);
export const ago = (ms: number): string => new Date(nowMs - ms).toISOString();

export type Draft<T> = T extends (...words: never[]) => unknown
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? Map<K, V>
    : { -readonly [K in keyof T]: Draft<T[K]> };

export interface Pair {
  readonly east: Draft<Snapshot>;
  readonly west: Draft<Snapshot>;
}

interface Plan {
  readonly name: string;
  readonly peer: string;
  readonly octet: number;
  readonly peerOctet: number;
  readonly place: number;
}

const good = (type: string, message = '') => ({ type, status: 'True' as const, reason: type, message });

/** Tunnel addresses: 192.0.2.<place>1 and 192.0.2.<place>2. */
function addressOf(place: number, at: number): string {
  return `192.0.2.${place}${at}`;
}

export function subnetOf(name: string, cidr: string, more: Partial<Draft<Snapshot['subnets'][number]>> = {}) {
  return {
    name,
    vpc: 'ovn-cluster',
    wished: cidr,
    cidrs: [...networksInForce({ [annotation.accepted]: `${cidr} -` })],
    isDisabled: false,
    isJoin: false,
    isUnderlay: false,
    allowed: undefined,
    conditions: [good('Ready')],
    ...more,
  } satisfies Draft<Snapshot['subnets'][number]>;
}

/** An import policy, in the form of its YAML. */
export function policyOf(name: string, spec: object, status: object = {}): Draft<Snapshot['policies'][number]> {
  const metadata = { name, uid: `uid-${name}`, resourceVersion: '1', generation: 1 };
  return parseRoutePolicy({ metadata, spec: { direction: 'Import', ...spec }, status });
}

function cluster({ name, peer, octet, peerOctet, place }: Plan): Draft<Snapshot> {
  const otherPlace = 3 - place;
  const [ours, theirs] = [name[0] ?? '', peer[0] ?? ''];
  const peers = [1, 2].map((at) => ({ chassis: `${theirs}${at}`, cluster: peer, address: addressOf(otherPlace, at) }));
  const nodes = [1, 2, 3].map((at) => ({
    name: `${ours}${at}`,
    labels: at < 3 ? { 'ovn.kubernetes.io/ic-gw': 'true' } : {},
    chassis: `${ours}${at}`,
    addresses: [addressOf(place, at)],
    conditions: [good('Ready'), { type: 'NetworkUnavailable', status: 'False' as const, reason: 'NetworkReady' }],
  }));
  return {
    label: name,
    nowMs,
    namespace: 'kube-system',
    interconnect: {
      spec: interconnectSpec.parse({
        clusterName: name,
        hub: 'hub.example.com:6650',
        tokenSecretRef: { name: 'isthmus-interconnect-token' },
      }) as never,
      status: {
        conditions: [
          good('Ready', 'remote clusters: 1'),
          good('Joined', 'this cluster is a member'),
          good('HubReachable', 'a session with the hub is open'),
          good('GatewaysReady', 'gateways: 2'),
          good('RoutesConverged', 'the hub and the databases have the newest state'),
          good('NoConflicts', 'every name, address and prefix has one owner'),
          good('CertificateValid', 'for 80 days more'),
          good('DataplaneProtected', 'two paths to every cluster'),
        ],
        remoteClusters: 1,
        routesAdvertised: 1,
        routesLearned: 1,
        routesRejected: 0,
      },
      isDeleting: false,
      finalizers: ['isthmus.network/interconnect'],
    },
    remotes: [
      {
        name: peer,
        prefixes: [],
        status: {
          phase: 'Ready',
          conditions: [good('Ready', 'in contact with the hub')],
          lastSeen: ago(1000),
          gateways: peers.map(({ chassis, address }) => ({ chassis, hostname: chassis, address })),
          paths: [0, 1].map((path) => ({
            transitSwitch: 'ts',
            path,
            localGateway: `${ours}${path + 1}`,
            remoteGateway: `${theirs}${path + 1}`,
            state: 'Up' as const,
            bfd: 'up',
            rttMs: 0.71,
            lossPercent: 0,
            mtu: 1500,
            flaps: 1,
            since: ago(hour),
          })),
          pathsUp: '2/2',
          routes: [
            {
              prefix: `10.${peerOctet}.0.0/16`,
              transitSwitch: 'ts',
              nextHop: `100.100.0.${otherPlace}`,
              state: 'Active' as const,
              origin: 'connected',
            },
          ],
          routesActive: 1,
          routesRejected: 0,
        },
      },
    ],
    transitSwitches: [
      {
        name: 'ts',
        spec: transitSwitchSpec.parse({}),
        status: {
          conditions: [good('Ready')],
          cidr: '100.100.0.0/16',
          vpc: 'ovn-cluster',
          paths: [0, 1].map((path) => ({
            path,
            switch: path === 0 ? 'ts' : `ts${path}`,
            cidr: `100.100.${path * 32}.0/19`,
            tunnelKey: 16_711_681 + path,
            localAddress: `100.100.${path * 32}.${place}/19`,
            gateways: path === 0 ? [`${ours}1`, `${ours}2`] : [`${ours}2`, `${ours}1`],
            holder: `${ours}${path + 1}`,
            state: 'Settled' as const,
            since: ago(hour),
          })),
        },
      },
    ],
    gateways: [1, 2].map((at) => ({
      node: `${ours}${at}`,
      isDrained: false,
      measuredMs: nowMs,
      status: {
        conditions: [good('Ready'), good('PathMTU')],
        chassis: `${ours}${at}`,
        address: addressOf(place, at),
        paths: [`ts/${at - 1}`],
        wantedMTU: 1500,
        peers,
        tunnels: peers.map(({ chassis, address }) => ({
          chassis,
          address,
          state: 'up' as const,
          diagnostic: 'No Diagnostic',
          remoteDiagnostic: 'No Diagnostic',
          flaps: 1,
          since: ago(hour),
        })),
        siblings: [3 - at].map((other) => ({ chassis: `${ours}${other}`, address: addressOf(place, other) })),
        siblingTunnels: [3 - at].map((other) => ({
          chassis: `${ours}${other}`,
          address: addressOf(place, other),
          state: 'up' as const,
          flaps: 1,
          since: ago(hour),
        })),
        probes: peers.map(({ chassis, address }) => ({
          chassis,
          address,
          rttMs: { min: 0.6, avg: 0.71, max: 1.2 },
          lossPercent: 0,
          mtu: 1500,
          at: ago(5000),
        })),
      },
    })),
    policies: [],
    learned: [],
    members: [],
    subnets: [
      subnetOf('join', '100.64.0.0/16', { isJoin: true, isDisabled: true }),
      subnetOf('ovn-default', `10.${octet}.0.0/16`),
    ],
    vpcs: ['ovn-cluster'],
    nodes,
    lease: { holder: 'isthmus-interconnect-0', renewedMs: nowMs - 1500, durationMs: 15_000, movement: 'not watched' },
    identity: { cluster: name, notBeforeMs: nowMs - 240 * hour, notAfterMs: nowMs + 1920 * hour, authority },
    token: {
      id: '0123456789abcdef',
      cluster: name,
      hub: 'hub.example.com:6650',
      ca: authority,
      expiresMs: nowMs - 239 * hour,
      replace: false,
      allowedPrefixes: [],
    },
    authority: undefined,
    workloads: [],
    unreadable: [],
    probe: {
      outcome: 'answered',
      authorities: ['b'.repeat(64), authority],
      notBeforeMs: nowMs - 240 * hour,
      notAfterMs: nowMs + 1920 * hour,
      tookMs: 4,
    },
    ovn: undefined,
  };
}

/** New drafts of two healthy clusters: two gateways each, two paths. */
export function wellPair(): Pair {
  return {
    east: cluster({ name: 'east', peer: 'west', octet: 16, peerOctet: 17, place: 1 }),
    west: cluster({ name: 'west', peer: 'east', octet: 17, peerOctet: 16, place: 2 }),
  };
}

/** Sets a condition of the membership to False, as the agent would. */
export function spoil(snapshot: Draft<Snapshot>, type: string, reason: string, message: string): void {
  const status = snapshot.interconnect?.status;
  if (status === undefined) throw new Error('the cluster is not a member');
  status.conditions = [
    ...(status.conditions ?? []).filter((condition) => condition.type !== type),
    { type, status: 'False', reason, message },
  ];
}
