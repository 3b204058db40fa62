/**
 * isthmus-install-cni runs before the daemon on each node. It installs the CNI plugins into the node's folder, and limits the configuration
 * list to what the plugins there support. The daemon gives the list to the runtime once the node is ready.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseFlags, text, UsageError } from '../lib/run/flags.ts';
import type { Logger } from '../lib/run/logger.ts';
import { runRoom } from '../lib/run/room.ts';
import { parseConflist } from './cni/conflist-shape.ts';
import { writeAtomically } from './cni/conflist.ts';
import { installPlugins } from './cni/plugin-folder.ts';
import { planConflist, type Conflist, type Support } from './plan/conflist.ts';

const flagSpec = {
  'bin-dir': text("the node's folder of CNI plugins, as it is mounted here"),
  'plugins-dir': text('folder of the plugins to install', '/opt/isthmus/cni'),
  conflist: text('the CNI configuration list of the chart'),
  out: text('file to write the list of this node to'),
};

/** containerd calls this plugin for every pod, whatever the network, and Debian’s package does not contain it. */
const alwaysCalled = 'loopback';
const answerTimeoutMs = 10_000;

function askVersions(folder: string, type: string): Support {
  const program = join(folder, type);
  if (type.includes('/') || !existsSync(program))
    return { problem: `it is not in the node's folder of CNI plugins; pods do not start without it` };
  const { error, status, stdout } = spawnSync(program, [], {
    env: { CNI_COMMAND: 'VERSION' },
    input: '{"cniVersion":"1.0.0"}',
    encoding: 'utf8',
    timeout: answerTimeoutMs,
  });
  // A plugin that answers without reading stdin breaks the pipe, but its answer counts.
  const versions = parseVersions(stdout);
  if (versions !== undefined) return versions;
  if (error !== undefined) return { problem: `its supported versions could not be read here: ${error.message}` };
  return { problem: `it does not report its versions; it ended with status ${String(status)}` };
}

function parseVersions(stdout: string | null): readonly string[] | undefined {
  try {
    const answer = JSON.parse(stdout ?? '') as { readonly supportedVersions?: unknown } | null;
    const versions = answer?.supportedVersions;
    return Array.isArray(versions) ? versions.map(String) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** @throws UsageError if the file is not a configuration list */
function readConflist(file: string): Conflist {
  const list = parseConflist(readFileSync(file, 'utf8'));
  if (list === undefined)
    throw new UsageError(
      `--conflist: ${file} is no CNI configuration list; look at daemon.cni.plugins of the chart's values`,
      2,
    );
  return list;
}

function main(log: Logger): void {
  const { binDir, pluginsDir, conflist, out } = parseFlags(flagSpec, process.argv.slice(2), process.env);
  const list = readConflist(conflist);
  const types = [...new Set(list.plugins.map(({ type }) => type))];
  const installed = installPlugins(pluginsDir, binDir, new Set([...types, alwaysCalled]));
  const support = new Map(types.map((type) => [type, askVersions(binDir, type)]));
  const planned = planConflist(list, support);
  for (const warning of planned.warnings) log.warn({}, warning);
  mkdirSync(dirname(out), { recursive: true });
  writeAtomically(out, `${JSON.stringify(planned.list, null, 2)}\n`);
  log.info({ installed, versions: planned.list.cniVersions ?? [planned.list.cniVersion] }, 'CNI plugins are in place');
}

runRoom('install-cni', async (_, log) => main(log));
