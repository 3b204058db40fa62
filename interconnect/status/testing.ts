/** Situations for tests of the statuses: all is well but for what a test says. */
import type { Problem } from '../../lib/desired/problem.ts';
import { noMemory, settlePaths } from '../settle/paths.ts';
import { noPolicies } from '../../lib/route-policy/compile.ts';
import { granted, local, network, route, west } from '../model/testing.ts';
import type { AcceptedGateways } from '../settle/accepted-gateways.ts';
import { Remotes, type RemoteState } from '../settle/remotes.ts';
import type { GatewayObject } from '../model/objects.ts';
import type { Situation } from './situation.ts';

export const at = '2026-01-01T00:00:00.000Z';

export function verdicts(downs: readonly string[] = [], refused: ReadonlyMap<string, Problem> = new Map()) {
  const facts = network().paths.map((path) => ({
    network: 'ts',
    index: path.index,
    switch: path.switch,
    isRetiring: false,
    local: { order: path.order, holder: path.holder, isDraining: false },
    remote: {
      order: west.ports[path.index]?.gateways ?? [],
      holder: west.ports[path.index]?.holder ?? '',
      isDraining: false,
    },
    refused,
    tunnelTo: () => (downs.includes(path.switch) ? 'down' : 'up'),
  }));
  return settlePaths(facts, noMemory, { nowMs: 0, holdDownMs: 0 }).verdicts;
}

export const noGateways: AcceptedGateways = { gateways: [], refused: new Map(), mode: 'off', encrypted: new Set() };

export function stateOf(fields: Partial<RemoteState> = {}): RemoteState {
  const hops = (west.routes[0]?.nextHops ?? []).map((hop) => ({ ...hop, isUsed: true, problem: undefined }));
  const use = { ...route('10.17.0.0/16'), router: 'ovn-cluster', isChosen: true, hops, rejected: undefined };
  return {
    member: west,
    context: { local, gateways: [], networks: new Map(), policies: noPolicies, aggregates: new Map() },
    gateways: { ...noGateways, gateways: west.gateways },
    departing: [],
    judgement: { routes: [], decisions: [], overLimit: [] },
    verdicts: verdicts(),
    isUnreachable: false,
    uses: [use],
    ...fields,
  };
}

export const gatewayObject = (chassis: string, fields: Partial<GatewayObject> = {}): GatewayObject => ({
  uid: 'u',
  isDeleting: false,
  finalizers: [],
  isMadeByAgent: true,
  isDrained: false,
  status: { chassis },
  tunnels: [],
  probes: [],
  siblingTunnels: [],
  checkedAt: undefined,
  ...fields,
});

export function situation(state = stateOf(), fields: Partial<Situation> = {}): Situation {
  const remotes = new Remotes();
  remotes.set('west', state);
  return {
    local,
    link: { isJoined: true, isConnected: true, problem: undefined, notAfterMs: Date.parse(at) + 1000 },
    members: new Map([['west', state.member]]),
    switches: [granted],
    rejections: [],
    silentDatabases: [],
    unreachedBy: new Set(),
    silent: new Map(),
    behind: new Map(),
    stuck: [],
    clashes: [],
    isHubKnown: true,
    isWaitingForHub: false,
    networks: new Map([['ts', network()]]),
    networkProblems: new Map(),
    expected: new Set(),
    blocked: new Map(),
    takeovers: new Map(),
    remotes,
    gatewayOf: () => undefined,
    isDead: () => false,
    cuts: [],
    wantedMtu: 1500,
    podsOf: () => undefined,
    distanceOf: () => undefined,
    prefixesOffered: 1,
    isConverged: true,
    clusterSetProblems: [],
    problems: [],
    nowMs: Date.parse(at),
    ...fields,
  };
}

export const messageOf = (
  { conditions }: { conditions?: readonly { type: string; message?: string | undefined }[] | undefined },
  type: string,
) => conditions?.find((one) => one.type === type)?.message ?? '';

export const conditionsOf = ({
  conditions,
}: {
  conditions?: readonly { type: string; status: string; reason?: string | undefined }[] | undefined;
}) =>
  Object.fromEntries(
    (conditions ?? []).map(({ type, status, reason }) => [type, status === 'True' ? 'True' : `${status} ${reason}`]),
  );
