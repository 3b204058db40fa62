import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Registry } from 'prom-client';
import type { AclFlow } from '../model/acl-flow.ts';
import type { IsolatingPolicy } from '../model/isolating-policy.ts';
import {
  ageField,
  datapathField,
  description,
  inPortField,
  outPortField,
  outputTo,
  packetsField,
  serveFlows,
} from '../testing-flow-stats.ts';
import { PolicyCounters } from './policy-counters.ts';
import { openPolicyMetrics } from './policy-metrics.ts';

const policy = (name: string, changes: Partial<IsolatingPolicy> = {}): [string, IsolatingPolicy] => {
  const directions = ['ingress', 'egress'] as const;
  return [`shop/${name}`, { name, namespace: 'shop', pods: {}, providers: undefined, directions, ...changes }];
};

const policies = new Map([
  policy('web'),
  policy('in', { directions: ['ingress'] }),
  ['bank/all', { ...policy('all')[1], namespace: 'bank' }],
]);
const rule: AclFlow = {
  kind: 'ClusterNetworkPolicy',
  namespace: '',
  name: 'gate',
  direction: 'egress',
  rules: [2],
  verdict: 'drop',
  pipeline: 'ingress',
  stage: 38,
};
const acls = new Map<number, AclFlow>([
  [1, rule],
  [2, { direction: 'ingress', rules: undefined, pipeline: 'egress', stage: 4 }],
  [3, { direction: 'egress', rules: undefined, pipeline: 'ingress', stage: 38 }],
]);

describe('counters of policies', () => {
  const dir = mkdtempSync(join(tmpdir(), 'counters-'));
  after(() => rmSync(dir, { recursive: true, force: true }));
  const socket = join(dir, 'br-int.mgmt');
  let known: ReadonlyMap<number, AclFlow> | undefined;
  const warnings: unknown[] = [];
  let listings = 0;
  const counters = new PolicyCounters({
    bridgeSocket: socket,
    logicalFlows: {
      get acls() {
        return known;
      },
    },
    policies: {
      get: (key) => policies.get(key),
      entries() {
        listings += 1;
        return policies.entries();
      },
    },
    podAt: (port) =>
      port === 7 ? { pod: { namespace: 'shop', name: 'web-0', labels: {} }, provider: 'ovn' } : undefined,
    log: { warn: (fields: unknown) => warnings.push(fields) } as never,
    timing: { periodMs: 60_000, freshMs: 0 },
  });
  after(() => counters.close());
  const registry = new Registry();
  openPolicyMetrics(registry, counters);
  const series = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => /^[a-z]/.test(line));
  const up = (value: number): string => `isthmus_daemon_policy_counters_up ${value}`;

  it('are not up before the database and the bridge answer, and say so once', async () => {
    assert.deepEqual(await series(), [up(0)]);
    known = acls;
    for (let times = 0; times < 2; times += 1) assert.deepEqual(await series(), [up(0)]);
    assert.equal(warnings.length, 2);
  });

  it('are series of rules, and of the policies that isolate the port of a flow', async () => {
    const stats = (packets: number): string => ageField(1) + packetsField(packets);
    const flows = new Map([
      // The second is of another table, and has the same cookie by chance.
      [1, [description(1, datapathField(3), stats(4)), description(1, datapathField(3), stats(500), '', 40)]],
      [
        2,
        [
          description(2, outPortField(5) + datapathField(3), stats(10)),
          // Another port, and the same number in another datapath.
          description(2, outPortField(6) + datapathField(3), stats(100)),
          description(2, outPortField(5) + datapathField(4), stats(100)),
        ],
      ],
      [3, [description(3, inPortField(5) + datapathField(3), stats(20))]],
    ]);
    const ports = [description(9, outPortField(5) + datapathField(3), stats(0), outputTo(7))];
    const server = await serveFlows(socket, () => flows, ports);
    const drops = (name: string, direction: string, packets: number): string =>
      `isthmus_daemon_policy_isolation_drops_total{namespace="shop",policy="${name}",direction="${direction}"} ${packets}`;
    const expected = [
      'isthmus_daemon_policy_packets_total{kind="ClusterNetworkPolicy",namespace="",policy="gate",direction="egress",rule="2",verdict="drop"} 4',
      drops('in', 'ingress', 10),
      drops('web', 'ingress', 10),
      drops('web', 'egress', 20),
    ];
    assert.deepEqual(await series(), [...expected, up(1)]);
    assert.equal(listings, 1, 'policies are listed once for all flows that drop');
    assert.deepEqual(await series(), [...expected, up(1)], 'nothing is counted twice');
    server.close();
    rmSync(socket, { force: true });
    assert.deepEqual(await series(), [...expected, up(0)], 'the counts stay');
  });
});
