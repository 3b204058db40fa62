/** A restarted switch uses its saved flows until ovn-controller has installed new ones. If saved flows are invalid, it starts without them. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync, type ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PortFlows } from '../../daemon/ovs/port-flows.ts';
import type { PacketMatch } from '../../daemon/model/packet-match.ts';
import { socketAnswers } from '../lab/component.ts';
import { podAddress, SwitchBed } from './switch-bed.ts';
import { sendFlows, startEcho } from './udp-flows.ts';
import { eventually } from '../../lib/testing-eventually.ts';

/** Longer than any restart, so that only restored flows can make a gap shorter. */
const keptMs = 8_000;
const bed = new SwitchBed();
const folder = join(bed.dir, 'a');
const saved = join(folder, 'saved-flows');
/** Matches that ovs-ofctl prints with its own keywords. */
const dropped: readonly PacketMatch[] = [
  { isTagged: true },
  { ethernetDestination: { mac: '01:80:c2:00:00:00', mask: 'ff:ff:ff:ff:ff:f0' } },
  { etherType: 0x0800, ipProtocol: 2, ipv4Destination: { address: '224.0.0.1', mask: '255.255.255.255' } },
  { etherType: 0x0800, ipProtocol: 17, udpDestination: 68, fragment: 'first' },
  { etherType: 0x86dd, ipProtocol: 58, icmp6Type: 134 },
];
const traffic = { address: podAddress.b, port: 7000, flows: 1, intervalMs: 10 };

let echo: ChildProcess | undefined;
before(async () => {
  await bed.start();
  echo = await startEcho(bed.space('pb'), traffic.port);
});
after(async () => {
  echo?.kill('SIGKILL');
  await bed.stop();
});

const settings = (): string => bed.vsctl('a', 'get', 'open', '.', 'other_config');
const reaches = (): Promise<unknown> => eventually('the pods to reach each other', () => bed.reaches());
const hasFlow = (text: string): boolean => bed.flows('a').some((flow) => flow.includes(text));
/** The daemon's flows, found by their cookie; the lines omit the cookie, which differs at each start. */
const guards = (): readonly string[] =>
  bed.flows('a').flatMap((flow) => (flow.includes('cookie=0x69737468') ? [flow.replace(/^.*?, /, '')] : []));

/** Waits until the switch works like after a start without saved flows. */
async function untilNormal(): Promise<void> {
  await eventually('the saved flows to be gone', () => !existsSync(saved));
  assert.doesNotMatch(settings(), /flow-restore-wait/);
  await reaches();
}

/** Recomputes the checksums of the saved files. */
function sign(): void {
  execFileSync('sh', ['-c', 'rm sums; sha256sum -- * >../sums; mv ../sums .'], { cwd: saved });
}

function edit(name: string, change: (text: string) => string): void {
  const file = join(saved, name);
  writeFileSync(file, change(readFileSync(file, 'utf8')));
  sign();
}

async function untilFlow(text: string, isThere = true): Promise<void> {
  await eventually(`${text} ${isThere ? '' : 'not '}to be there`, () => hasFlow(text) === isThere);
}

test('packets pass before ovn-controller has installed its flows, and none are lost when it does', async (t) => {
  const daemon = new PortFlows({ path: join(folder, 'br-int.mgmt'), log: { warn: () => undefined } });
  t.after(() => daemon.close());
  const port = Number(bed.vsctl('a', 'get', 'interface', 'pa_h', 'ofport'));
  daemon.set(new Map([[port, { drops: dropped, copies: [] }]]));
  await eventually('the guards', () => daemon.isInForce(port));
  const wanted = guards();
  assert.equal(wanted.length, dropped.length, wanted.join('\n'));
  bed.nbctl('acl-add', 'net', 'to-lport', '900', 'udp.dst == 7071', 'drop');
  await untilFlow('tp_dst=7071');

  bed.setKept('a', keptMs);
  const overRestart = sendFlows(bed.space('pa'), traffic);
  await bed.endPod('a');
  bed.nbctl(
    'acl-add',
    'net',
    'to-lport',
    '900',
    'udp.dst == 7072',
    'drop',
    '--',
    'acl-del',
    'net',
    'to-lport',
    '900',
    'udp.dst == 7071',
  );
  bed.startPod('a');
  await eventually('the flows to be restored', () => !existsSync(saved));
  await reaches();
  assert.doesNotMatch(settings(), /flow-restore-wait/);
  assert.ok(hasFlow('tp_dst=7071') && !hasFlow('tp_dst=7072'), 'they are those of before');
  const { gapsMs, received } = await overRestart();
  assert.ok(received > 0 && (gapsMs[0] ?? keptMs) < keptMs / 2, `no packet came for ${gapsMs[0]} ms`);
  await eventually('the guards', () => daemon.isInForce(port));
  assert.deepEqual(guards(), wanted);

  const overExchange = sendFlows(bed.space('pa'), traffic);
  await untilFlow('tp_dst=7072');
  assert.ok(!hasFlow('tp_dst=7071'), 'no former flow is left');
  await eventually('the guards', () => guards().length === wanted.length && daemon.isInForce(port));
  assert.deepEqual(guards(), wanted);
  const exchange = await overExchange();
  assert.ok(
    exchange.received > 0 && (exchange.gapsMs[0] ?? 0) < keptMs / 4,
    `no packet came for ${exchange.gapsMs[0]} ms`,
  );
  bed.setKept('a', 0);
});

