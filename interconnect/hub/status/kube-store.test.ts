import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { openKube } from '../../../lib/kube/client.ts';
import { KubeApiError } from '../../../lib/kube/errors.ts';
import { hubMembers, secrets } from '../../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../../lib/kube/testing.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { createLogger } from '../../../lib/run/logger.ts';
import { openKubeStore } from './kube-store.ts';
import type { AllocatedPort } from '../model/record.ts';
import { Registry } from '../apply/registry.ts';
import { StoreUnavailable, usualLimits, type HubStore } from '../model/store.ts';
import { eventually } from '../../../lib/testing-eventually.ts';

const crd = join(import.meta.dirname, '../../../charts/isthmus/crds/isthmus.network_hubmembers.yaml');
const port: AllocatedPort = { switch: 'ts', mac: '0a:58:64:64:00:01', networks: ['100.100.0.1/19'], tunnelKey: 1 };
const nowMs = Date.parse('2026-01-01T00:00:00Z');
const figures = { prefixes: undefined, exports: undefined, rejections: undefined, report: undefined };

describe('the store of the hub in Kubernetes', () => {
  const stop = new AbortController();
  let server: TestApiServer;
  let client: KubeClient;
  let store: HubStore & { close(): Promise<void> };
  let registry: Registry;
  const changes: string[] = [];

  const open = () =>
    openKubeStore({
      client,
      namespace: 'default',
      signal: stop.signal,
      log: createLogger('test', 'fatal'),
      now: () => nowMs,
    });
  const membership = { cluster: 'east', fingerprint: 'f1', token: 't1', joinedMs: nowMs, leaving: false };
  const token = { id: 't1', cluster: 'east', fingerprint: 'f1', expiresMs: nowMs + 1000, spent: false };
  const status = async () => (await client.get(hubMembers, { name: 'east' }))['status'] as Record<string, unknown>;

  before(async () => {
    server = await startApiServer();
    client = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-hub' });
    const definition: unknown = parse(readFileSync(crd, 'utf8'));
    await client.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    await eventually('HubMember served', async () => {
      try {
        await client.list(hubMembers);
        return true;
      } catch (error) {
        if (error instanceof KubeApiError) return false;
        throw error;
      }
    });
    store = await open();
    registry = new Registry(store);
    registry.subscribe((cluster, change) => changes.push(`${cluster} ${change}`));
  });
  after(async () => {
    await store.close();
    stop.abort(new DOMException('the test is over', 'AbortError'));
    await client.close();
    await server.stop();
  });

  it('creates an authority once', async () => {
    const again = await open();
    assert.deepEqual(again.authority, store.authority);
    await again.close();
  });

  it('keeps a membership, its token and its ports, and reads them back', async () => {
    await registry.join(membership, token, { ...usualLimits, allowedPrefixes: ['10.16.0.0/16'], maxPrefixes: 7 });
    registry.report('east', { ports: [port], presence: { state: 'Connected', lastSeenMs: nowMs }, figures });
    await eventually('ports written', async () => (await status())['ports'] !== undefined);
    const { conditions, ...rest } = await status();
    assert.deepEqual(rest, {
      fingerprint: 'f1',
      token: 't1',
      joined: '2026-01-01T00:00:00.000Z',
      leaving: false,
      ports: [port],
    });
    assert.deepEqual(
      (conditions as { type: string; status: string; reason: string }[]).map((one) => [
        one.type,
        one.status,
        one.reason,
      ]),
      [
        ['Connected', 'True', 'Connected'],
        ['SpecAccepted', 'True', 'Accepted'],
      ],
    );
    const second = await open();
    const read = new Registry(second);
    assert.deepEqual(read.member('east'), membership);
    assert.deepEqual(read.spec('east'), { ...usualLimits, allowedPrefixes: ['10.16.0.0/16'], maxPrefixes: 7 });
    assert.deepEqual(read.ports('east'), [port]);
    assert.deepEqual(await read.token('t1'), token);
    await second.close();
  });

  it('writes a rename and its token to the existing object', async () => {
    const renamed = { ...membership, cluster: 'orient', formerName: 'east', token: 't9' };
    await registry.rename('east', renamed, { ...token, id: 't9', cluster: 'orient' });
    const { clusterName, formerName, ports } = await status();
    assert.deepEqual([clusterName, formerName, ports], ['orient', 'east', [port]]);
    const second = await open();
    const read = new Registry(second);
    assert.deepEqual([read.member('orient'), read.member('east')], [renamed, undefined]);
    assert.deepEqual([read.handle('orient'), read.nameOf('east'), read.ports('orient')], ['east', 'orient', [port]]);
    assert.deepEqual(await read.token('t9'), { ...token, id: 't9', cluster: 'orient', handle: 'east' });
    await second.close();
    await registry.rename('orient', membership, token);
    const back = await status();
    assert.deepEqual([back['clusterName'], back['formerName']], [undefined, undefined]);
    await store.setTokens([{ ...token, id: 't9', spent: true, expiresMs: 0 }]);
  });

  it('writes nothing when nothing changed, even if the agent reconnects often within minutes', async () => {
    const version = async () => (await client.get(hubMembers, { name: 'east' })).metadata.resourceVersion;
    const before = await version();
    registry.report('east', { ports: [port], presence: { state: 'Connected', lastSeenMs: nowMs + 60_000 }, figures });
    // One write of another member, made later, is proof that the first was decided.
    await client.create(hubMembers, {
      apiVersion: 'isthmus.network/v1alpha1',
      kind: 'HubMember',
      metadata: { name: 'other' },
    });
    await sleep(300);
    assert.equal(await version(), before);
    registry.report('east', { ports: [port], presence: { state: 'Absent', lastSeenMs: nowMs + 60_000 }, figures });
    await eventually('absence written', async () => (await status())['lastSeen'] === '2026-01-01T00:01:00.000Z');
    registry.report('east', { ports: [port], presence: { state: 'Connected', lastSeenMs: 0 }, figures });
    await eventually('seen now, not then', async () => !('lastSeen' in (await status())));
  });

  it('observes limits that a user changes; a limit that cannot be read allows nothing and is reported', async () => {
    await client.patch(hubMembers, { name: 'east' }, 'merge', { spec: { allowedPrefixes: ['10.16/16'] } });
    await eventually('the change', () => changes.includes('east limits'));
    assert.deepEqual(registry.spec('east'), { ...usualLimits, allowedPrefixes: ['10.16/16'], maxPrefixes: 7 });
    registry.report('east', { ports: [port], presence: { state: 'Absent', lastSeenMs: nowMs }, figures });
    await eventually('refused', async () => JSON.stringify(await status()).includes('10.16/16 is not a CIDR'));
  });

  it('writes the reason to an object that makes no cluster a member', async () => {
    store.refuse('other', { code: 'NameTaken', message: 'delete it' });
    await eventually('written', async () => {
      const { status: memberStatus } = await client.get(hubMembers, { name: 'other' });
      return /"SpecAccepted".*"NameTaken"|"NameTaken".*"SpecAccepted"/.test(JSON.stringify(memberStatus ?? {}));
    });
  });

  it('reports an outage of the API server, and sends pending writes afterwards', async () => {
    await server.kill();
    const later = { ...membership, cluster: 'late' };
    await assert.rejects(registry.join(later, { ...token, id: 't2' }, registry.spec('east')), StoreUnavailable);
    await assert.rejects(registry.token('t1'), StoreUnavailable);
    registry.report('east', { ports: [], presence: { state: 'Stale', lastSeenMs: nowMs }, figures });
    assert.equal(registry.isStale('east'), true);
    await server.restart();
    await eventually('written', async () => JSON.stringify((await status())['conditions']).includes('"Stale"'));
    await registry.join(later, { ...token, id: 't2', cluster: 'late' }, registry.spec('east'));
    await registry.remove('late');
    assert.equal(registry.member('late'), undefined);
  });

  it('deletes tokens that are redeemed and expired, and no others', async () => {
    const old = { ...token, id: 't3', cluster: 'gone', expiresMs: nowMs - 1 };
    await store.setTokens([old, { ...token, id: 't4', cluster: 'gone' }]);
    await registry.spendOrphans();
    await store.setTokens([]);
    const tokens = await store.tokens();
    assert.deepEqual([...tokens.keys()].sort(), ['t1', 't2', 't4']);
    assert.deepEqual(
      ['t1', 't2', 't4'].map((id) => tokens.get(id)?.spent),
      [false, true, true],
    );
    const { data } = (await client.get(secrets, { namespace: 'default', name: 'isthmus-hub-tokens' })) as unknown as {
      data: Record<string, string>;
    };
    assert.deepEqual(Object.keys(data).sort(), ['t1', 't2', 't4']);
  });

  it('observes an object that a user deletes', async () => {
    await client.delete(hubMembers, { name: 'east' });
    await eventually('the change', () => changes.includes('east ended'));
    assert.equal(registry.member('east'), undefined);
    assert.ok(
      !changes.some((change) => change.startsWith('late')),
      `what the hub does itself is no news: ${changes.join()}`,
    );
  });
});
