/** Joins the reports of all nodes: the same problem of many nodes is one. In: a reading. Out: values for rendering. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { NodeServicesReading } from '../../model/node-services.ts';

export interface NodeServices {
  readonly mode: NodeServicesReading['mode'];
  /** Whether every node has reported, and could serve. */
  readonly isWell: boolean;
  readonly nodes: readonly {
    readonly node: string;
    readonly services?: number;
    readonly frontends?: number;
    readonly endpoints?: number;
    /** Empty if no rules of kube-proxy were found. */
    readonly kubeProxy?: string;
    readonly state: 'ready' | 'obstacles' | 'no report';
  }[];
  /** What prevents nodes from serving. */
  readonly obstacles: readonly (Problem & { readonly nodes: readonly string[] })[];
  /** Services that would be served otherwise than by kube-proxy. */
  readonly differences: readonly (Problem & { readonly service: string })[];
  /** Number of problems that reports leave out. */
  readonly more: number;
}

export function joinReports({ mode, nodes }: NodeServicesReading): NodeServices {
  const obstacles = new Map<string, Problem & { readonly nodes: string[] }>();
  const differences = new Map<string, Problem & { readonly service: string }>();
  const rows = nodes.map(({ name, report }) => {
    if (report === undefined) return { node: name, state: 'no report' } as const;
    const { services, frontends, endpoints, kubeProxy, problems } = report;
    for (const { code, message, service } of problems) {
      const id = `${code} ${service ?? ''} ${message}`;
      if (service !== undefined) differences.set(id, { code, message, service });
      else if (obstacles.get(id)?.nodes.push(name) === undefined) obstacles.set(id, { code, message, nodes: [name] });
    }
    const state = problems.some(({ service }) => service === undefined) ? 'obstacles' : 'ready';
    return { node: name, services, frontends, endpoints, kubeProxy, state } as const;
  });
  return {
    mode,
    isWell: mode === 'dry-run' && rows.length > 0 && rows.every(({ state }) => state === 'ready'),
    nodes: rows,
    obstacles: [...obstacles.values()],
    differences: [...differences.values()].sort((a, b) => (a.service < b.service ? -1 : 1)),
    more: Math.max(0, ...nodes.map(({ report }) => report?.more ?? 0)),
  };
}
