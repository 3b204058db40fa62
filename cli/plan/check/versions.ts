/** Checks the Kubernetes versions of the API server and the kubelets, and the skew between them. Pure. */
import { cause, type Cause } from '../diagnose/step.ts';
import { few, notSeen, outcome, type Outcome, type Question } from './outcome.ts';
import { ownMachines } from './selected.ts';

/** From this minor version on, tokens name their node, kubelet has the preStop action sleep, and ValidatingAdmissionPolicy is v1. */
const floor = 30;
const newestTested = 34;
/** The version skew that Kubernetes supports between the API server and a kubelet. */
const mostBehind = 3;

/** Minor version of `v1.34.4`, `v1.30.1-eks-1234`; undefined if the text is not a version 1. */
export function minorOf(version: string): number | undefined {
  const minor = /^v?1\.(\d+)/.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

export function judgeServer({ facts: { version } }: Question): Outcome {
  const minor = minorOf(version);
  if (minor === undefined) {
    const message = `the API server reports version "${version}", which is not a version of Kubernetes 1`;
    const fix = `make sure that it behaves as Kubernetes 1.${floor} or newer`;
    return outcome(version, { warnings: [cause('VersionUnknown', message, fix)] });
  }
  if (minor < floor) {
    const message = `the API server is ${version}; Isthmus needs 1.${floor}: before, its ValidatingAdmissionPolicies and tokens that name their node are not served as they are used`;
    return outcome(version, {
      problems: [cause('VersionTooOld', message, `upgrade the cluster to 1.${floor} or newer`)],
    });
  }
  if (minor > newestTested) {
    const message = `the API server is ${version}; this release was tested with 1.${floor} to 1.${newestTested}`;
    const fix = 'use a newer release of Isthmus, or try it on a test cluster first';
    return outcome(version, { warnings: [cause('VersionNotTested', message, fix)] });
  }
  return outcome(version);
}

export function judgeKubelets(question: Question): Outcome {
  const machines = ownMachines(question);
  if (machines === undefined) return notSeen('Nodes');
  const server = minorOf(question.facts.version);
  const old: string[] = [];
  const odd: Cause[] = [];
  for (const { name, kubelet } of machines) {
    const minor = minorOf(kubelet);
    if (minor === undefined) {
      const message = `the kubelet of ${name} reports version "${kubelet}", which is not a version of Kubernetes 1`;
      odd.push(cause('KubeletUnknown', message, `make sure that it behaves as 1.${floor} or newer`));
    } else if (minor < floor) old.push(`${name} (${kubelet})`);
    else if (server !== undefined && minor > server) {
      const message = `the kubelet of ${name} is ${kubelet}, newer than the API server (${question.facts.version}), which Kubernetes does not support`;
      odd.push(cause('KubeletNewer', message, 'upgrade the control plane first'));
    } else if (server !== undefined && server - minor > mostBehind) {
      const message = `the kubelet of ${name} is ${kubelet}, more than ${mostBehind} minor versions behind the API server (${question.facts.version}), which Kubernetes does not support`;
      odd.push(cause('KubeletBehind', message, `upgrade kubelet on ${name}`));
    }
  }
  const message = `kubelets are older than 1.${floor}: ${few(old)}; they do not know the preStop action sleep, with which speakers end their sessions in order, or have it disabled`;
  const fix = `upgrade kubelet there to 1.${floor} or newer, or leave these nodes out (daemon.nodeSelector)`;
  const problems = old.length === 0 ? [] : [cause('KubeletTooOld', message, fix)];
  const versions = [...new Set(machines.map(({ kubelet }) => kubelet))].toSorted();
  return outcome(few(versions), { problems, warnings: odd });
}
