/** The report of a Service: a condition, and an event for each problem. A Service that never had one is not written. */
import { annotation, servedCondition } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Service } from '../../../lib/services/service.ts';
import type { View } from '../../model/view.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, WantedCondition } from '../report.ts';

/** A message names at most this many problems. */
const namedProblems = 8;

function lostProblems(view: View, key: string): readonly Problem[] {
  const verdict = view.serviceVerdicts.get(key);
  return Object.entries(verdict?.lost ?? {}).map(([vip, holder]) => ({
    code: 'AddressInUse',
    message: `${vip} is a virtual address of Service ${holder} in Vpc ${verdict?.vpc ?? ''}, which had it before: give one of the two another address or port`,
  }));
}

function vpcProblems(view: View, key: string): readonly Problem[] {
  const verdict = view.serviceVerdicts.get(key);
  if (verdict === undefined) return [];
  const { vpc, hasVpc, endpointVpcs } = verdict;
  if (!hasVpc) {
    const message = `Vpc ${vpc}, which the Service is in, does not exist: create it, or correct annotation ${annotation.vpc}`;
    return [{ code: 'VpcNotFound', message }];
  }
  if (endpointVpcs.every((one) => one === vpc)) return [];
  const message = `endpoints are in Vpc ${[...endpointVpcs].sort().join(', ')}, and the Service is in Vpc ${vpc}, whose pods do not reach those elsewhere: they are left out; select pods of one Vpc, or name another in annotation ${annotation.vpc}`;
  return [{ code: 'EndpointsInOtherVpcs', message }];
}

function externalProblems({ capabilities }: View, { externalIps, isServed }: Service): readonly Problem[] {
  if (externalIps.length === 0 || !isServed || capabilities.externalIps === true) return [];
  const message = `spec.externalIPs ${externalIps.join(', ')}: the cluster denies external addresses, which could be those of others: remove them, or allow them with services.externalIPs=Allow`;
  return [{ code: 'ExternalIPsDenied', message }];
}

/** Why pods do not reach some addresses or endpoints of a Service. All others are served. */
export function serviceProblems(view: View, key: string): readonly Problem[] {
  const service = view.services.get(key);
  if (service === undefined || !view.capabilities.loadBalancers) return [];
  return [...vpcProblems(view, key), ...lostProblems(view, key), ...externalProblems(view, service)];
}

function conditionOf(problems: readonly Problem[]): WantedCondition {
  const [first] = problems;
  if (first === undefined) return { type: servedCondition, status: 'True', reason: 'Served', message: '' };
  const sentences = problems.slice(0, namedProblems).map(({ message }) => message);
  const rest = problems.length > namedProblems ? [`and ${problems.length - namedProblems} more problems`] : [];
  return { type: servedCondition, status: 'False', reason: first.code, message: [...sentences, ...rest].join('; ') };
}

export function reportService(view: View, key: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'services', name: key } as const;
  const service = view.services.get(key);
  if (service === undefined) return [{ object }];
  const refusal = refusalOf(outcome);
  const problems = [...(refusal === undefined ? [] : [refusal]), ...serviceProblems(view, key)];
  const observed = service.conditions.find(({ type }) => type === servedCondition);
  if (problems.length === 0 && observed === undefined) return [{ object }];
  const condition = conditionOf(problems);
  const isKnown = observed?.status === 'False' && observed.message === condition.message;
  const events = problems.map(({ code, message }) => ({ type: 'Warning', reason: code, message, isKnown }) as const);
  // Other programs write conditions of Services too: they are merged by type.
  return [{ object, events, status: { conditions: [condition], storage: 'metadata' } }];
}
