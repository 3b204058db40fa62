/** What an installation still lacks, one line per object with the cause. Pure. Called by `isthmus status`. */
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { defaultSubnet, joinSubnet, networkReadyReason } from '../../../lib/api/names.ts';
import { plural } from '../../model/units.ts';
import type { Installation, Missing, NodeReport, Rollout, RolloutPod } from '../../model/installation.ts';
import { conditionOf } from '../../model/snapshot.ts';
import { otherImages } from './images.ts';

const daemon = 'isthmus-daemon';
/** Objects that every installation requires. */
const always = [
  { kind: 'DaemonSet', name: daemon },
  { kind: 'Deployment', name: 'isthmus-controller' },
] as const;

export function missingOf(installation: Installation): readonly Missing[] {
  const { rollouts, namespace } = installation;
  if (rollouts.length === 0)
    return [
      missing('Isthmus', `no workload in namespace ${namespace}: helm install isthmus charts/isthmus -n ${namespace}`),
    ];
  const absent = always
    .filter(({ kind, name }) => !rollouts.some((one) => one.kind === kind && one.name === name))
    .map(({ kind, name }) => missing(`${kind} ${name}`, `is not in ${namespace}`));
  return [
    ...absent,
    ...rollouts.flatMap((rollout) => missingOfRollout(rollout, installation.pods)),
    ...noNodes(installation),
    ...nodesOf(installation).flatMap(missingOfNode),
    ...otherImages(installation),
    ...[defaultSubnet, joinSubnet].flatMap((name) => missingOfSubnet(name, installation)),
  ];
}

/** The nodes that the daemon should run on. */
export function nodesOf({ rollouts, nodes }: Installation): readonly NodeReport[] {
  const selector = rollouts.find(({ kind, name }) => kind === 'DaemonSet' && name === daemon)?.nodeSelector;
  if (selector === undefined) return [];
  return nodes.filter(({ labels }) => Object.entries(selector).every(([key, value]) => labels[key] === value));
}

/** A DaemonSet without nodes is complete, but no node gets a network. */
function noNodes(installation: Installation): readonly Missing[] {
  const { rollouts } = installation;
  const found = rollouts.find(({ kind, name }) => kind === 'DaemonSet' && name === daemon);
  if (found === undefined || nodesOf(installation).length > 0) return [];
  const labels = Object.entries(found.nodeSelector).map(([key, value]) => `${key}=${value}`);
  return [missing('Nodes', `none has the labels ${labels.join(' ')} of daemon.nodeSelector`)];
}

function missing(object: string, why: string, isPassing = false): Missing {
  return { object, why, isPassing };
}

function missingOfRollout(rollout: Rollout, pods: readonly RolloutPod[]): readonly Missing[] {
  const why = unfinished(rollout);
  if (why === undefined) return [];
  const own = pods.filter(({ component, isReady }) => component === rollout.component && !isReady);
  return [
    missing(`${rollout.kind} ${rollout.name}`, why),
    ...own.map(({ name, node, isEnding, why: because, isPassing }) =>
      missing(
        `Pod ${name}${node === '' ? '' : ` on ${node}`}`,
        isEnding ? 'is ending' : because,
        isEnding || isPassing,
      ),
    ),
  ];
}

export function unfinished({ isObserved, desired, updated, total, ready, obstacle }: Rollout): string | undefined {
  if (obstacle !== undefined) return obstacle;
  if (!isObserved) return 'Kubernetes has not processed its newest version yet';
  if (updated !== undefined && updated < desired) return `${updated} of ${desired} pods are of the newest version`;
  if (updated !== undefined && total > updated)
    return `still running: ${plural(total - updated, 'pod')} of a former version`;
  return ready < desired ? `${ready} of ${desired} pods are ready` : undefined;
}

function missingOfNode({ name, conditions }: NodeReport): readonly Missing[] {
  const object = `Node ${name}`;
  const network = conditionOf(conditions, 'NetworkUnavailable');
  if (network === undefined) return [missing(object, 'its daemon has not reported on its network yet')];
  if (network.status !== 'False' || network.reason !== networkReadyReason) {
    if (network.status === 'False')
      return [missing(object, `NetworkUnavailable is not set by its daemon yet: ${textOf(network)}`)];
    return [missing(object, `its network is not available: ${textOf(network)}`)];
  }
  const ready = conditionOf(conditions, 'Ready');
  if (ready?.status === 'True') return [];
  return [missing(object, ready === undefined ? 'its kubelet has not reported yet' : `not Ready: ${textOf(ready)}`)];
}

function missingOfSubnet(name: string, { subnets }: Installation): readonly Missing[] {
  const found = subnets.find((one) => one.name === name);
  const object = `Subnet ${name}`;
  if (found === undefined) return [missing(object, 'isthmus-controller has not created it yet')];
  const ready = conditionOf(found.conditions, 'Ready');
  if (ready?.status === 'True') return [];
  return [
    missing(
      object,
      ready === undefined ? 'isthmus-controller has not validated it yet' : `not Ready: ${textOf(ready)}`,
    ),
  ];
}

function textOf({ reason = '', message = '' }: Condition): string {
  return message === '' ? reason : `${reason}: ${message}`;
}
