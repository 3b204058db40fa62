/**
 * The program without its process: words in, text out, an exit code. Called by main.ts and by tests. Known errors are
 * told in a sentence; whatever is not known is thrown, and ends the process.
 */
import { KubeApiError, KubeConfigError, KubeUnreachable } from '../lib/kube/errors.ts';
import { UsageError } from '../lib/run/flags.ts';
import type { Command, ExitCode, Terminal } from './command/command.ts';
import { CommandFailed } from './command/failure.ts';
import { bench } from './commands/bench.ts';
import { diagnose } from './commands/diagnose.ts';
import { drain, undrain } from './commands/drain.ts';
import { join } from './commands/join.ts';
import { leave } from './commands/leave.ts';
import { routes } from './commands/routes.ts';
import { status } from './commands/status.ts';
import { token } from './commands/token.ts';
import { verify } from './commands/verify.ts';
import release from '../package.json' with { type: 'json' };

const commands: readonly Command[] = [status, routes, diagnose, verify, bench, drain, undrain, token, join, leave];

/** Errors go to `note`. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  try {
    const [group, name, ...rest] = argv;
    if (group === '--version' || group === 'version') throw new UsageError(versionText(), 0);
    if (group === undefined || isHelp(group)) throw new UsageError(help(), group === undefined ? 2 : 0);
    if (group !== 'ic') throw new UsageError(`"${group}" is no command; see isthmus --help`, 2);
    if (name === undefined || isHelp(name)) throw new UsageError(help(), name === undefined ? 2 : 0);
    const found = commands.find((one) => one.name === name);
    if (found === undefined) throw new UsageError(`"ic ${name}" is no command; see isthmus ic --help`, 2);
    return await found.run(rest, terminal);
  } catch (error) {
    return told(error, terminal);
  }
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h' || word === 'help';
}

function told(error: unknown, { out, note, signal }: Terminal): ExitCode {
  const say = (text: string): void => note(`${text.trimEnd()}\n`);
  if (error instanceof UsageError) {
    (error.exitCode === 0 ? out : note)(`${error.message.trimEnd()}\n`);
    return error.exitCode;
  }
  if (error instanceof CommandFailed) {
    say(`${error.code}: ${error.message}`);
    return error.exitCode;
  }
  if (error instanceof KubeUnreachable || error instanceof KubeConfigError) {
    say(`cannot reach the cluster: ${error.message}`);
    return 3;
  }
  if (error instanceof KubeApiError) return toldRefusal(error, say);
  if (error instanceof DOMException && error.name === 'TimeoutError' && !signal.aborted) {
    say('cannot reach the cluster: its API server did not answer in time (--timeout)');
    return 3;
  }
  throw error;
}

function toldRefusal(error: KubeApiError, say: (text: string) => void): ExitCode {
  if (error.status === 404) {
    say(`Isthmus is not installed in this cluster, or is too old for this command: ${error.message}`);
    return 3;
  }
  if (error.status === 401 || error.status === 403) {
    say(`the cluster does not let you: ${error.message}`);
    return 3;
  }
  say(`the API server refused: ${error.message}`);
  return error.status >= 500 ? 3 : 1;
}

function versionText(): string {
  return `isthmus ${release.version} (${process.platform}-${process.arch}, Node ${process.versions.node})`;
}

function help(): string {
  const width = Math.max(...commands.map(({ name, operands }) => [name, ...operands].join(' ').length));
  const lines = commands.map(
    ({ name, operands, summary }) => `  ${[name, ...operands].join(' ').padEnd(width)}   ${summary}`,
  );
  return [
    'isthmus: networks that join Kubernetes clusters. Also installed as kubectl-isthmus: `kubectl isthmus ic status`.',
    '',
    'usage: isthmus ic <command> [flags]; `isthmus ic <command> --help` has flags and examples; `isthmus --version`',
    '',
    ...lines,
    '',
    'exit codes: 0 well or done, 1 something is wrong or was not done in time, 2 wrong usage, 3 a cluster could not be reached',
    '',
  ].join('\n');
}
