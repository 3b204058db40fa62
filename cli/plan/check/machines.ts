/** Checks the machines by their Nodes: operating system, kernel, container runtime. Pure. */
import { plural } from '../../model/units.ts';
import type { Machine } from '../../model/cluster-facts.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import { few, notSeen, outcome, type Outcome, type Question } from './outcome.ts';
import { asLabels, ownMachines } from './selected.ts';

const architectures = new Set(['amd64', 'arm64']);
/**
 * From 5.10 the kernel keeps the comments of nftables tables and chains, by which the daemon recognizes its own rules; NAT in tables of the family
 * inet exists from 5.2. The features of the module openvswitch that the switch needs (Geneve 3.18, NAT 4.6) are older.
 */
const kernelFloor = [5, 10] as const;
const containerdFloor = [1, 6] as const;

type Version = readonly [major: number, minor: number];

function versionOf(text: string): Version | undefined {
  const match = /^v?(\d+)\.(\d+)/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}

function isBelow([major, minor]: Version, [leastMajor, leastMinor]: Version): boolean {
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

const leaveOut = 'leave these nodes out (daemon.nodeSelector)';

/** Groups nodes by a text, with one cause each: `nameOf` returns the text, or undefined for nodes without a problem. */
function grouped(
  machines: readonly Machine[],
  textOf: (machine: Machine) => string | undefined,
  causeOf: (text: string, nodes: string) => Cause,
): readonly Cause[] {
  const found = new Map<string, string[]>();
  for (const machine of machines) {
    const text = textOf(machine);
    if (text !== undefined) found.set(text, [...(found.get(text) ?? []), machine.name]);
  }
  return [...found].map(([text, names]) => causeOf(text, few(names)));
}

/** Checks which nodes the daemon runs on, and whether the images support their operating system and architecture. */
export function judgeSystems(question: Question): Outcome {
  const machines = ownMachines(question);
  const all = question.facts.machines;
  if (machines === undefined || all === undefined) return notSeen('Nodes');
  if (machines.length === 0) {
    const selector = asLabels(question.values.daemon.nodeSelector);
    const message = `no Node has the labels ${selector} of daemon.nodeSelector, so that no node gets a network`;
    return outcome('', {
      problems: [cause('NoNodes', message, 'set daemon.nodeSelector to labels that the nodes have')],
    });
  }
  const foreign = grouped(
    machines,
    ({ os, architecture }) => (os === 'linux' && architectures.has(architecture) ? undefined : `${os}/${architecture}`),
    (kind, nodes) =>
      cause('SystemNotServed', `${nodes}: ${kind}; the programs are for linux/amd64 and linux/arm64`, leaveOut),
  );
  const silent = machines.filter(({ conditions }) =>
    conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
  );
  const warnings = [
    ...(silent.length === 0
      ? []
      : [
          cause(
            'NodeSilent',
            `the kubelet does not answer on ${few(silent.map(({ name }) => name))}`,
            'start it, or delete the Node: the installation is complete without it only then',
          ),
        ]),
    ...(machines.length === all.length
      ? []
      : [
          cause(
            'NodesLeftOut',
            `${few(all.filter((one) => !machines.includes(one)).map(({ name }) => name))} ${all.length - machines.length === 1 ? 'is' : 'are'} not selected by daemon.nodeSelector: no network from Isthmus there`,
            'nothing, where they have a network of their own; otherwise widen daemon.nodeSelector',
          ),
        ]),
  ];
  const kinds = [...new Set(machines.map(({ os, architecture }) => `${os}/${architecture}`))].toSorted();
  return outcome(`${plural(machines.length, 'node')}, ${kinds.join(', ')}`, { problems: foreign, warnings });
}

export function judgeKernels(question: Question): Outcome {
  const machines = ownMachines(question);
  if (machines === undefined) return notSeen('Nodes');
  const needs = `Isthmus needs ${kernelFloor.join('.')}, the first kernel that keeps comments of nftables tables, by which the daemon recognizes its rules`;
  const isOld = ({ kernel }: Machine): boolean => {
    const version = versionOf(kernel);
    return version !== undefined && isBelow(version, kernelFloor);
  };
  // Red Hat backports later features into kernels that keep their version number.
  const isCarried = ({ kernel }: Machine): boolean => /\.el\d/.test(kernel);
  const problems = grouped(
    machines,
    (machine) => (isOld(machine) && !isCarried(machine) ? machine.kernel : undefined),
    (kernel, nodes) =>
      cause('KernelTooOld', `${nodes}: kernel ${kernel}; ${needs}`, `boot a newer kernel, or ${leaveOut}`),
  );
  const carried = grouped(
    machines,
    (machine) => (isOld(machine) && isCarried(machine) ? machine.kernel : undefined),
    (kernel, nodes) =>
      cause(
        'KernelNotTested',
        `${nodes}: kernel ${kernel}; ${needs}, and this one may have it from its distribution`,
        'try one node first',
      ),
  );
  const unknown = grouped(
    machines,
    ({ kernel }) => (versionOf(kernel) === undefined ? kernel : undefined),
    (kernel, nodes) => cause('KernelUnknown', `${nodes}: kernel "${kernel}" is not a version; ${needs}`, 'look there'),
  );
  const kernels = [...new Set(machines.map(({ kernel }) => kernel))].toSorted();
  return outcome(few(kernels), { problems, warnings: [...carried, ...unknown] });
}

export function judgeRuntimes(question: Question): Outcome {
  const machines = ownMachines(question);
  if (machines === undefined) return notSeen('Nodes');
  const problems = grouped(
    machines,
    ({ runtime }) => {
      if (runtime.startsWith('docker://')) return runtime;
      const version = containerdVersion(runtime);
      return version !== undefined && isBelow(version, containerdFloor) ? runtime : undefined;
    },
    (runtime, nodes) =>
      runtime.startsWith('docker://')
        ? cause(
            'RuntimeNotServed',
            `${nodes}: ${runtime}; Kubernetes has had no support of its own for Docker since 1.24, and Isthmus is not served on the shim (cri-dockerd) that stands in for it`,
            'run containerd, which Docker has beside it already',
          )
        : cause(
            'RuntimeTooOld',
            `${nodes}: ${runtime}; containerd ${containerdFloor.join('.')} is needed`,
            'upgrade it',
          ),
  );
  const others = grouped(
    machines,
    ({ runtime }) =>
      runtime.startsWith('docker://') || containerdVersion(runtime) !== undefined ? undefined : runtime,
    (runtime, nodes) =>
      cause('RuntimeNotTested', `${nodes}: ${runtime}; Isthmus is tested with containerd`, 'try one node first'),
  );
  const runtimes = [...new Set(machines.map(({ runtime }) => runtime))].toSorted();
  return outcome(few(runtimes), { problems, warnings: others });
}

function containerdVersion(runtime: string): Version | undefined {
  return runtime.startsWith('containerd://') ? versionOf(runtime.slice('containerd://'.length)) : undefined;
}
