import { writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { integer, text } from '../../lib/run/flags.ts';
import { command, durationMs, type Command, type ExitCode, type Terminal } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import type { ReportFile } from '../model/report.ts';
import { redactText } from '../watch/redact.ts';
import { packFiles } from '../render/archive.ts';
import { clusterFlags, withCluster, type ClusterFlags } from '../watch/cluster.ts';
import { readReport } from '../watch/report.ts';
import { peers } from './bgp/peers.ts';
import { status as installed } from './cluster/status.ts';
import { diagnose } from './diagnose.ts';
import { status as joined } from './status.ts';
import release from '../../package.json' with { type: 'json' };

/** Commands whose output is part of a report, with their groups. */
const answers: readonly (readonly [group: string, one: Command])[] = [
  ['', installed],
  ['ic', joined],
  ['ic', diagnose],
  ['bgp', peers],
];

export const report = command(
  {
    name: 'report',
    operands: [],
    summary: 'write one archive for a bug report, without secrets',
    description:
      'Writes a tar.gz with the objects of Isthmus and of Kubernetes’ network, with the events and logs of Isthmus, and with the\noutput of isthmus status, ic status, ic diagnose and bgp peers. Secrets are never read; commands, environments and volumes\nof other pods are left out, and so are private keys, tokens and passwords in texts. Names, labels and addresses remain:\nlook through the archive before you publish it. Reads only. Exit code 1 if something could not be read; the archive is\nwritten all the same, and unread.txt in it says what is missing.',
    examples: [
      'isthmus report',
      'isthmus report --file /tmp/east.tar.gz --log-lines 20000',
      'isthmus report --context west',
    ],
  },
  {
    file: text(
      'file to write; by default isthmus-report-CONTEXT-TIME.tar.gz. A file that exists is not replaced',
      undefined,
    ),
    'log-lines': integer('lines of each log, from its end', 5000),
    ...clusterFlags,
  },
  ({ flags, terminal }) =>
    withCluster(flags, terminal, async ({ client, namespace, label }): Promise<ExitCode> => {
      const { timeout, logLines } = flags;
      const options = { client, namespace, logLines, timeoutMs: durationMs(timeout), signal: terminal.signal };
      const [{ files, unread }, outputs] = await Promise.all([readReport(options), outputsOf(flags, terminal)]);
      const time = new Date(terminal.now()).toISOString();
      const folder = `isthmus-report-${label.replaceAll(/[^\w.-]+/g, '_').slice(0, 40)}-${time.slice(0, 19).replaceAll(/[-:]/g, '')}`;
      const about = `isthmus ${release.version}\ncontext ${label}, namespace ${namespace}\n${time}\n`;
      const all: readonly ReportFile[] = [
        { path: 'about.txt', text: about },
        ...(unread.length === 0 ? [] : [{ path: 'unread.txt', text: `${unread.join('\n')}\n` }]),
        ...outputs,
        ...files,
      ];
      const file = flags.file ?? `${folder}.tar.gz`;
      const archive = packFiles(
        all.map(({ path, text: content }) => ({ path: `${folder}/${path}`, text: content })),
        terminal.now(),
      );
      await write(file, gzipSync(archive));
      for (const one of unread) terminal.note(`not read: ${one}\n`);
      terminal.out(`${file}\n`);
      return unread.length === 0 ? 0 : 1;
    }),
);

async function outputsOf(flags: ClusterFlags, terminal: Terminal): Promise<readonly ReportFile[]> {
  const { kubeconfig, context, namespace, timeout } = flags;
  const common = { kubeconfig, context, namespace, timeout };
  const argv = Object.entries(common).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  return Promise.all(
    answers.map(async ([group, one]) => {
      const name = [group, one.name].filter((word) => word !== '').join('-');
      return { path: `commands/${name}.txt`, text: redactText(await outputOf(one, argv, terminal, group)) };
    }),
  );
}

/** What the command prints; an error is part of it. */
async function outputOf(one: Command, argv: readonly string[], terminal: Terminal, group: string): Promise<string> {
  let output = '';
  const add = (part: string): void => void (output += part);
  try {
    const code = await one.run(argv, { ...terminal, out: add, note: add, isColoured: false }, group);
    return `${output}exit code ${code}\n`;
  } catch (error) {
    terminal.signal.throwIfAborted();
    if (!(error instanceof Error)) throw error;
    return `${output}${error.name}: ${error.message}\n`;
  }
}

/** @throws CommandFailed if the file cannot be written */
async function write(file: string, content: Buffer): Promise<void> {
  try {
    await writeFile(file, content, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === '') throw error;
    const why = code === 'EEXIST' ? 'exists already' : `cannot be written (${code})`;
    throw new CommandFailed({ code: 'ReportNotWritten', message: `${file} ${why}; choose another with --file` });
  }
}
