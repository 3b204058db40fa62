/** The contents of the images, without a container engine: the bundles start, and the scripts work as the chart expects. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ovnEnvironment, ovnProgram, schemaFile } from 'ovsdb-client/testing';
import { toolsFolder } from '../../lib/kube/testing.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const root = join(import.meta.dirname, '../..');
let dir: string;

before(() => {
  dir = mkdtempSync(join(tmpdir(), 'isthmus-images-'));
});
after(() => rmSync(dir, { recursive: true, force: true }));

/** Runs a program during `use`, then ends it. */
async function during(
  program: string,
  args: readonly string[],
  use: () => Promise<void>,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<void> {
  const environment = ovnEnvironment();
  const child = spawn(program, args, {
    stdio: 'ignore',
    env: { ...environment, PATH: `${toolsFolder()}:${environment['PATH'] ?? ''}`, OVS_RUNDIR: dir },
  });
  const gone = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  try {
    await use();
  } finally {
    child.kill(signal);
    await gone;
  }
}

async function untilSucceeds(program: string, args: readonly string[]): Promise<string> {
  const answer = await eventually(`${program} ${args.join(' ')}`, () => {
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: ovnEnvironment() });
    return status === 0 ? { stdout } : notYet(stderr);
  });
  return answer.stdout;
}

describe('bundles', () => {
  test('programs start from their bundles outside the checkout', () => {
    const out = join(dir, 'opt/isthmus');
    execFileSync(process.execPath, [join(root, 'images/bundle.ts'), out], { stdio: 'pipe' });
    const install = execFileSync(process.execPath, [join(out, 'install-cni.mjs'), '--help'], { encoding: 'utf8' });
    assert.match(install, /--bin-dir/);
    for (const [program, ...args] of [
      ['central'],
      ['controller'],
      ['daemon'],
      ['interconnect'],
      ['speaker'],
      ['hub', 'serve'],
    ]) {
      const command = [join(out, `${program}.mjs`), ...args, '--help'];
      const help = execFileSync(process.execPath, command, { cwd: dir, encoding: 'utf8', stdio: 'pipe' });
      assert.match(help, /--metrics-address/, program);
    }
    assert.ok(statSync(join(out, 'proto/gobgp/v4/gobgp.proto')).isFile());
    assert.ok(statSync(join(out, 'proto/hub/v1/hub.proto')).isFile());
  });
});

