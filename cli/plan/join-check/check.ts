/** Whether a cluster can join, and what would not work then. In: what is known of it, of the token and of a member. Out: the result of each check. Pure. */
import type { JoinQuestion } from '../../model/join-question.ts';
import type { Outcome } from '../check/outcome.ts';
import { judgeGateways, judgeMtu, judgeTunnels } from './gateways.ts';
import { judgeClocks, judgeHub, judgeName, judgeReleases, judgeToken } from './hub.ts';
import { judgeClusterSet, judgeLimits, judgeNetworks, judgeServices } from './networks.ts';

type Judge = (question: JoinQuestion) => Outcome | undefined;

const checks: readonly (readonly [string, Judge])[] = [
  ['token', judgeToken],
  ['name', judgeName],
  ['hub', judgeHub],
  ['clocks', judgeClocks],
  ['releases', judgeReleases],
  ['networks of pods', judgeNetworks],
  ['allowed prefixes', judgeLimits],
  ['networks of Services', judgeServices],
  ['clusterSetCIDR', judgeClusterSet],
  ['gateways', judgeGateways],
  ['tunnels', judgeTunnels],
  ['MTU', judgeMtu],
];

export interface JoinCheck extends Outcome {
  readonly name: string;
}

export interface JoinReport {
  readonly cluster: string;
  /** No problem was found; what is unknown does not count. */
  readonly isWell: boolean;
  readonly checks: readonly JoinCheck[];
}

export function checkJoin(question: JoinQuestion): JoinReport {
  const found = checks.flatMap(([name, judge]) => {
    const result = judge(question);
    return result === undefined ? [] : [{ name, ...result }];
  });
  return {
    cluster: question.near.snapshot.label,
    isWell: found.every(({ problems }) => problems.length === 0),
    checks: found,
  };
}
