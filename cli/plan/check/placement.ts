/** Checks that nodes, storage and permissions exist for the workloads of the chart. Pure. */
import { plural } from '../../model/units.ts';
import { isMember } from '../../model/chart-values.ts';
import type { Machine } from '../../model/cluster-facts.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import { few, notSeen, outcome, type Outcome, type Question } from './outcome.ts';
import { asLabels, chosenBy } from './selected.ts';

type Labels = Readonly<Record<string, string>>;

interface Wish {
  readonly selector: Labels;
  /** Name of the chart's value. */
  readonly value: string;
}

function named(machines: readonly Machine[]): string {
  return few(machines.map(({ name }) => name));
}

export function judgeCentral({ facts, values }: Question): Outcome | undefined {
  const { deploy, nodeSelector } = values.ovn.central;
  if (!deploy) return undefined;
  const { machines } = facts;
  if (machines === undefined) return notSeen('Nodes');
  const chosen = chosenBy(machines, nodeSelector);
  if (chosen.length > 0) return outcome(named(chosen));
  const message = `no Node has the labels ${asLabels(nodeSelector)} of ovn.central.nodeSelector: isthmus-ovn-central, which has OVN's databases, cannot be scheduled, and nothing works without these`;
  const fix = `choose one node and label it: kubectl label node NODE ${asLabels(nodeSelector)}; or set ovn.central.nodeSelector to labels that one has`;
  return outcome('', { problems: [cause('CentralNotPlaced', message, fix)] });
}

export function judgeController({ facts, values }: Question): Outcome {
  if (facts.machines === undefined) return notSeen('Nodes');
  const { nodeSelector, replicas } = values.controller;
  const chosen = chosenBy(facts.machines, nodeSelector);
  if (chosen.length > 0)
    return outcome(named(chosen), { warnings: tooFew(chosen, replicas, 'controller.replicas', 'isthmus-controller') });
  const message = `no Node has the labels ${asLabels(nodeSelector)} of controller.nodeSelector: isthmus-controller cannot be scheduled`;
  const fix = 'set controller.nodeSelector to labels that nodes have';
  return outcome('', { problems: [cause('ControllerNotPlaced', message, fix)] });
}

/** Replicas with host ports need a separate node each. */
function tooFew(chosen: readonly Machine[], replicas: number, value: string, workload: string): readonly Cause[] {
  if (chosen.length >= replicas) return [];
  const message = `${value} is ${replicas} and there ${chosen.length === 1 ? 'is 1 node' : `are ${chosen.length} nodes`} for ${workload}, which runs once on a node: ${replicas - chosen.length} of its pods stay Pending`;
  return [
    cause(
      'ReplicasExceedNodes',
      message,
      `--set ${value}=${chosen.length}; helm install --wait would not end otherwise`,
    ),
  ];
}

/** Checks roles that a label assigns to nodes; the label may be set at any time. */
function judgeRole(machines: readonly Machine[] | undefined, { selector, value }: Wish, what: string): Outcome {
  if (machines === undefined) return notSeen('Nodes');
  const chosen = chosenBy(machines, selector);
  if (chosen.length > 0) return outcome(named(chosen));
  const message = `no Node has the labels ${asLabels(selector)} of ${value}: ${what}`;
  const fix = `if you need it: kubectl label node NODE ${asLabels(selector)}`;
  return outcome('', { warnings: [cause('RoleNotGiven', message, fix)] });
}

export function judgeSpeakers({ facts, values }: Question): Outcome | undefined {
  if (!values.speaker.enabled) return undefined;
  const wish = { selector: values.speaker.nodeSelector, value: 'speaker.nodeSelector' };
  return judgeRole(facts.machines, wish, 'no speaker runs, and nothing is announced over BGP');
}

export function judgeGateways({ facts, values }: Question): Outcome | undefined {
  if (!isMember(values)) return undefined;
  const wish = { selector: values.interconnect.gatewayNodeSelector, value: 'interconnect.gatewayNodeSelector' };
  return judgeRole(facts.machines, wish, 'nothing carries traffic to other clusters');
}

/** The interconnect's agents run on any node. */
export function judgeAgents({ facts: { machines }, values }: Question): Outcome | undefined {
  if (!isMember(values)) return undefined;
  if (machines === undefined) return notSeen('Nodes');
  const { replicas } = values.interconnect;
  const warnings = tooFew(machines, replicas, 'interconnect.replicas', 'isthmus-interconnect');
  return outcome(`${replicas} on ${plural(machines.length, 'node')}`, { warnings });
}

export function judgeHub({ facts, values }: Question): Outcome | undefined {
  const { enabled, nodeSelector, storage } = values.hub;
  if (!enabled) return undefined;
  const { machines, storageClasses } = facts;
  if (machines === undefined) return notSeen('Nodes');
  const chosen = chosenBy(machines, nodeSelector);
  if (chosen.length === 0) {
    const message = `no Node has the labels ${asLabels(nodeSelector)} of hub.nodeSelector: isthmus-hub cannot be scheduled`;
    return outcome('', {
      problems: [cause('HubNotPlaced', message, 'set hub.nodeSelector to labels that a node has')],
    });
  }
  if (storage.hostPath !== '') {
    if (chosen.length === 1) return outcome(`${storage.hostPath} of ${named(chosen)}`);
    const message = `hub.storage.hostPath is a folder of one node, and hub.nodeSelector chooses ${plural(chosen.length, 'node')} (${named(chosen)}): on another than the first the databases start empty`;
    return outcome('', { warnings: [cause('HubMayMove', message, 'set hub.nodeSelector to labels of one node')] });
  }
  if (storageClasses === undefined) return notSeen('StorageClasses');
  const wanted = storage.className;
  const found = storageClasses.find(({ name, isDefault }) => (wanted === '' ? isDefault : name === wanted));
  if (found !== undefined) return outcome(`StorageClass ${found.name}`);
  const which = wanted === '' ? 'no default StorageClass' : `no StorageClass ${wanted}`;
  const there =
    storageClasses.length === 0 ? 'there is none at all' : `there are ${few(storageClasses.map(({ name }) => name))}`;
  const message = `hub.enabled needs a volume and there is ${which} (${there}): isthmus-hub stays Pending, unless a PersistentVolume is created for it`;
  const fix =
    'set hub.storage.className to one that is there, or hub.storage.hostPath and hub.nodeSelector for a folder of one node';
  return outcome('', { problems: [cause('NoStorageClass', message, fix)] });
}

export function judgeAdmission({ facts: { hasAdmissionPolicies }, values }: Question): Outcome | undefined {
  if (!values.rbac.admissionPolicy) {
    const message =
      'rbac.admissionPolicy is false: a stolen token of a daemon or speaker of one node can write what every other node reports of itself';
    const fix = 'leave it true, unless the API server does not serve admissionregistration.k8s.io/v1';
    return outcome('', { warnings: [cause('AdmissionPolicyOff', message, fix)] });
  }
  if (hasAdmissionPolicies === undefined) return notSeen('what admissionregistration.k8s.io/v1 serves');
  if (hasAdmissionPolicies) return outcome('admissionregistration.k8s.io/v1 has ValidatingAdmissionPolicy');
  const message =
    'the API server does not serve ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1, which the chart installs: helm install would end with "no matches for kind"';
  const fix = 'let it serve them (Kubernetes 1.30 does by itself), or install with --set rbac.admissionPolicy=false';
  return outcome('', { problems: [cause('AdmissionPolicyNotServed', message, fix)] });
}