/** Damages to the saved flows, and the log message of the next start. */
const damages: Readonly<Record<string, readonly [() => void, RegExp]>> = {
  truncated: [() => truncateSync(join(saved, 'br-int.bundle'), 2000), /saved flows are damaged/],
  'without checksums': [() => rmSync(join(saved, 'sums')), /not of the last ten minutes/],
  'an hour old': [
    () => utimesSync(join(saved, 'sums'), Date.now() / 1000 - 3600, Date.now() / 1000 - 3600),
    /not of the last ten minutes/,
  ],
  'with a flow that the bridge rejects': [
    () => edit('br-int.bundle', (text) => `${text}flow add priority=1,actions=group:4711\n`),
    /flows are not restored/,
  ],
  'with a port whose number has changed': [
    () => edit('ports', (text) => text.replace(/^br-int pa_h \d+$/m, 'br-int pa_h 4711')),
    /ports have other numbers than their flows: br-int pa_h/,
  ],
  'with a number that now belongs to another port': [
    () => edit('ports', (text) => text.replace(/^br-int pa_h /m, 'br-int former_h ')),
    /ports have other numbers than their flows: br-int pa_h/,
  ],
};
for (const [how, [damage, logLine]] of Object.entries(damages)) {
  test(`the switch starts without saved flows that are ${how}`, async () => {
    await bed.endPod('a');
    damage();
    const before = bed.log('a', 'vswitchd').length;
    bed.startPod('a');
    await untilNormal();
    assert.match(bed.log('a', 'vswitchd').slice(before), logLine);
  });
}

test('flows are saved completely or, on a full disk, not at all', async () => {
  const place = join(bed.dir, 'small');
  mkdirSync(place);
  let flows = 0;
  await eventually('ovn-controller to have put all its flows in', async () => {
    flows = bed.flows('a').length;
    await sleep(500);
    return bed.flows('a').length === flows;
  });
  // The disk fills up while the flows are written, or while the folder is moved into place.
  for (const sizeKb of [16, 32, 48, 64, 96, 1024]) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKb}k`, 'tmpfs', place]);
    try {
      for (const name of readdirSync(folder).filter((each) => /\.(ctl|mgmt)$/.test(each)))
        symlinkSync(join(folder, name), join(place, name));
      assert.equal(spawnSync(bed.script, ['leave', 'vswitchd', place], { env: bed.environment(folder) }).status, 0);
      const left = readdirSync(place).filter((name) => name.startsWith('saved'));
      if (left.length > 0) {
        assert.deepEqual(left, ['saved-flows']);
        execFileSync('sha256sum', ['--quiet', '-c', 'sums'], { cwd: join(place, 'saved-flows') });
        const bundle = readFileSync(join(place, 'saved-flows/br-int.bundle'), 'utf8');
        assert.equal(bundle.match(/^flow add /gm)?.length, flows, `with ${sizeKb} KB`);
      }
      if (sizeKb === 16) assert.equal(left.length, 0);
      if (sizeKb === 1024) assert.equal(left.length, 1);
    } finally {
      execFileSync('umount', [place]);
    }
  }
});

test('a deleted bridge does not prevent other bridges from restoring their flows', async () => {
  bed.vsctl('a', 'add-br', 'br-gone', '--', 'set', 'bridge', 'br-gone', 'datapath_type=netdev');
  await eventually('the bridge', socketAnswers(join(folder, 'br-gone.mgmt')));
  bed.setKept('a', keptMs);
  await bed.endPod('a');
  bed.startContainer('a', 'database');
  await eventually('its database', socketAnswers(join(folder, 'db.sock')));
  bed.vsctl('a', 'del-br', 'br-gone');
  bed.startContainer('a', 'vswitchd');
  await untilNormal();
  bed.setKept('a', 0);
  bed.startContainer('a', 'controller');
});

test('a switch killed during a restore starts without saved flows, and ovn-controller waits for it', async () => {
  const programs = join(bed.dir, 'programs');
  mkdirSync(programs);
  const asked = join(bed.dir, 'asked');
  writeFileSync(join(programs, 'ovs-ofctl'), `#!/bin/sh\n: >${asked}\nexec sleep 600\n`, { mode: 0o755 });
  await bed.endPod('a');
  bed.startContainer('a', 'database');
  bed.startContainer('a', 'vswitchd', programs);
  await eventually('it to restore', () => existsSync(asked));
  assert.match(settings(), /flow-restore-wait="?true/);
  assert.ok(!bed.isReady('a', 'vswitchd'));
  const before = bed.log('a', 'controller').length;
  bed.startContainer('a', 'controller');
  await bed.kill('a', 'vswitchd', 'SIGKILL');
  assert.match(settings(), /flow-restore-wait="?true/);
  assert.equal(bed.log('a', 'controller').length, before);
  bed.startContainer('a', 'vswitchd');
  await untilNormal();
  assert.match(bed.log('a', 'vswitchd'), /a start before this one did not get to restore/);
  assert.ok(bed.isReady('a', 'vswitchd'));
  await eventually('ovn-controller to be ready', () => bed.isReady('a', 'controller'));
});

test('a switch ends on SIGTERM during a restore', async () => {
  await bed.endPod('a');
  bed.startContainer('a', 'database');
  bed.startContainer('a', 'vswitchd');
  await bed.kill('a', 'vswitchd', 'SIGTERM');
  bed.startContainer('a', 'vswitchd');
  bed.startContainer('a', 'controller');
  await untilNormal();
});

test('a switch starts without delay and without saved flows after a crash', async () => {
  await bed.kill('a', 'vswitchd', 'SIGKILL');
  bed.startContainer('a', 'vswitchd');
  await untilNormal();
});

test('a node that Isthmus has left saves no flows', async () => {
  writeFileSync(join(folder, 'isthmus-left'), '');
  await bed.endPod('a');
  assert.deepEqual(
    ['conf.db', 'saved-flows', 'isthmus-left', 'br-int.mgmt'].filter((name) => existsSync(join(folder, name))),
    [],
  );
});
