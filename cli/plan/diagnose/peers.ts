/** Steps of the other clusters: whether they are known and alive, and the paths to them. */
import type { RemotePathStatus } from '../../../lib/api/kinds/remote-cluster.ts';
import { plural, since } from '../../model/units.ts';
import { conditionOf, isHidden, specOf, type RemoteCluster, type Snapshot } from '../../model/snapshot.ts';
import { cause, judged, unknown, type Cause, type Outcome, type Side } from './step.ts';

/** The requested peer, or all other clusters. */
export function meantRemotes({ near, peer }: Side): readonly RemoteCluster[] {
  return peer === undefined ? near.remotes : near.remotes.filter(({ name }) => name === peer);
}

/** Whether it runs plain ovn-ic: then only the rows of its databases describe it. */
export function isForeign({ status }: RemoteCluster): boolean {
  return status.foreign === true;
}

export function checkPeer(side: Side): Outcome {
  const { near, far, peer } = side;
  const remotes = meantRemotes(side);
  if (isHidden(near, 'remoteclusters')) return unknown('no permission to read RemoteClusters');
  if (remotes.length === 0) return unknownPeer(near, far, peer);
  const failures: Cause[] = [];
  const warnings: Cause[] = [];
  for (const remote of remotes) {
    const found = phaseCause(near, far, remote);
    if (found !== undefined) failures.push(found);
    if (isForeign(remote)) {
      const message = `${remote.name} runs plain ovn-ic: one path, no BFD, and its failover waits for the IC databases`;
      warnings.push(
        cause('PlainOvnIc', message, 'nothing to do, unless you need fast failover: then it must run this agent'),
      );
    }
  }
  return judged(
    failures,
    warnings,
    remotes.map(({ name, status }) => `${name}: ${status.phase ?? 'not said'}`).join(', '),
  );
}

function unknownPeer(near: Snapshot, far: Snapshot | undefined, peer: string | undefined): Outcome {
  if (peer === undefined)
    return judged(
      [],
      [
        cause(
          'NoPeers',
          `${near.label} knows no other cluster`,
          'join a second one: isthmus ic token at the hub, isthmus ic join there',
        ),
      ],
      '',
    );
  const known = near.remotes.map(({ name }) => name).join(', ');
  const [ours, theirs] = [specOf(near)?.hub, far === undefined ? undefined : specOf(far)?.hub];
  const hubs =
    ours !== undefined && theirs !== undefined && ours !== theirs
      ? `; ${near.label} uses the hub ${ours}, but ${peer} uses ${theirs}`
      : '';
  const message = `${near.label} knows no cluster ${peer}${known === '' ? '' : `; it knows ${known}`}${hubs}`;
  const fix = `check that ${peer} has joined the same hub: isthmus ic status there, or this command with --peer-kubeconfig`;
  return judged([cause('PeerUnknown', message, fix)], [], '');
}

function phaseCause(near: Snapshot, far: Snapshot | undefined, { name, status }: RemoteCluster): Cause | undefined {
  const ready = conditionOf(status.conditions, 'Ready');
  const seen = status.lastSeen === undefined ? '' : `, last seen ${since(status.lastSeen, near.nowMs)} ago`;
  const member = [near, far].flatMap((side) => side?.members ?? []).find((one) => one.name === name);
  const session = member === undefined ? undefined : conditionOf(member.status.conditions, 'Connected');
  const atHub =
    session?.status === 'False' ? `; the hub reports: ${session.message ?? session.reason ?? 'not connected'}` : '';
  switch (status.phase) {
    case 'Stale': {
      const message = `${name} has no session with the hub${seen}; its last known routes remain${atHub}`;
      return cause(
        'PeerStale',
        message,
        `check the agent of ${name} and its connection to the hub: isthmus ic diagnose there`,
      );
    }
    case 'Unreachable': {
      const message = `${name} cannot be reached over any tunnel${seen}: its routes are withdrawn${atHub}`;
      return cause(
        'PeerUnreachable',
        message,
        `if it is running, check the tunnels below and its gateways; for a cluster that is gone there is nothing to do`,
      );
    }
    case 'Joining': {
      const message = ready?.message ?? `${name} has not reported a gateway to the hub yet`;
      return cause(
        ready?.reason ?? 'PeerJoining',
        `${message}${atHub}`,
        `look at the gateways of ${name}: isthmus ic diagnose there`,
      );
    }
    case 'Ready':
    case 'Degraded':
    case 'Conflicted':
    case undefined:
      return undefined;
  }
}

export function checkPaths(side: Side): Outcome | undefined {
  const failures: Cause[] = [];
  const warnings: Cause[] = [];
  const all: RemotePathStatus[] = [];
  for (const remote of meantRemotes(side)) {
    const paths = remote.status.paths ?? [];
    all.push(...paths);
    for (const path of paths) {
      if (path.state === 'Up') continue;
      const found = pathCause(side.near, remote.name, path);
      if (path.state === 'Down') failures.push(found);
      else warnings.push(found);
    }
  }
  if (all.length === 0) return undefined;
  const up = all.filter(({ state }) => state === 'Up').length;
  return judged(failures, warnings, `${up} of ${plural(all.length, 'path')} up`);
}

const pathWords: Readonly<
  Record<Exclude<RemotePathStatus['state'], 'Up'>, readonly [code: string, says: string, fix: string]>
> = {
  Down: ['PathDown', 'is down', 'see the tunnels and ports above'],
  HoldDown: [
    'PathHoldDown',
    'has recovered, but not long enough ago to carry traffic',
    'wait for spec.failback.holdDownSeconds of the Interconnect',
  ],
  Moving: [
    'PathMoving',
    'moves to another gateway',
    'wait some seconds; if it does not complete, check northd and ovn-controller of the gateways, and at the hub: nothing moves without it',
  ],
  Unknown: ['PathUnknown', 'is not measured at present', 'see the reports of the daemons above'],
  Draining: ['PathDraining', 'is drained', 'undrain the gateway when the work there is done: isthmus ic undrain NODE'],
};

function pathCause(near: Snapshot, cluster: string, path: RemotePathStatus): Cause {
  const [code, says, fix] = pathWords[path.state === 'Up' ? 'Down' : path.state];
  const forHow = path.since === undefined ? '' : ` for ${since(path.since, near.nowMs)}`;
  const why = path.message ?? path.reason;
  const way = `${path.localGateway ?? 'no gateway'} – ${path.remoteGateway ?? 'no gateway'}`;
  const message = `path ${path.transitSwitch}/${path.path} from ${near.label} to ${cluster} (${way}) ${says}${forHow}${why === undefined ? '' : `: ${why}`}`;
  return cause(code, message, fix);
}
