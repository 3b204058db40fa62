/**
 * The program without its process: arguments in, text out, an exit code. Called by main.ts and by tests. Known errors
 * are printed as a message; unknown errors are thrown and end the process.
 */
import { KubeApiError, KubeConfigError, KubeUnreachable } from '../lib/kube/errors.ts';
import { UsageError } from '../lib/run/flags.ts';
import { commonFlags, type Command, type ExitCode, type Terminal } from './command/command.ts';
import { CommandFailed } from './command/failure.ts';
import { bench } from './commands/bench.ts';
import { peers } from './commands/bgp/peers.ts';
import { routes as announced } from './commands/bgp/routes.ts';
import { why } from './commands/bgp/why.ts';
import { check as suitable } from './commands/cluster/check.ts';
import { status as installed } from './commands/cluster/status.ts';
import { diagnose } from './commands/diagnose.ts';
import { drain, undrain } from './commands/drain.ts';
import { check } from './commands/ic/check.ts';
import { connect } from './commands/ic/connect.ts';
import { exportService, unexport } from './commands/ic/export.ts';
import { remove } from './commands/ic/remove.ts';
import { rotateKeys } from './commands/ic/rotate-keys.ts';
import { services } from './commands/ic/services.ts';
import { join } from './commands/join.ts';
import { leave } from './commands/leave.ts';
import { forget } from './commands/nodes/forget.ts';
import { inspect } from './commands/nodes/inspect.ts';
import { leave as leaveNodes } from './commands/nodes/leave.ts';
import { services as nodeServices } from './commands/nodes/services.ts';
import { report } from './commands/report.ts';
import { routes } from './commands/routes.ts';
import { status } from './commands/status.ts';
import { token } from './commands/token.ts';
import { policyGraph } from './commands/policy/graph.ts';
import { policyWhy } from './commands/policy/why.ts';
import { eip } from './commands/why/eip.ts';
import { serviceImport } from './commands/why/import.ts';
import { service } from './commands/why/service.ts';
import { switchLbRule } from './commands/why/switch-lb-rule.ts';
import { verify } from './commands/verify.ts';
import { printable } from './render/printable.ts';
import release from '../package.json' with { type: 'json' };

interface Group {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Command[];
}

/** Commands without a group name. */
const single: Group = {
  name: '',
  summary: 'one cluster, before and after helm install',
  commands: [suitable, installed, report],
};

const groups: readonly Group[] = [
  {
    name: 'ic',
    summary: 'the network between clusters',
    commands: [
      status,
      routes,
      diagnose,
      verify,
      bench,
      drain,
      undrain,
      rotateKeys,
      token,
      check,
      connect,
      join,
      leave,
      remove,
      services,
      exportService,
      unexport,
    ],
  },
  { name: 'bgp', summary: 'routers that nodes peer with', commands: [peers, announced, why] },
  {
    name: 'why',
    summary: 'why a packet does or does not reach its destination',
    commands: [service, serviceImport, switchLbRule, eip],
  },
  { name: 'policy', summary: 'network policies', commands: [policyWhy, policyGraph] },
  { name: 'nodes', summary: 'the nodes of this cluster', commands: [nodeServices, leaveNodes, forget, inspect] },
];

/** Errors go to `note`. */
export async function run(argv: readonly string[], { out, note, ...rest }: Terminal): Promise<ExitCode> {
  // Names and messages in the output may come from anybody.
  const terminal: Terminal = {
    ...rest,
    out: (text) => out(printable(text, rest.isColoured)),
    note: (text) => note(printable(text, rest.isColoured)),
    ask: (question) => rest.ask(printable(question, false)),
  };
  try {
    const { before, words } = separateCommon(argv);
    const [word, ...behind] = words;
    const [name, ...rest] = behind;
    if (word === '--version' || word === 'version') throw new UsageError(versionText(), 0);
    if (word === undefined || isHelp(word)) throw new UsageError(help([single, ...groups]), word === undefined ? 2 : 0);
    const alone = single.commands.find((one) => one.name === word);
    if (alone !== undefined) return await alone.run([...before, ...behind], terminal, '');
    const group = groups.find((one) => one.name === word);
    if (group === undefined) throw new UsageError(`"${word}" is not a command; see isthmus --help`, 2);
    if (name === undefined || isHelp(name)) throw new UsageError(help([group]), name === undefined ? 2 : 0);
    const found = group.commands.find((one) => one.name === name);
    if (found === undefined) throw new UsageError(`"${word} ${name}" is not a command; see isthmus ${word} --help`, 2);
    return await found.run([...before, ...rest], terminal, word);
  } catch (error) {
    return reportError(error, terminal);
  }
}

/** Separates the common flags that precede the command's name. */
function separateCommon(argv: readonly string[]): {
  readonly before: readonly string[];
  readonly words: readonly string[];
} {
  const isCommon = (argument: string): boolean =>
    argument.startsWith('--') && Object.hasOwn(commonFlags, argument.slice(2).split('=', 1)[0] ?? '');
  const first = argv.findIndex((argument) => !isCommon(argument));
  const end = first < 0 ? argv.length : first;
  return { before: argv.slice(0, end), words: argv.slice(end) };
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h' || word === 'help';
}

/** Prints the error and returns the exit code. @throws an error that is a defect */
function reportError(error: unknown, { out, note, signal }: Terminal): ExitCode {
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
  if (error instanceof KubeApiError) return reportApiError(error, say);
  if (error instanceof DOMException && error.name === 'TimeoutError' && !signal.aborted) {
    say('cannot reach the cluster: its API server did not answer in time (--timeout)');
    return 3;
  }
  throw error;
}

function reportApiError(error: KubeApiError, say: (text: string) => void): ExitCode {
  if (error.status === 404) {
    say(`Isthmus is not installed in this cluster, or is too old for this command: ${error.message}`);
    return 3;
  }
  if (error.status === 401 || error.status === 403) {
    say(`permission denied: ${error.message}`);
    return 3;
  }
  say(`the API server refused: ${error.message}`);
  return error.status >= 500 ? 3 : 1;
}

function versionText(): string {
  return `isthmus ${release.version} (${process.platform}-${process.arch}, Node ${process.versions.node})`;
}

function help(shown: readonly Group[]): string {
  const words = ({ name, operands }: Command) => [name, ...operands].join(' ');
  const width = Math.max(...shown.flatMap(({ commands }) => commands.map((one) => words(one).length)));
  const lines = shown.flatMap(({ name, summary, commands }) => [
    name === '' ? `isthmus: ${summary}` : `isthmus ${name}: ${summary}`,
    ...commands.map((one) => `  ${words(one).padEnd(width)}   ${one.summary}`),
    '',
  ]);
  const names = shown.flatMap(({ name }) => (name === '' ? [] : [name]));
  const group = names.length === 1 ? (names[0] ?? '') : `[${names.join('|')}]`;
  return [
    'isthmus: networks that join Kubernetes clusters. Also installed as kubectl-isthmus: `kubectl isthmus ic status`.',
    '',
    `usage: isthmus ${group} <command> [flags]; \`--help\` after a command lists its flags and examples; \`isthmus --version\``,
    '',
    ...lines,
    'exit codes: 0 success, 1 a problem was found or a timeout passed, 2 wrong usage, 3 a cluster could not be reached',
    '',
  ].join('\n');
}
