/** Plans the report of a node that does not serve Services yet: what it would serve, and what would differ from kube-proxy. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { annotation } from '../../../lib/api/names.ts';
import { endpointsElsewhere } from '../../../lib/services/elsewhere.ts';
import type { DryRunProblem, ServicesDryRun } from '../../../lib/services/dry-run.ts';
import {
  isExternal,
  mostExternalPairs,
  servedExternalIps,
  serviceKey,
  type Service,
} from '../../../lib/services/service.ts';
import type { ServedService } from '../../model/service.ts';

export interface DryRunInput {
  readonly node: string;
  readonly services: Iterable<Service>;
  /** By key of the Service. */
  readonly plans: ReadonlyMap<string, ServedService>;
  readonly hasExternalIps: boolean;
  /** Host by which the daemon reaches the API server. */
  readonly apiServer: string;
  /** The rules of kube-proxy that were found; undefined if there are none. */
  readonly kubeProxy: string | undefined;
  /** Why the node could not serve, or only some clients. */
  readonly nodeProblems: readonly Problem[];
  /** Addresses and ports that another Service has. */
  readonly taken: readonly DryRunProblem[];
}

export function planDryRun(input: DryRunInput): Omit<ServicesDryRun, 'more'> {
  const { services, plans, hasExternalIps, nodeProblems, taken } = input;
  const served = [...plans.values()].filter(({ frontends }) => frontends.length > 0);
  const frontends = served.flatMap((plan) => plan.frontends);
  const endpoints = new Set(frontends.flatMap(({ all, local = [] }) => [...all, ...local]));
  const all = [...services].filter(({ isServed }) => isServed);
  return {
    services: served.length,
    frontends: frontends.length,
    endpoints: endpoints.size,
    kubeProxy: input.kubeProxy ?? '',
    problems: [
      ...nodeProblems,
      ...apiServerProblems(input, all),
      ...[...all.flatMap((service) => differencesOf(service, hasExternalIps)), ...taken].sort(byService),
    ],
  };
}

/** A daemon that reaches the API server by a Service could not start on a node that does not serve yet. */
function apiServerProblems({ node, apiServer }: DryRunInput, services: readonly Service[]): readonly Problem[] {
  const service = services.find(({ clusterIps }) => clusterIps.includes(apiServer));
  if (service === undefined) return [];
  const message = `the daemon of node ${node} reaches the API server by ${apiServer}, the ClusterIP of Service ${serviceKey(service)}, for which it needs kube-proxy; set apiServer.host of the chart to the address in the kubeconfig of the kubelets`;
  return [{ code: 'ApiServerHostMissing', message }];
}

function differencesOf(service: Service, hasExternalIps: boolean): readonly DryRunProblem[] {
  const found = (code: string, message: string): DryRunProblem => ({ code, message, service: serviceKey(service) });
  const { externalIps } = service;
  const problems: DryRunProblem[] = [];
  if (externalIps.length > 0 && !hasExternalIps)
    problems.push(
      found(
        'ExternalIPsDenied',
        'its spec.externalIPs would not be served, and kube-proxy serves them; remove them, or set services.externalIPs=Allow',
      ),
    );
  else if (servedExternalIps(service).length < externalIps.length)
    problems.push(
      found(
        'TooManyExternalIPs',
        `its spec.externalIPs and ports make more than ${mostExternalPairs} pairs, and would not be served; spread them over several Services`,
      ),
    );
  const elsewhere = endpointsElsewhere(service);
  if (elsewhere === 'all')
    problems.push(
      found(
        'EndpointsInOtherVpcs',
        `it is in another VPC, and clients on nodes${isExternal(service) ? ' and outside' : ''} would be refused; kube-proxy sends them to whichever pod of ovn-cluster has the address`,
      ),
    );
  else if (elsewhere.size > 0)
    problems.push(
      found(
        'EndpointsInOtherVpcs',
        `${elsewhere.size} of its endpoints are in other VPCs (annotation ${annotation.elsewhere}) and would be left out; kube-proxy sends clients to whichever pod of ovn-cluster has the address`,
      ),
    );
  return problems;
}

function byService(a: DryRunProblem, b: DryRunProblem): number {
  const [one, other] = [a.service ?? '', b.service ?? ''];
  return one === other ? 0 : one < other ? -1 : 1;
}