describe('install-cni', () => {
  const program = join(root, 'daemon/install-cni.ts');
  const list = {
    cniVersion: '1.0.0',
    cniVersions: ['1.0.0', '1.1.0'],
    name: 'isthmus',
    plugins: [{ type: 'isthmus' }, { type: 'portmap', capabilities: { portMappings: true } }],
  };

  /** A plugin that supports these versions and does not read its input, like many plugins for VERSION. */
  function plugin(file: string, ...versions: readonly string[]): string {
    writeFileSync(
      file,
      `#!/bin/sh\nexec 0<&-\necho '${JSON.stringify({ cniVersion: '1.0.0', supportedVersions: versions })}'\n`,
    );
    chmodSync(file, 0o755);
    return readFileSync(file, 'utf8');
  }

  function install(...extra: readonly string[]): { list: object; log: string } {
    const out = join(dir, 'node/01-isthmus.conflist');
    const flags = ['--bin-dir', join(dir, 'bin'), '--plugins-dir', join(dir, 'plugins')];
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      [program, ...flags, '--conflist', join(dir, '01-isthmus.conflist'), '--out', out, ...extra],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    return { list: JSON.parse(readFileSync(out, 'utf8')) as object, log: stderr + stdout };
  }

  test('installs its plugins, keeps existing ones, and offers the versions that all plugins support', () => {
    for (const folder of ['plugins', 'bin']) mkdirSync(join(dir, folder));
    writeFileSync(join(dir, '01-isthmus.conflist'), JSON.stringify(list));
    const [plugins, bin] = [join(dir, 'plugins'), join(dir, 'bin')];
    const ours = plugin(join(plugins, 'isthmus'), '1.0.0', '1.1.0');
    const newer = plugin(join(plugins, 'portmap'), '1.0.0', '1.1.0');
    const loopback = plugin(join(plugins, 'loopback'), '1.0.0');
    plugin(join(plugins, 'bandwidth'), '1.0.0', '1.1.0');
    writeFileSync(join(bin, 'isthmus'), 'old');
    const theirs = plugin(join(bin, 'portmap'), '0.4.0', '1.0.0');

    const first = install();
    assert.equal(readFileSync(join(bin, 'isthmus'), 'utf8'), ours);
    assert.equal(statSync(join(bin, 'isthmus')).mode & 0o777, 0o755);
    assert.equal(readFileSync(join(bin, 'portmap'), 'utf8'), theirs);
    assert.equal(readFileSync(join(bin, 'loopback'), 'utf8'), loopback, 'which runtimes call for every pod');
    const { cniVersions: _, ...narrow } = list;
    assert.deepEqual(first.list, narrow);
    assert.match(first.log, /CNI 1\.1\.0 is not offered to the runtime of this node; portmap/);

    rmSync(join(bin, 'portmap'));
    assert.deepEqual(install().list, list);
    assert.equal(readFileSync(join(bin, 'portmap'), 'utf8'), newer);
    const present = ['.isthmus-plugins', 'isthmus', 'loopback', 'portmap'];
    assert.deepEqual(readdirSync(bin).sort(), present, 'no unused plugin');
    const brought = readFileSync(join(bin, '.isthmus-plugins'), 'utf8').trim().split('\n').sort();
    assert.deepEqual(brought, ['isthmus', 'loopback', 'portmap'], 'and what goes with Isthmus');
  });

  test('reports a plugin that the node lacks', () => {
    const plugins = [...list.plugins, { type: 'tuning' }];
    writeFileSync(join(dir, '01-isthmus.conflist'), JSON.stringify({ ...list, plugins }));
    const { list: made, log } = install();
    assert.match(log, /plugin tuning: it is not in the node's folder/);
    assert.ok(!('cniVersions' in made));
  });

  test('refuses a file that is not a configuration list', () => {
    writeFileSync(join(dir, '01-isthmus.conflist'), '{"plugins": 3}');
    assert.throws(() => install(), /01-isthmus\.conflist is no CNI configuration list/);
  });
});

describe('run-ovn and run-switch', () => {
  const script = join(root, 'images/ovn/run-ovn');
  const ofSwitch = join(root, 'images/ovn/run-switch');
  const schema = schemaFile('vswitch');

  test('create a database, and serve the same database after a restart', async () => {
    const [file, socket] = [join(dir, 'conf.db'), join(dir, 'db.sock')];
    const args = ['database', schema, file, `--remote=punix:${socket}`, `--unixctl=${join(dir, 'ctl')}`];
    const vsctl = ['--no-wait', `--db=unix:${socket}`];
    await during(script, args, async () => {
      await untilSucceeds('ovs-vsctl', [...vsctl, 'init']);
      await untilSucceeds('ovs-vsctl', [...vsctl, 'set', 'Open_vSwitch', '.', 'external_ids:a=kept']);
    });
    await during(script, args, async () => {
      assert.match(await untilSucceeds('ovs-vsctl', [...vsctl, 'get', 'Open_vSwitch', '.', 'external_ids:a']), /kept/);
    });
  });

  test('convert a database with an older schema and keep a copy of it', async () => {
    const older = join(dir, 'older.ovsschema');
    const definition = JSON.parse(readFileSync(schema, 'utf8')) as { version: string; tables: Record<string, unknown> };
    const { AutoAttach: _, ...tables } = definition.tables;
    const bridge = tables['Bridge'] as { columns: Record<string, unknown> };
    delete bridge.columns['auto_attach'];
    writeFileSync(older, JSON.stringify({ ...definition, version: '1.0.0', tables, cksum: undefined }));
    const file = join(dir, 'older.db');
    execFileSync(ovnProgram('ovsdb-tool'), ['create', file, older]);
    const socket = join(dir, 'older.sock');
    const args = ['database', schema, file, `--remote=punix:${socket}`, `--unixctl=${join(dir, 'older.ctl')}`];
    await during(script, args, async () => {
      const version = await untilSucceeds('ovsdb-client', ['get-schema-version', `unix:${socket}`, 'Open_vSwitch']);
      assert.equal(version.trim(), definition.version);
    });
    assert.ok(statSync(`${file}.before-1.0.0`).isFile());
  });

  test('set the chart’s datapath type for bridges that ovn-controller creates before the daemon runs', async () => {
    const socket = join(dir, 'switch.sock');
    const ctl = (name: string): string => `--unixctl=${join(dir, `${name}.ctl`)}`;
    const database = ['database', schema, join(dir, 'switch.db'), `--remote=punix:${socket}`, ctl('switch-db')];
    const vswitchd = ['vswitchd', `unix:${socket}`, 'netdev', ctl('vswitchd'), '-vconsole:off', '-vsyslog:off'];
    const vsctl = ['--no-wait', '--timeout=10', `--db=unix:${socket}`];
    const get = [...vsctl, 'get', 'Open_vSwitch', '.'];
    await during(script, database, () =>
      during(ofSwitch, vswitchd, async () => {
        const type = await untilSucceeds('ovs-vsctl', [...get, 'external_ids:ovn-bridge-datapath-type']);
        assert.equal(type.trim(), 'netdev');
        // Only ovs-vswitchd itself writes this column.
        await untilSucceeds('ovs-vsctl', [...vsctl, 'wait-until', 'Open_vSwitch', '.', 'datapath_types!=[]']);
        assert.match(await untilSucceeds('ovs-vsctl', [...get, 'datapath_types']), /netdev/);
      }),
    );
  });

  test('keep their files at the end, or delete them if the daemon has left the node', async () => {
    const rundir = join(dir, 'leave');
    mkdirSync(rundir);
    const [socket, file] = [join(rundir, 'db.sock'), join(rundir, 'conf.db')];
    const database = ['database', schema, file, `--remote=punix:${socket}`, `--unixctl=${join(rundir, 'db.ctl')}`];
    const switchFiles = [
      `--unixctl=${join(rundir, 'ovs-vswitchd.ctl')}`,
      `--pidfile=${join(rundir, 'ovs-vswitchd.pid')}`,
    ];
    const vswitchd = ['vswitchd', `unix:${socket}`, 'netdev', ...switchFiles, '-vconsole:off', '-vsyslog:off'];
    const leave = (...what: readonly string[]): number | null =>
      spawnSync(ofSwitch, ['leave', ...what], { env: ovnEnvironment() }).status;
    await during(script, database, () =>
      during(ofSwitch, vswitchd, async () => {
        await untilSucceeds('ovs-appctl', [`--target=${join(rundir, 'ovs-vswitchd.ctl')}`, 'version']);
        assert.equal(leave('vswitchd', rundir), 0);
        assert.equal(leave('database', rundir, file), 0);
        assert.ok(statSync(file).isFile());
        assert.ok(statSync(join(rundir, 'ovs-vswitchd.pid')).isFile());
        writeFileSync(join(rundir, 'isthmus-left'), '');
        assert.equal(leave('vswitchd', rundir), 0);
        assert.equal(leave('database', rundir, file), 0);
        assert.deepEqual(
          readdirSync(rundir).filter((name) => /conf\.db$|left|pid/.test(name)),
          [],
        );
      }),
    );
  });

  test('refuse unknown arguments', () => {
    for (const [program, known] of [
      [script, 'database, member, northd, ready or relay'],
      [ofSwitch, 'vswitchd, controller, ready, save or leave'],
    ] as const) {
      const { status, stderr } = spawnSync(program, ['ovsdb'], { encoding: 'utf8' });
      assert.equal(status, 2);
      assert.match(stderr, new RegExp(`"ovsdb" is not ${known}`));
    }
  });
});

test('run-gobgpd replaces an old socket, and its group may connect', async () => {
  const socket = join(dir, 'gobgpd.sock');
  const script = join(root, 'images/isthmus/run-gobgpd');
  const log = join(dir, 'gobgpd.log');
  const gobgp = join(toolsFolder(), 'gobgp');
  for (let start = 0; start < 2; start++)
    await during(
      script,
      [socket, log],
      async () => {
        await untilSucceeds(gobgp, ['--target', `unix://${socket}`, 'global']);
        assert.equal(statSync(socket).mode & 0o770, 0o770);
        assert.equal(statSync(log).mode & 0o777, 0o660);
      },
      'SIGTERM',
    );
  assert.ok(statSync(log).size > 0, 'the speaker can read what gobgpd says');
});
