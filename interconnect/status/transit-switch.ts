/** The status of a TransitSwitch. Pure. */
import type { TransitPathStatus, TransitSwitchStatus } from '../../lib/api/kinds/transit-switch.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { OwnNetwork, OwnPath } from '../model/networks.ts';
import { bad, good, summary, unknown, withVerdicts, type Verdict } from './conditions.ts';
import { faultOf } from './gateway-health.ts';
import { isoOf, type Situation } from './situation.ts';

export function renderTransitSwitch(
  name: string,
  situation: Situation,
  before: TransitSwitchStatus,
  generation: number,
): TransitSwitchStatus {
  const network = situation.networks.get(name);
  const conditions = withVerdicts(
    before.conditions,
    [readyOf(name, network, situation), ...protectedOf(network, situation)],
    isoOf(situation),
    generation,
  );
  if (network === undefined) return { conditions };
  const granted = situation.switches.find((one) => one.name === name);
  const holders = network.paths.map(({ holder }) => holder).filter((holder) => holder !== '');
  return {
    conditions,
    cidr: (granted?.cidrs ?? []).join(','),
    definedBy: network.definedBy,
    vpc: network.vpc.router,
    paths: network.paths.map((path) => pathOf(path, situation, before)),
    activeGateways: [...new Set(holders)].join(','),
    clusters: clustersOf(network, situation),
  };
}

function readyOf(name: string, network: OwnNetwork | undefined, situation: Situation): Verdict {
  const { local, link, rejections, networkProblems } = situation;
  const fail = (problem: Problem): Verdict => bad('Ready', problem);
  if (local === undefined)
    return fail({
      code: 'NotJoined',
      message: 'this cluster is not a member: create the Interconnect `default` first',
    });
  const request = local.transitRequests.find((one) => one.name === name);
  const problem = request?.problem ?? request?.vpcProblem ?? networkProblems.get(name);
  if (problem !== undefined) return fail(problem);
  const rejection = rejections.find(
    ({ kind, value, transitSwitch }) => kind === 'transit-switch' && (value === name || transitSwitch === name),
  );
  if (rejection !== undefined) return fail({ code: rejection.code, message: rejection.message });
  if (network === undefined)
    return fail(
      link.problem ?? { code: 'WaitingForHub', message: 'the hub has not given this cluster a port on it yet' },
    );
  const idle = network.paths.filter(({ holder, isRetiring }) => holder === '' && !isRetiring);
  if (idle.length > 0) {
    const message = `no gateway of this cluster has taken its port on ${idle.map((path) => path.switch).join(', ')}`;
    return fail({ code: 'NotClaimed', message });
  }
  const faults = network.paths.map(({ holder }) => (holder === '' ? undefined : faultOf(holder, situation)));
  const [first] = faults.filter((one) => one !== undefined);
  if (first !== undefined && !faults.includes(undefined))
    return first.isKnown ? fail(first) : unknown('Ready', first.code, first.message);
  const holders = network.paths.map((path) => `${path.switch} by ${path.holder}`).join(', ');
  return good('Ready', 'Claimed', `forwarded for: ${holders}`);
}

/** Without another cluster on the network there is nothing to protect. */
function protectedOf(network: OwnNetwork | undefined, { takeovers, members }: Situation): readonly Verdict[] {
  const type = 'Protected';
  const paths = network?.paths.filter(({ isRetiring }) => !isRetiring) ?? [];
  const shared = new Set([...members.values()].flatMap(({ ports }) => ports.map((port) => port.switch)));
  if (!paths.some((path) => shared.has(path.switch))) return [];
  const problems = paths.flatMap((path) => takeovers.get(path.switch) ?? []);
  const [first] = problems;
  if (first !== undefined) return [bad(type, { code: first.code, message: summary(problems) })];
  return [good(type, 'Protected', 'if a gateway of this cluster fails, another one takes over its port')];
}

type State = NonNullable<TransitPathStatus['state']>;

function pathOf(path: OwnPath, situation: Situation, before: TransitSwitchStatus): TransitPathStatus {
  const takeover = situation.takeovers.get(path.switch);
  const state = stateOf(path, takeover);
  const known = before.paths?.find((one) => one.path === path.index);
  const since = known?.state === state && known.holder === path.holder ? known.since : undefined;
  const [localAddress] = path.port.networks;
  return {
    path: path.index,
    switch: path.switch,
    cidr: path.cidrs.join(','),
    tunnelKey: path.tunnelKey,
    ...(localAddress === undefined ? {} : { localAddress }),
    gateways: [...path.order],
    holder: path.holder,
    state,
    ...(state === 'Unprotected' && takeover !== undefined ? { reason: takeover.code, message: takeover.message } : {}),
    since: since ?? isoOf(situation),
  };
}

function stateOf({ isRetiring, phase, holder, order }: OwnPath, takeover: Problem | undefined): State {
  if (isRetiring) return 'Retiring';
  if (phase === 'draining') return 'Draining';
  if (phase === 'moving') return 'Moving';
  if (holder === '') return 'Unclaimed';
  if (holder !== order[0]) return 'FailedOver';
  return takeover === undefined ? 'Settled' : 'Unprotected';
}

const mostClusters = 1000;

function clustersOf({ paths }: OwnNetwork, { members }: Situation): NonNullable<TransitSwitchStatus['clusters']> {
  const first = paths[0]?.switch;
  const clusters = [...members.values()].flatMap(({ name, ports }) => {
    const port = ports.find((one) => one.switch === first);
    return port === undefined ? [] : [{ name, address: port.networks[0] ?? '' }];
  });
  return clusters.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, mostClusters);
}
