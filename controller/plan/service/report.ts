/**
 * The report of a Service: a condition, an event for each problem, and the endpoints that nodes do not reach. A Service without either is not
 * written.
 */
import { annotation, servedCondition } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { elsewhereText } from '../../../lib/services/elsewhere.ts';
import { mostExternalPairs, servedExternalIps, type Service, serviceKey } from '../../../lib/services/service.ts';
import type { View } from '../../model/view.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, WantedCondition } from '../report.ts';

/** A message names at most this many problems, and as many have events: a Service may have thousands of ports. */
const namedProblems = 8;

export function takenVipProblems(view: View, key: string): readonly Problem[] {
  const verdict = view.serviceVerdicts.get(key);
  return Object.entries(verdict?.takenVips ?? {}).map(([vip, holder]) => ({
    code: 'AddressInUse',
    message: `${vip} is a virtual address of ${holder} in Vpc ${verdict?.vpc ?? ''}: give one of the two another address or port`,
  }));
}

/** `what` is the kind of the object: `Service`. */
export function vpcProblems(view: View, key: string, what: string): readonly Problem[] {
  const verdict = view.serviceVerdicts.get(key);
  if (verdict === undefined) return [];
  const { vpc, hasVpc, endpointVpcs } = verdict;
  if (!hasVpc) {
    const message = `Vpc ${vpc}, which the ${what} is in, does not exist: create it, or correct annotation ${annotation.vpc}`;
    return [{ code: 'VpcNotFound', message }];
  }
  if (endpointVpcs.every((one) => one === vpc)) return [];
  const message = `endpoints are in Vpc ${[...endpointVpcs].sort().join(', ')}, and the ${what} is in Vpc ${vpc}, whose pods cannot reach endpoints of other Vpcs: these endpoints are left out; select pods of one Vpc, or name another Vpc in annotation ${annotation.vpc}`;
  return [{ code: 'EndpointsInOtherVpcs', message }];
}

function externalProblems({ capabilities }: View, service: Service): readonly Problem[] {
  const { externalIps, ports } = service;
  if (externalIps.length === 0) return [];
  if (capabilities.externalIps !== true) {
    const named = externalIps.slice(0, namedProblems).join(', ');
    const message = `spec.externalIPs ${named}: the cluster does not allow external IPs, because they could take over addresses of others: remove them, or set the value services.externalIPs=Allow`;
    return [{ code: 'ExternalIPsDenied', message }];
  }
  if (servedExternalIps(service).length > 0) return [];
  const message = `${externalIps.length} spec.externalIPs with ${ports.length} ports are more than ${mostExternalPairs} pairs, so that none of them is served: spread them over several Services`;
  return [{ code: 'TooManyExternalIPs', message }];
}

/** Why pods do not reach some addresses or endpoints of a Service. All others are served. */
export function serviceProblems(view: View, key: string): readonly Problem[] {
  const service = view.services.get(key);
  if (service?.isServed !== true || !view.capabilities.loadBalancers) return [];
  return [...vpcProblems(view, key, 'Service'), ...takenVipProblems(view, key), ...externalProblems(view, service)];
}

function conditionOf(problems: readonly Problem[]): WantedCondition {
  const [first] = problems;
  if (first === undefined) return { type: servedCondition, status: 'True', reason: 'Served', message: '' };
  const sentences = problems.slice(0, namedProblems).map(({ message }) => message);
  const rest = problems.length > namedProblems ? [`and ${problems.length - namedProblems} more problems`] : [];
  return { type: servedCondition, status: 'False', reason: first.code, message: [...sentences, ...rest].join('; ') };
}

/** Undefined where the Service has none and needs none. */
function annotationsOf(view: View, service: Service): ObjectReport['annotations'] {
  // The verdict of a headless Service is that of its SwitchLBRule.
  const verdict = service.isServed ? view.serviceVerdicts.get(serviceKey(service)) : undefined;
  const elsewhere = verdict === undefined ? null : elsewhereText(verdict.vpc, service, verdict.foreignEndpoints);
  const isUnneeded = elsewhere === null && service.annotations[annotation.elsewhere] === undefined;
  return isUnneeded ? undefined : { [annotation.elsewhere]: elsewhere };
}

export function reportService(view: View, key: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'services', name: key } as const;
  const service = view.services.get(key);
  if (service === undefined) return [{ object }];
  const annotations = annotationsOf(view, service);
  const refusal = refusalOf(outcome);
  const problems = [...(refusal === undefined ? [] : [refusal]), ...serviceProblems(view, key)];
  const observed = service.conditions.find(({ type }) => type === servedCondition);
  if (problems.length === 0 && observed === undefined)
    return [{ object, ...(annotations && { annotations, status: { conditions: [], storage: 'metadata' } }) }];
  const condition = conditionOf(problems);
  const isKnown = observed?.status === 'False' && observed.message === condition.message;
  const named = problems.slice(0, namedProblems);
  const events = named.map(({ code, message }) => ({ type: 'Warning', reason: code, message, isKnown }) as const);
  // Other programs write conditions of Services too: they are merged by type.
  const status = { conditions: [condition], storage: 'metadata' } as const;
  return [{ object, ...(annotations && { annotations }), events, status }];
}
