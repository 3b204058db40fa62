/**
 * Which OVN and Open vSwitch tests and the lab run: this machine's own, or those of another release that
 * `make ovn-<version>` unpacked into the cache. ISTHMUS_OVN chooses for a whole process: unset or empty is the
 * machine's own. Nothing else in tests may name a program's folder or a schema's path.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export type SchemaName = 'ovn-nb' | 'ovn-sb' | 'ovn-ic-nb' | 'ovn-ic-sb' | 'vswitch';

export interface Installation {
  /** Absolute folder of the programs; undefined: they are on PATH. */
  readonly programs: string | undefined;
  /** Absolute folder that holds `ovn/` and `openvswitch/` with their `.ovsschema` files. */
  readonly share: string;
}

const machine: Installation = { programs: undefined, share: '/usr/share' };

/** The installation of an OVN version such as `25.03`. @throws Error saying what to build if it is not there. */
export function installation(version: string = process.env['ISTHMUS_OVN'] ?? ''): Installation {
  if (version === '') return machine;
  if (!/^\d\d\.\d\d$/.test(version)) throw new Error(`OVN ${version}: a version is year and month, such as 25.03`);
  const folder = treeOf(version);
  if (existsSync(folder)) {
    // A new version may be built behind the link while programs of the present version still run.
    const real = realpathSync(folder);
    return { programs: join(real, 'bin'), share: join(real, 'share') };
  }
  const own = machineVersion();
  if (own.startsWith(`${version}.`)) return machine;
  throw new Error(
    `OVN ${version} is not here: this machine has ${own || 'none'}, and there is no ${folder}; \`make ovn-25.03\` makes the one of 25.03`,
  );
}

/** nft(8) of the Debian release with that OVN; undefined if `make ovn-<version>` was not run. */
export function nftOf(version: string): string | undefined {
  const path = join(treeOf(version), 'sbin/nft');
  return existsSync(path) ? path : undefined;
}

/** Whether `make ovn-<version>` was run. */
export function hasTree(version: string): boolean {
  return existsSync(treeOf(version));
}

function treeOf(version: string): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'isthmus/ovn', version);
}

function machineVersion(): string {
  try {
    return versionIn(execFileSync('ovn-nbctl', ['--version'], { encoding: 'utf8' }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** The first version, such as `25.03.0`, in what a program prints for --version; empty if there is none. */
export function versionIn(text: string): string {
  return /\d+\.\d+\.\d+/.exec(text)?.[0] ?? '';
}

/** The path of an `.ovsschema` file. */
export function schemaFile(name: SchemaName, from: Installation = installation()): string {
  return join(from.share, name === 'vswitch' ? 'openvswitch' : 'ovn', `${name}.ovsschema`);
}

/** The path of a program, or its name where PATH is to find it. */
export function ovnProgram(name: string, from: Installation = installation()): string {
  return from.programs === undefined ? name : join(from.programs, name);
}

/** The environment of this process, with PATH leading to the programs: for children that start others by name. */
export function ovnEnvironment(from: Installation = installation()): NodeJS.ProcessEnv {
  return from.programs === undefined
    ? process.env
    : { ...process.env, PATH: `${from.programs}:${process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin'}` };
}
