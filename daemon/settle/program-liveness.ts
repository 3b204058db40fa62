/** Answers of a program's control socket, one after the other → whether the program is alive. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Answer, DownProgram, Program } from '../model/program.ts';

export interface Liveness {
  /** Unknown until the first answer, or until there was none for long enough. */
  readonly state: 'unknown' | 'up' | 'down';
  /** Questions in a row without an answer. */
  readonly failures: number;
}

const failuresUntilDown = 3;
/** A program that was never there may still be starting: half a minute. */
const failuresUntilGivenUp = 15;
/**
 * ovn-controller answers nothing while it computes all flows anew, in large clusters for several seconds, on all nodes at
 * once; what it has installed goes on meanwhile. ovs-vswitchd answers between any two changes.
 */
const silencesUntilDown: Readonly<Record<Program, number>> = { 'ovs-vswitchd': 3, 'ovn-controller': 10 };

const reasons = { 'ovs-vswitchd': 'SwitchDown', 'ovn-controller': 'OvnControllerDown' } as const;
const effects = {
  'ovs-vswitchd': 'pods of this node have no working network',
  'ovn-controller': 'pods of this node get no network, and changes elsewhere do not arrive here',
} as const;

/** What an earlier run has told of the program stands until somebody answers. `reason` is that of the Node's condition. */
export function startLiveness(program: Program, reason: string | undefined): Liveness {
  return { state: reason === reasons[program] ? 'down' : 'unknown', failures: 0 };
}

export function nextLiveness(program: Program, before: Liveness, answer: Answer): Liveness {
  if (answer === 'answered') return { state: 'up', failures: 0 };
  // A down without failures is what an earlier run has told; of a program that is not seen any more nothing is known.
  if (answer === 'unreachable' && before.state === 'down' && before.failures === 0)
    return { state: 'unknown', failures: 0 };
  const failures = before.failures + 1;
  return { state: failures >= limitOf(program, before, answer) ? 'down' : before.state, failures };
}

function limitOf(program: Program, { state }: Liveness, answer: Exclude<Answer, 'answered'>): number {
  if (answer === 'silent') return silencesUntilDown[program];
  if (answer === 'refused' || state === 'up') return failuresUntilDown;
  return answer === 'missing' ? failuresUntilGivenUp : Infinity;
}

/** What the Node says of a program that is down; the same words as long as it is down. */
export function downProblem({ program, folder }: DownProgram): Problem {
  return {
    code: reasons[program],
    message: `${program} does not answer on its control socket in ${folder}: it has ended or is stuck, and ${effects[program]}; read its log and start it again`,
  };
}
