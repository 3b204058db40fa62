/**
 * Checks end to end that the control planes agree about each other. In: clusters. Out: checks, each with its
 * evidence. Stricter than the diagnosis: everything must be well, and both sides must report the same. Pure.
 */
import { cidrCovers, formatCidr, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { plural } from '../model/units.ts';
import { conditionOf, type RemoteCluster, type Snapshot, type Subnet } from '../model/snapshot.ts';
import { checkAgent } from './diagnose/link.ts';
import { pairsOf } from './diagnose/tunnels.ts';
import { deniedTo, whyNotOffered } from './diagnose/prefixes.ts';
import { routesOf } from './routes.ts';

export interface Check {
  readonly cluster: string;
  readonly name: string;
  readonly isWell: boolean;
  readonly evidence: string;
}

export interface Offer {
  readonly near: Snapshot;
  readonly far: Snapshot;
  readonly subnet: Subnet;
  readonly cidr: Cidr;
}

/** All of these clusters, two by two; a check that several pairs have in common is reported once. */
export function verifyAll(clusters: readonly Snapshot[]): readonly Check[] {
  const [first, ...rest] = clusters;
  if (first === undefined) return [];
  if (rest.length === 0) return verify(first, undefined);
  const pairs = clusters.flatMap((near, at) => clusters.slice(at + 1).flatMap((far) => verify(near, far)));
  return [...new Map(pairs.map((check) => [JSON.stringify(check), check])).values()];
}

export function verify(near: Snapshot, far: Snapshot | undefined): readonly Check[] {
  const ours = checksOf(near, far);
  return far === undefined ? ours : [...ours, ...checksOf(far, near)];
}

function checksOf(near: Snapshot, far: Snapshot | undefined): readonly Check[] {
  if (near.interconnect === undefined)
    return [
      { cluster: near.label, name: 'membership', isWell: false, evidence: 'there is no Interconnect default' },
      ...leftOvers(near),
    ];
  const remotes = far === undefined ? near.remotes : near.remotes.filter(({ name }) => name === far.label);
  return [
    agentCheck(near),
    ...conditionChecks(near),
    ...portChecks(near),
    ...remoteChecks(near, remotes, far),
    ...tunnelChecks(near, far),
    ...(far === undefined ? [] : routeChecks(near, far)),
    ...leftOvers(near),
  ];
}

/** Without a leader, the conditions are those of a former agent. */
function agentCheck(near: Snapshot): Check {
  const { state, evidence, causes } = checkAgent({ near, far: undefined, peer: undefined });
  const isWell = state !== 'failed';
  return { cluster: near.label, name: 'agent', isWell, evidence: isWell ? evidence : (causes[0]?.message ?? evidence) };
}

function conditionChecks({ label, interconnect }: Snapshot): readonly Check[] {
  const conditions = interconnect?.status.conditions ?? [];
  if (conditions.length === 0)
    return [{ cluster: label, name: 'conditions', isWell: false, evidence: 'the agent has written no conditions' }];
  return conditions.map(({ type, status, message }) => ({
    cluster: label,
    name: type,
    isWell: status === 'True',
    evidence: message ?? status,
  }));
}

function portChecks({ label, transitSwitches }: Snapshot): readonly Check[] {
  return transitSwitches.flatMap(({ name, status }) =>
    (status.paths ?? []).map(({ path, holder = '', state = '', message = '' }) => ({
      cluster: label,
      name: `port ${name}/${path}`,
      isWell: holder !== '' && (state === '' || state === 'Settled'),
      evidence:
        holder === ''
          ? 'no gateway holds it'
          : `${holder} holds it${state === '' ? '' : `, ${state}`}${message === '' ? '' : `: ${message}`}`,
    })),
  );
}

function remoteChecks(
  { label }: Snapshot,
  remotes: readonly RemoteCluster[],
  far: Snapshot | undefined,
): readonly Check[] {
  if (remotes.length === 0) {
    const who = far === undefined ? 'any other cluster' : far.label;
    return [{ cluster: label, name: 'other cluster', isWell: false, evidence: `does not know ${who}` }];
  }
  return remotes.flatMap(({ name, status }) => {
    const paths = status.paths ?? [];
    const up = paths.filter(({ state }) => state === 'Up');
    const ill = paths
      .filter(({ state }) => state !== 'Up')
      .map(({ transitSwitch, path, state }) => `${transitSwitch}/${path} ${state}`);
    const mtu = conditionOf(status.conditions, 'PathMTU');
    return [
      {
        cluster: label,
        name: `phase of ${name}`,
        isWell: status.phase === 'Ready',
        evidence: status.phase ?? 'not said',
      },
      {
        cluster: label,
        name: `paths to ${name}`,
        isWell: paths.length > 0 && ill.length === 0,
        evidence: ill.length === 0 ? `${up.length} up` : ill.join(', '),
      },
      ...(mtu === undefined
        ? []
        : [
            {
              cluster: label,
              name: `MTU to ${name}`,
              isWell: mtu.status === 'True',
              evidence: mtu.message ?? mtu.status,
            },
          ]),
    ];
  });
}

function tunnelChecks(near: Snapshot, far: Snapshot | undefined): readonly Check[] {
  return pairsOf({ near, far, peer: far?.label }).map(({ ours, cluster, tunnel }) => ({
    cluster: near.label,
    name: `tunnel ${ours.node} – ${cluster}/${tunnel.chassis}`,
    isWell: tunnel.state === 'up',
    evidence:
      tunnel.diagnostic === undefined || tunnel.state === 'up' ? tunnel.state : `${tunnel.state}: ${tunnel.diagnostic}`,
  }));
}

/** Every prefix that this side offers must be used by the other, itself or as part of an aggregate, or denied by a policy. */
function routeChecks(near: Snapshot, far: Snapshot): readonly Check[] {
  const offered = near.subnets
    .filter((subnet) => !subnet.isJoin && whyNotOffered(near, subnet) === undefined)
    .flatMap((subnet) => subnet.cidrs.map((cidr) => ({ subnet, cidr, prefix: formatCidr(cidr) })));
  return offered.map(({ subnet, cidr, prefix }) => {
    const { isWell, evidence } = useOf({ near, far, subnet, cidr });
    return { cluster: near.label, name: `${prefix} (${subnet.name})`, isWell, evidence };
  });
}

export interface PrefixUse {
  readonly isWell: boolean;
  /** A RoutePolicy of either cluster keeps the other one from using it. */
  readonly isWithheld: boolean;
  readonly evidence: string;
}

/** Whether `far` uses a prefix that `near` offers. */
export function useOf({ near, far, subnet, cidr }: Offer): PrefixUse {
  const us = far.remotes.find(({ name }) => name === near.label);
  const covering = (us === undefined ? [] : routesOf(us)).filter(({ prefix: text }) => {
    const own = parseCidr(text);
    return own !== undefined && cidrCovers(own, cidr);
  });
  const exact = covering.filter((route) => route.prefix === formatCidr(cidr));
  const found = exact.length > 0 ? exact : covering;
  const active = found.filter(({ state }) => state === 'Active');
  if (active.length > 0) {
    // The status does not list the next hops of most prefixes of a large cluster.
    const hops = active.filter(({ nextHop }) => nextHop !== '').length;
    const evidence = `in use at ${far.label}${hops === 0 ? '' : `, ${plural(hops, 'next hop')}`}`;
    return { isWell: true, isWithheld: false, evidence };
  }
  const exporting = found.length > 0 ? undefined : deniedTo(far.label, near, subnet, cidr);
  if (exporting !== undefined)
    return { isWell: true, isWithheld: true, evidence: `withheld from ${far.label} by RoutePolicy ${exporting}` };
  const why = found.map(({ state, reason }) => reason ?? state);
  if (why.length > 0 && why.every((reason) => reason === 'Denied')) {
    const evidence = `refused by a RoutePolicy of ${far.label}: ${found[0]?.message ?? 'denied'}`;
    return { isWell: true, isWithheld: true, evidence };
  }
  const evidence = `not in use at ${far.label}: ${why.length === 0 ? 'not received' : why.join(', ')}`;
  return { isWell: false, isWithheld: false, evidence };
}

const remoteOwner = /^interconnect\/remote\/([^/]+)/;

/** Rows of clusters that are gone, if the databases' sockets were given. */
function leftOvers(near: Snapshot): readonly Check[] {
  if (near.ovn === undefined) return [];
  const known = new Set(near.remotes.map(({ name, status }) => status.handle ?? name));
  const stray = near.ovn.interconnectRows.filter(({ owner }) => {
    const cluster = remoteOwner.exec(owner)?.[1];
    return near.interconnect === undefined || (cluster !== undefined && !known.has(cluster));
  });
  const owners = [...new Set(stray.map(({ database, table, owner }) => `${owner} in ${database} ${table}`))];
  const evidence =
    stray.length === 0
      ? 'none'
      : `${plural(stray.length, 'row')}: ${owners.slice(0, 3).join(', ')}${owners.length > 3 ? ' …' : ''}`;
  return [{ cluster: near.label, name: 'rows left over', isWell: stray.length === 0, evidence }];
}
