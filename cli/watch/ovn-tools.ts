/**
 * Runs OVN's own programs about the southbound database: in the pod of the database, by the user's right to exec there, or on this machine for a database that a
 * flag names. In: a program and its arguments, which no shell reads. Out: what it printed. Rule: why it could not be run is a value.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Problem } from '../../lib/desired/problem.ts';
import { KubeApiError, isKubeError } from '../../lib/kube/errors.ts';
import type { CommandResult, Exec } from '../../lib/kube/exec.ts';
import { fieldsOf, recordsOf, textOf } from '../../lib/kube/fields.ts';
import { pods } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';

export type OvnProgram = 'ovn-sbctl' | 'ovn-trace';

/** The output of a program, or why there is none. */
export type ToolAnswer = { readonly text: string } | { readonly problem: Problem };

export interface OvnTools {
  /** In words, for the user. */
  readonly where: string;
  run(program: OvnProgram, argv: readonly string[]): Promise<ToolAnswer>;
}

/** Of the chart: the pods of the databases, and the container of the southbound one. */
const [label, container, socket] = [
  'app.kubernetes.io/name=isthmus-ovn-central',
  'sb',
  'unix:/run/ovn/sb.sock',
] as const;
/** For the programs that wait for a database, in seconds. */
const patience = 5;

function argvOf(program: OvnProgram, remote: string, argv: readonly string[]): readonly string[] {
  const waits = program === 'ovn-sbctl' ? [`--timeout=${patience}`] : [];
  return [`--db=${remote}`, '--no-leader-only', ...waits, ...argv];
}

function answerOf(program: OvnProgram, { stdout, stderr, exitCode }: CommandResult): ToolAnswer {
  if (exitCode === 0) return { text: stdout };
  const said = stderr.trim().split('\n').at(-1) ?? '';
  return { problem: { code: 'OvnNotAsked', message: `${program} ended with exit code ${exitCode}: ${said}` } };
}

/** The user would rather have the answer without OVN than none. @throws the signal's reason if it is no timeout */
function timeoutOf({ reason }: AbortSignal): Problem {
  if (!(reason instanceof DOMException) || reason.name !== 'TimeoutError') throw reason;
  return { code: 'OvnNotAsked', message: 'OVN did not answer in time (--timeout)' };
}

const execute = promisify(execFile);

/** What a program printed, if it ended with another exit code than 0. */
interface Failed {
  readonly code?: unknown;
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Programs of this machine, where `env` leads to. `remotes` as in `--db`. */
export function localTools(remotes: readonly string[], env: Environment, signal: AbortSignal): OvnTools {
  const remote = remotes.join(',');
  return {
    where: remote,
    async run(program, argv) {
      try {
        const words = argvOf(program, remote, argv);
        const { stdout, stderr } = await execute(program, words, { env, signal, maxBuffer: 2 ** 24 });
        return answerOf(program, { stdout, stderr, exitCode: 0 });
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        if (signal.aborted) return { problem: timeoutOf(signal) };
        const { code, stdout = '', stderr = '' } = error as Error & Failed;
        if (typeof code === 'number') return answerOf(program, { stdout, stderr, exitCode: code });
        const message = `${program} could not be run here (${error.message}): leave out --sb to run it in the cluster`;
        return { problem: { code: 'OvnNotAsked', message } };
      }
    },
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

export interface PodToolsOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly exec: Exec;
  /** Of Isthmus. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Programs in the container of a southbound database that answers. */
export async function podTools(options: PodToolsOptions): Promise<OvnTools | Problem> {
  const { client, namespace, signal } = options;
  try {
    const all = await client.list(pods, { namespace, labelSelector: label, signal });
    let last: Problem | undefined;
    for (const pod of all
      .filter(isServing)
      .map(({ metadata }) => metadata.name)
      .sort()) {
      const tools = toolsIn(options, pod);
      // A pod on a node that is to have no database has none.
      const probed = await tools.run('ovn-sbctl', ['--columns=_uuid', 'list', 'SB_Global']);
      if ('text' in probed) return tools;
      last = probed.problem;
      if (last.code === 'Forbidden') return last;
    }
    if (last !== undefined) return last;
  } catch (error) {
    if (signal.aborted) return timeoutOf(signal);
    if (!isKubeError(error)) throw error;
    return refusal(error, namespace);
  }
  const message = `no pod of DaemonSet isthmus-ovn-central in ${namespace} is ready: name the southbound database with --sb, or the namespace of Isthmus with -n`;
  return { code: 'OvnNotAsked', message };
}

function isServing(raw: RawObject): boolean {
  const statuses = recordsOf(fieldsOf(raw['status'])['containerStatuses']);
  return statuses.some(({ name, ready }) => textOf(name) === container && ready === true);
}

function toolsIn({ exec, namespace, signal }: PodToolsOptions, pod: string): OvnTools {
  return {
    where: `pod ${namespace}/${pod}`,
    async run(program, argv) {
      try {
        const command = [program, ...argvOf(program, socket, argv)];
        return answerOf(program, await exec({ namespace, pod, container, command, signal }));
      } catch (error) {
        if (signal.aborted) return { problem: timeoutOf(signal) };
        if (!isKubeError(error)) throw error;
        return { problem: refusal(error, namespace) };
      }
    },
  };
}

function refusal(error: Error, namespace: string): Problem {
  const isForbidden = error instanceof KubeApiError && (error.status === 403 || error.status === 401);
  if (!isForbidden) return { code: 'OvnNotAsked', message: error.message };
  const message = `no permission to run ovn-trace in the pods of OVN (${error.message}): it needs list of pods, and get and create of pods/exec, in namespace ${namespace}`;
  return { code: 'Forbidden', message };
}
