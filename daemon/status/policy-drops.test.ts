import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { ipBytes } from '../../lib/netlink/message.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { AclFlow } from '../model/acl-flow.ts';
import type { IsolatingPolicy } from '../model/isolating-policy.ts';
import type { PacketIn } from '../model/packet-in.ts';
import { portKey } from '../ovs/flow-reader.ts';
import { openDropMetrics } from './drop-metrics.ts';
import { PolicyDrops } from './policy-drops.ts';

const common = { kind: 'ClusterNetworkPolicy', namespace: '', name: 'gate', direction: 'egress', rules: [2] } as const;
const acls = new Map<number, AclFlow>([
  [1, { ...common, verdict: 'drop', pipeline: 'ingress', stage: 18 }],
  [2, { direction: 'ingress', rules: undefined, pipeline: 'egress', stage: 4 }],
  [3, { ...common, verdict: 'allow', pipeline: 'ingress', stage: 18 }],
]);
const directions = ['ingress', 'egress'] as const;
const policy = (namespace: string, name: string): [string, IsolatingPolicy] => [
  `${namespace}/${name}`,
  { name, namespace, pods: {}, providers: undefined, directions },
];

function frame(source: string, destination: string, port = 8080): Buffer {
  const head = Buffer.from('080045000000000000004006ffff', 'hex');
  const ports = Buffer.from([0x9c, 0x40, port >> 8, port & 255]);
  return Buffer.concat([Buffer.alloc(12), head, ipBytes(source), ipBytes(destination), ports]);
}

const ingress: PacketIn = {
  cookie: 2,
  table: 46,
  datapath: 1,
  inPort: 5,
  outPort: 2,
  frame: frame('10.16.0.7', '10.16.0.9'),
};
const egress: PacketIn = { cookie: 1, table: 26, datapath: 1, inPort: 2, frame: frame('10.16.0.9', '192.0.2.1') };

function bed() {
  const state = { isBroken: false, readings: 0, known: acls as ReadonlyMap<number, AclFlow> | undefined };
  const events: string[] = [];
  const warnings: unknown[] = [];
  const policies = new Map([policy('shop', 'b'), policy('shop', 'a'), policy('bank', 'all')]);
  const drops = new PolicyDrops({
    logicalFlows: {
      get acls() {
        return state.known;
      },
    },
    policies: { entries: () => policies.entries() },
    readPorts() {
      state.readings += 1;
      if (state.isBroken) return Promise.reject(new Error('no bridge'));
      return Promise.resolve(
        new Map([
          [portKey(1, 2), 12],
          [portKey(1, 3), 13],
          [portKey(1, 4), 14],
        ]),
      );
    },
    podAt(port) {
      const at = new Map([
        [12, ['shop', 'web']],
        [13, ['quiet', 'other']],
      ]).get(port);
      const [namespace = '', name = ''] = at ?? [];
      return at && { pod: { namespace, name, uid: name, labels: {} }, provider: 'ovn' };
    },
    peerOf: (_, address) => (address === '10.16.0.7' ? { namespace: 'shop', name: 'cli' } : undefined),
    isWanted: (namespace) => namespace === 'shop',
    report: ({ namespace, name }, { message }) => events.push(`${namespace}/${name} ${message}`),
    log: { warn: (fields: unknown) => warnings.push(fields) } as never,
    delayMs: 5,
  });
  const counted = () => Object.fromEntries(drops.counts);
  return { drops, state, events, warnings, counted };
}

describe('drops of policies', () => {
  it('become events on the pods, for both directions', async () => {
    const { drops, events, counted } = bed();
    drops.take(ingress);
    drops.take(egress);
    await eventually('there are two', () => events.length === 2);
    assert.match(
      events[0] ?? '',
      /^shop\/web ingress: TCP to port 8080 from 10\.16\.0\.7 \(pod shop\/cli\) was dropped, isolated by NetworkPolicies shop\/a, shop\/b,/,
    );
    assert.match(
      events[1] ?? '',
      /^shop\/web egress: TCP to port 8080 to 192\.0\.2\.1 was dropped, denied by ClusterNetworkPolicy gate, spec\.egress\[2\];/,
    );
    assert.deepEqual(counted(), { 'ingress event': 1, 'egress event': 1 });
  });

  it('are none of other flows, tables and verdicts, and none before the database answers', async () => {
    const { drops, state, counted } = bed();
    for (const other of [{ cookie: 9 }, { cookie: 3 }, { table: 27 }]) drops.take({ ...egress, ...other });
    drops.take({ ...ingress, table: 8 });
    assert.deepEqual([counted(), state.readings], [{}, 0]);
    const early = bed();
    early.state.known = undefined;
    early.drops.take(ingress);
    assert.deepEqual([early.counted(), early.state.readings], [{}, 0]);
  });

  it('are counted where they are no events', async () => {
    const { drops, events, counted } = bed();
    drops.take({ ...ingress, outPort: 3 });
    drops.take({ ...ingress, outPort: 4 });
    drops.take({ ...ingress, outPort: 99 });
    drops.take({ ...ingress, frame: frame('10.16.0.7', '224.0.0.251') });
    drops.take({ ...ingress, frame: Buffer.alloc(60) });
    await eventually('all are judged', () => counted()['ingress unknown'] === 3);
    assert.deepEqual(counted(), { 'ingress multicast': 1, 'ingress unknown': 3, 'ingress unlabelled': 1 });
    assert.deepEqual(events, []);
  });

  it('cost no more than a few events and one reading in a flood', async () => {
    const { drops, state, events, counted } = bed();
    for (let port = 0; port < 10_000; port += 1) {
      drops.take({ ...ingress, frame: frame('10.16.0.7', '10.16.0.9', port) });
      drops.take(ingress);
    }
    const sum = () => Object.values(counted()).reduce((all, one) => all + one, 0);
    await eventually('all are judged', () => sum() === 20_000);
    assert.deepEqual([events.length, state.readings], [2, 1]);
  });

  it('wait for a bridge that answers', async () => {
    const { drops, state, events, warnings, counted } = bed();
    state.isBroken = true;
    for (const time of [1, 2]) {
      drops.take(ingress);
      await eventually(`sample ${time} is judged`, () => counted()['ingress unknown'] === time);
    }
    assert.deepEqual(warnings, [{ reason: 'no bridge' }]);
    state.isBroken = false;
    drops.take(ingress);
    await eventually('there is an event', () => events.length === 1);
    drops.close();
  });

  it('are shown as metrics', async () => {
    const { drops, events } = bed();
    drops.take(ingress);
    await eventually('there is an event', () => events.length === 1);
    const registry = new Registry();
    openDropMetrics(registry, { drops, isUp: () => true });
    const text = await registry.metrics();
    assert.match(text, /^isthmus_daemon_policy_drops_sampled_total\{direction="ingress",result="event"\} 1$/m);
    assert.match(text, /^isthmus_daemon_policy_drops_up 1$/m);
  });
});
