/**
 * What a node would serve in place of kube-proxy. The daemon publishes it in an annotation of its Node, and `isthmus nodes services` prints
 * it. Pure.
 */
import { fieldsOf, numberOf, recordsOf, textOf } from '../kube/fields.ts';

export interface DryRunProblem {
  readonly code: string;
  readonly message: string;
  /** `namespace/name` of the Service that it concerns; absent for a problem of the node. */
  readonly service?: string;
}

export interface ServicesDryRun {
  readonly services: number;
  /** Virtual addresses and NodePorts, each with one port and protocol. */
  readonly frontends: number;
  /** Addresses with ports, each once. */
  readonly endpoints: number;
  /** The rules of kube-proxy that were found; empty if there are none. */
  readonly kubeProxy: string;
  /** Obstacles of the node first, then Services that would be served otherwise than by kube-proxy. */
  readonly problems: readonly DryRunProblem[];
  /** Number of problems that the list leaves out. */
  readonly more: number;
}

/** Length of the list: an object in etcd has a limit, and other programs write annotations of the Node, too. */
const mostProblems = 50;
/** nft quotes the line that it refuses, which may have all elements of a map. */
const longestMessage = 1000;

/** The annotation. */
export function renderDryRun(report: Omit<ServicesDryRun, 'more'>): string {
  const problems = report.problems
    .slice(0, mostProblems)
    .map((problem) => ({ ...problem, message: problem.message.slice(0, longestMessage) }));
  return JSON.stringify({ ...report, problems, more: report.problems.length - problems.length });
}

/** Undefined if the text is no report. */
export function parseDryRun(text: string): ServicesDryRun | undefined {
  let value;
  try {
    value = fieldsOf(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!Array.isArray(value['problems'])) return undefined;
  return {
    services: numberOf(value['services']),
    frontends: numberOf(value['frontends']),
    endpoints: numberOf(value['endpoints']),
    kubeProxy: textOf(value['kubeProxy']),
    problems: recordsOf(value['problems']).map(({ code, message, service }) => ({
      code: textOf(code),
      message: textOf(message),
      ...(textOf(service) === '' ? {} : { service: textOf(service) }),
    })),
    more: numberOf(value['more']),
  };
}
