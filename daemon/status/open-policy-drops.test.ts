import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Registry } from 'prom-client';
import { ipBytes } from '../../lib/netlink/message.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { Sandbox } from '../model/sandbox.ts';
import { messageType } from '../ovs/openflow-codec.ts';
import { Sandboxes } from '../state/sandboxes.ts';
import { datapathField, description, outPortField, outputTo, packetIn, serveFlows } from '../testing-flow-stats.ts';
import { openPolicyDrops } from './open-policy-drops.ts';

const directions = ['ingress'] as const;
const isolating = { name: 'closed', namespace: 'shop', pods: {}, providers: undefined, directions };
/** Subnets by name: two of the default VPC, and one of another VPC with the same addresses. */
const subnets = new Map(
  [
    { name: 'one', isRouted: true },
    { name: 'two', isRouted: true },
    { name: 'elsewhere', isRouted: false },
  ].map((subnet) => [subnet.name, subnet]),
);

const pods = new Map(
  [
    ['web', 'one', '10.16.0.9'],
    ['shadow', 'elsewhere', '10.16.0.7'],
    ['cli', 'two', '10.16.0.7'],
    ['stranger', 'two', '10.16.0.8', 'ops'],
  ].map(([name = '', subnet = '', address = '', namespace = 'shop']) => {
    const interfaces = new Map([['ovn', { network: { subnet } }]]);
    return [name, { namespace, name, uid: name, labels: {}, interfaces, address }];
  }),
);

function frame(source: string): string {
  const head = Buffer.from('080045000000000000004011ffff', 'hex');
  const ends = [ipBytes(source), ipBytes('10.16.0.9'), Buffer.from([0x9c, 0x40, 0, 53])];
  return Buffer.concat([Buffer.alloc(12), head, ...ends]).toString('hex');
}

/** A bridge whose port 12 is that of the pod web, the second one of datapath 1. */
async function bed(t: TestContext, namespaces: ReadonlyMap<string, string> | undefined) {
  const dir = mkdtempSync(join(tmpdir(), 'drops-'));
  const path = join(dir, 'br-int.mgmt');
  const port = description(5, outPortField(2) + datapathField(1), '', outputTo(12));
  const server = await serveFlows(path, () => new Map(), [port]);
  const listeners: Socket[] = [];
  server.on('connection', (socket: Socket) =>
    socket.on('data', (chunk: Buffer) => {
      if (chunk.includes(Buffer.from([6, messageType.setAsync]))) listeners.push(socket);
    }),
  );
  const sandboxes = new Sandboxes();
  for (const { name, address } of pods.values())
    sandboxes.add({
      containerId: name,
      ifname: 'eth0',
      provider: 'ovn',
      podNamespace: 'shop',
      podName: name,
      hostInterface: `${name}_h`,
      ips: [address],
    } as unknown as Sandbox);
  const events: string[] = [];
  const registry = new Registry();
  const table = { byIndex: (_: unknown, [ofport]: readonly number[]) => (ofport === 12 ? [{ name: 'web_h' }] : []) };
  const drops = openPolicyDrops({
    local: { ovs: { cache: { table: () => table } } } as never,
    cluster: {
      podOf: ({ podName }: Sandbox) => pods.get(podName),
      subnet: (name: string) => subnets.get(name),
    } as never,
    sandboxes,
    sources: {
      logicalFlows: {
        acls: new Map([[2, { direction: 'ingress', rules: undefined, pipeline: 'egress', stage: 4 }]]),
      },
      policies: { entries: () => new Map([['shop/closed', isolating]]).entries() },
      namespaces,
    },
    objectEvents: { reportPod: ({ namespace, name }, { message }) => events.push(`${namespace}/${name} ${message}`) },
    bridgeSocket: path,
    registry,
    log: { warn: () => undefined } as never,
  });
  t.after(() => {
    drops.close();
    server.close();
    for (const socket of listeners) socket.destroy();
    rmSync(dir, { recursive: true, force: true });
  });
  const listener = await eventually('the bridge is asked for packets', () => listeners[0]);
  const send = (source: string) => listener.write(packetIn(2, datapathField(1) + outPortField(2), frame(source)));
  return { send, events, registry };
}

describe('events about what the bridge says', () => {
  it('are on the pod at the port, and name a pod of the same VPC', async (t) => {
    const { send, events, registry } = await bed(t, undefined);
    send('10.16.0.7');
    send('192.0.2.1');
    await eventually('there are two', () => events.length === 2);
    assert.match(events[0] ?? '', /^shop\/web ingress: UDP to port 53 from 10\.16\.0\.7 \(pod shop\/cli\) was dropped/);
    assert.match(events[1] ?? '', /^shop\/web ingress: UDP to port 53 from 192\.0\.2\.1 was dropped, isolated by/);
    assert.match(await registry.metrics(), /^isthmus_daemon_policy_drops_up 1$/m);
  });

  it('do not name pods of other Namespaces, whose names an author of pods could find by their addresses', async (t) => {
    const { send, events } = await bed(t, undefined);
    send('10.16.0.8');
    await eventually('there is one', () => events.length === 1);
    assert.match(events[0] ?? '', /^shop\/web ingress: UDP to port 53 from 10\.16\.0\.8 was dropped, isolated by/);
  });

  it('are only on pods of Namespaces with the label, if it is asked for', async (t) => {
    const labelled = new Map<string, string>();
    const { send, events, registry } = await bed(t, labelled);
    send('10.16.0.7');
    await eventually('it is counted', async () =>
      (await registry.metrics()).includes('{direction="ingress",result="unlabelled"} 1'),
    );
    labelled.set('shop', 'shop');
    send('10.16.0.7');
    await eventually('there is an event', () => events.length === 1);
  });
});
