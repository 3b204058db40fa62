/**
 * Whether ovs-vswitchd and ovn-controller are alive, by the history of their answers on the control sockets: one answer proves life,
 * only several failures in a row prove that a program is down.
 */
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
 * ovn-controller does not answer while it recomputes all flows. In large clusters that takes several seconds, on all nodes at the
 * same time, and the flows that it has installed work meanwhile. ovs-vswitchd answers between any two changes.
 */
const silencesUntilDown: Readonly<Record<Program, number>> = { 'ovs-vswitchd': 3, 'ovn-controller': 10 };

const reasons = { 'ovs-vswitchd': 'SwitchDown', 'ovn-controller': 'OvnControllerDown' } as const;
const effects = {
  'ovs-vswitchd': 'pods of this node have no working network',
  'ovn-controller': 'new pods of this node get no network, and changes elsewhere do not reach this node',
} as const;

/** The status of an earlier run counts until there is an answer. `reason` is the reason of the Node's condition. */
export function startLiveness(program: Program, reason: string | undefined): Liveness {
  return { state: reason === reasons[program] ? 'down' : 'unknown', failures: 0 };
}

export function nextLiveness(program: Program, before: Liveness, answer: Answer): Liveness {
  if (answer === 'answered') return { state: 'up', failures: 0 };
  // Down without failures is the status of an earlier run; nothing is known of a program that can no longer be seen.
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

/** The problem on the Node while a program is down; the text stays the same for as long as it is down. */
export function downProblem({ program, folder }: DownProgram): Problem {
  return {
    code: reasons[program],
    message: `${program} does not answer on its control socket in ${folder}: it has ended or hangs, and ${effects[program]}; read its log and start it again`,
  };
}

export class ProgramLiveness {
  readonly #folders: ReadonlyMap<Program, string>;
  readonly #states: Map<Program, Liveness>;
  readonly #listeners = new Set<() => void>();

  /** @param folders of the control sockets @param reason of the Node's condition NetworkUnavailable at the start */
  constructor(folders: ReadonlyMap<Program, string>, reason: string | undefined) {
    this.#folders = folders;
    this.#states = new Map([...folders.keys()].map((program) => [program, startLiveness(program, reason)]));
  }

  /** Programs whose state is known. */
  get known(): readonly (readonly [program: Program, isUp: boolean])[] {
    return [...this.#states].flatMap(([program, { state }]) =>
      state === 'unknown' ? [] : [[program, state === 'up'] as const],
    );
  }

  get down(): readonly DownProgram[] {
    return [...this.#folders].flatMap(([program, folder]) =>
      this.#states.get(program)?.state === 'down' ? [{ program, folder }] : [],
    );
  }

  isDown(program: Program): boolean {
    return this.#states.get(program)?.state === 'down';
  }

  /** Called when a program goes down or comes back. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  note(program: Program, answer: Answer): void {
    const before = this.#states.get(program);
    if (before === undefined) return;
    const next = nextLiveness(program, before, answer);
    this.#states.set(program, next);
    if (next.state !== before.state) for (const listener of this.#listeners) listener();
  }
}
