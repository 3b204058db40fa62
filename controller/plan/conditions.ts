import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { egressConflict } from '../../lib/desired/egress-tables.ts';
import { familyWithoutExit } from './gateway/status.ts';
import { formerGatewaySentence } from '../settle/subnet/former-gateways.ts';
import type { WantedCondition, WantedEvent } from './report.ts';
import { subnetProblems } from './subnet/problems.ts';
import { familyWithoutAddresses } from '../settle/subnet/subnet-net.ts';
import { idleUnderlayFields } from '../settle/underlay/read-underlay.ts';
import type { View } from '../model/view.ts';

/** A message names at most this many pods. */
const namedPods = 5;
/** A message names at most this many problems. */
const namedProblems = 8;

function deletionMessage(view: View, name: string): string {
  const ports = [...(view.pool(name)?.allocations().keys() ?? [])];
  const rest = ports.length > namedPods ? ` and ${ports.length - namedPods} more` : '';
  return `waits for the release of the addresses of ${ports.slice(0, namedPods).join(', ')}${rest}`;
}

/** Problems that keep a Subnet from being ready although its spec is valid. */
const passing = new Set([
  'GatewayNotReady',
  'GatewayNodeNotFound',
  'VipInUse',
  'NoAvailableAddress',
  'SubnetNotReady',
  'PortKeyTooLong',
]);

/** Joins problems into one: all messages, and the code of the first. A lost claim takes precedence: a restart recognizes it by the reason. */
function together(problems: readonly Problem[]): Problem | undefined {
  const [first] = problems;
  if (first === undefined) return undefined;
  const named = problems.slice(0, namedProblems).map(({ message }) => message);
  const rest = problems.length > namedProblems ? [`and ${problems.length - namedProblems} more problems`] : [];
  const { code } = problems.find((one) => one.code === egressConflict) ?? first;
  return { code, message: [...named, ...rest].join('; ') };
}

/** Reason and message of the Ready condition of a Subnet without problems. */
function readyNotice(view: View, name: string): Problem {
  const isPrivate = view.subnets.get(name)?.spec.isPrivate === true;
  const verdict = view.verdicts.get(name);
  const pool = view.pool(name);
  // Most Subnets have free addresses: their exclusions need not be examined.
  const isShort = ([4, 6] as const).some((family) => pool?.pool(family)?.availableCount === 0n);
  const empty = verdict?.net === undefined || !isShort ? undefined : familyWithoutAddresses(verdict.net);
  if (empty !== undefined) {
    const message = `spec.excludeIps and spec.vips leave no IPv${empty} address for automatic allocation: shorten them`;
    return { code: 'NoAddressToGive', message };
  }
  const spec = view.subnets.get(name)?.spec;
  const idle = spec && idleUnderlayFields(spec);
  return {
    code: isPrivate ? 'SetPrivateLogicalSwitchSuccess' : 'ResetLogicalSwitchAclSuccess',
    message: [formerGatewaySentence(view, name), familyWithoutExit(view, name), idle].filter(Boolean).join('; '),
  };
}

/** Conditions of a Subnet. `refused` is the database error for its rows. */
export function planSubnetConditions(
  view: View,
  name: string,
  refused: Problem | undefined,
): readonly WantedCondition[] {
  const subnet = view.subnets.get(name);
  const verdict = view.verdicts.get(name);
  if (subnet === undefined || verdict === undefined) return [];
  const observedGeneration = subnet.generation;
  const problems = [...(verdict.problem === undefined ? [] : [verdict.problem]), ...subnetProblems(view, name)];
  const flaw = together(problems.filter(({ code }) => !passing.has(code)));
  const failure = together([...problems, ...(refused === undefined ? [] : [refused])]);
  const deletion = subnet.isDeleting ? { code: 'Deleting', message: deletionMessage(view, name) } : undefined;
  const obstacle = verdict.problem === undefined && deletion !== undefined ? deletion : (failure ?? deletion);
  const notice = readyNotice(view, name);
  const of = (type: string, isTrue: boolean, problem: Problem): WantedCondition => ({
    type,
    status: isTrue ? 'True' : 'False',
    reason: problem.code,
    message: problem.message,
    observedGeneration,
  });
  const conditions = [
    of('Validated', flaw === undefined, flaw ?? { code: 'ValidateLogicalSwitchSuccess', message: '' }),
    of('Ready', obstacle === undefined, obstacle ?? notice),
  ];
  // Only a Subnet that had an error reports that it is resolved.
  const hadError = subnet.conditions.some(({ type }) => type === 'Error');
  if (failure !== undefined) conditions.push(of('Error', true, failure));
  else if (hadError) conditions.push(of('Error', false, { code: 'Resolved', message: '' }));
  return conditions;
}

/** The conditions Validated and Ready of an object, from the problem of its spec and the database error for its rows; otherwise `ready` and a notice. */
export function obstacleConditions(
  observedGeneration: number | undefined,
  problem: Problem | undefined,
  refused: Problem | undefined,
  ready: string,
  notice = '',
): readonly WantedCondition[] {
  const of = (type: string, obstacle: Problem | undefined, otherwise: Problem): WantedCondition => ({
    type,
    status: obstacle === undefined ? 'True' : 'False',
    reason: (obstacle ?? otherwise).code,
    message: (obstacle ?? otherwise).message,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
  });
  return [
    of('Validated', problem, { code: 'Validated', message: '' }),
    of('Ready', problem ?? refused, { code: ready, message: notice }),
  ];
}

interface Flaws {
  /** Nothing of the object is served. */
  readonly refusal: Problem | undefined;
  /** Fields that are not served, unlike all others. */
  readonly unserved: Problem | undefined;
  readonly obstacle: Problem | undefined;
}

/** Like `obstacleConditions`, for an object that works without the fields that are not served. */
export function flawConditions(
  observedGeneration: number | undefined,
  { refusal, unserved, obstacle }: Flaws,
  ready: string,
): readonly WantedCondition[] {
  const [validated] = obstacleConditions(observedGeneration, refusal ?? unserved, undefined, ready);
  const [, isReady] = obstacleConditions(observedGeneration, refusal, obstacle, ready);
  return [validated, isReady].filter((one) => one !== undefined);
}

/** An event about the first condition that became false, or whose message changed since. */
export function warnings(known: readonly Condition[], wanted: readonly WantedCondition[]): readonly WantedEvent[] {
  const is = wanted.find(({ status }) => status === 'False');
  const was = known.find(({ type }) => type === is?.type);
  if (is === undefined || (was?.status === 'False' && was.message === is.message)) return [];
  return [{ type: 'Warning', reason: is.reason ?? 'NotReady', message: is.message ?? '' }];
}
