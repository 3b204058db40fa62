import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { HubBed } from '../hub/hub-bed.ts';
import type { StoredIdentity } from './identity.ts';
import { Membership } from './membership.ts';

const gateway = { chassis: 'a1', hostname: 'n1', encaps: [{ type: 'geneve', ip: '172.30.0.11', options: {} }] };
const patienceMs = 60_000;

describe('a membership that is to have another name', () => {
  let bed: HubBed;
  let stored: StoredIdentity | undefined;
  let token: string | undefined;
  let lines: string[] = [];
  const memberships: Membership[] = [];
  const waiting = new Set<() => void>();

  const open = (): Membership => {
    const membership = new Membership({
      store: {
        load: () => Promise.resolve(stored),
        save: (identity) => {
          stored = identity;
          return Promise.resolve();
        },
        remove: () => {
          stored = undefined;
          return Promise.resolve();
        },
      },
      now: Date.now,
      random: Math.random,
      log: { info: (_, message) => lines.push(message), warn: (_, message) => lines.push(message) },
      onExports: () => true,
      onPods: () => true,
      onUpdate: () => undefined,
      onChange: () => waiting.forEach((look) => look()),
    });
    memberships.push(membership);
    membership.send({ gateways: [gateway], attachments: [], unreachable: [], tellsExports: true, tellsPaths: true });
    return membership;
  };
  const want = (membership: Membership, cluster: string): void =>
    membership.want({ cluster, hub: bed.address, tokenRef: 'token', readToken: () => Promise.resolve(token) });
  const until = async (what: string, isSo: () => boolean): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if (isSo()) resolve();
    };
    const timer = setTimeout(() => reject(new Error(`${what}: not in time; ${lines.join('; ')}`)), patienceMs);
    waiting.add(look);
    look();
    await promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(look);
    });
  };
  const asNorth = async (): Promise<Membership> => {
    token = bed.token('north');
    const membership = open();
    want(membership, 'north');
    await until('connected', () => membership.state.isConnected);
    assert.deepEqual([membership.state.cluster, membership.state.renaming], ['north', undefined]);
    return membership;
  };
  const connections = (): number => lines.filter((line) => line === 'connected').length;

  beforeEach(async () => {
    bed = new HubBed();
    lines = [];
    stored = undefined;
    await bed.up();
  });
  afterEach(async () => {
    await Promise.all(memberships.splice(0).map((membership) => membership.close()));
    await bed.down();
  });

  it(
    'keeps its name until there is a token, then uses the new name in the same session',
    { timeout: 300_000 },
    async () => {
      const membership = await asNorth();
      want(membership, 'nord');
      assert.equal(membership.state.renaming?.code, 'Renaming', 'known at once');
      await until('refused', () => membership.state.renaming?.code === 'TokenForOtherCluster');
      assert.match(membership.state.renaming.message, /keeps the name "north" .* create one for this name/);
      const { isJoined, isConnected, cluster } = membership.state;
      assert.deepEqual([isJoined, isConnected, cluster], [true, true, 'north']);
      assert.ok(bed.registry.member('north'));
      token = bed.token('nord');
      await until('renamed', () => membership.state.cluster === 'nord');
      assert.equal(membership.state.renaming, undefined);
      assert.deepEqual(
        [...bed.registry.members()].map((member) => member.cluster),
        ['nord'],
      );
      assert.deepEqual([connections(), bed.hub.sessions], [1, 1]);
      const kept = stored;
      await membership.close();
      const again = open();
      want(again, 'nord');
      await until('connected again', () => again.state.isConnected);
      assert.deepEqual([again.state.cluster, stored], ['nord', kept]);
    },
  );

  it('withdraws the rename when the present name is wanted again', { timeout: 300_000 }, async () => {
    const membership = await asNorth();
    want(membership, 'nord');
    await until('refused', () => membership.state.renaming?.code === 'TokenForOtherCluster');
    want(membership, 'north');
    assert.equal(membership.state.renaming, undefined);
    assert.equal(connections(), 1);
  });

  it('has the new name after a crash that lost the answer, or an outage of the hub', { timeout: 300_000 }, async () => {
    const first = await asNorth();
    await first.close();
    const before = stored;
    assert.ok(before);
    token = bed.token('nord');
    await bed.redeem(token, before.key, ['a1']);
    const second = open();
    want(second, 'nord');
    await until('connected as nord', () => second.state.isConnected && second.state.cluster === 'nord');
    assert.notEqual(stored?.certificate, before.certificate);
    await bed.stop();
    await until('alone', () => !second.state.isConnected);
    token = bed.token('norden');
    want(second, 'norden');
    await until('refused', () => second.state.renaming?.code === 'HubUnreachable');
    assert.deepEqual([second.state.isJoined, second.state.cluster], [true, 'nord']);
    await bed.start();
    await until('connected as norden', () => second.state.isConnected && second.state.cluster === 'norden');
  });

  it('leaves for good although its new certificate never arrived', { timeout: 300_000 }, async () => {
    const first = await asNorth();
    await first.close();
    await bed.redeem(bed.token('nord'), stored?.key ?? '');
    await open().leave(bed.address, AbortSignal.timeout(patienceMs));
    assert.deepEqual([...bed.store.members()], []);
    assert.equal(stored, undefined);
  });
});
