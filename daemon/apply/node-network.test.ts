import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { linkMissing } from '../host/target.ts';
import { nodePortOwner } from '../plan/local-ovs.ts';
import { joinedNode } from '../testing-subnets.ts';
import { NodeNetwork } from './node-network.ts';

const unexpected = (): never => assert.fail();

test('a missing ovn0 is created again only once ovs-vswitchd has removed the old one, or has not done so in time', async (t) => {
  let [now, isMissing] = [0, true];
  t.mock.method(performance, 'now', () => now);
  const log: string[] = [];
  let answer = Promise.withResolvers<void>();
  let applied = unexpected as () => void;
  const target: OvsdbTarget = {
    set: (owner) => void (owner === nodePortOwner && log.push('set')),
    drop: (owner) => void (owner === nodePortOwner && log.push('drop')),
    untilApplied: () => Promise.resolve(),
    onResult: () => () => undefined,
    desired: unexpected,
    seal: unexpected,
    owners: unexpected,
    isApplied: true,
    revision: 0,
    close: unexpected,
  };
  let deadline = new AbortController().signal;
  const network = new NodeNetwork({
    southbound: () => ({ remotes: [], tls: undefined }),
    settings: {
      nodeName: 'n1',
      encapType: 'geneve',
      encapIp: '172.30.9.11',
      datapathType: 'netdev',
      mtu: 1400,
      mirrorInterface: '',
      isMirroringAll: false,
    },
    target,
    host: {
      set: () => undefined,
      get problems() {
        return isMissing ? [{ code: linkMissing, message: '' }] : [];
      },
      onResult: (listener) => void (applied = listener),
    },
    otherNodes: () => [],
    isSwitchUp: () => true,
    untilTakenUp: (signal) => {
      deadline = signal;
      return answer.promise;
    },
    node: () => joinedNode,
    subnets: () => [],
    isGateway: () => false,
    forwarding: () => ({ isSpeaker: false, vpcs: new Map(), remotes: [] }),
    hasServices: false,
    routedNetworks: () => new Set(),
    connected: () => [],
    addresses: () => [],
  });
  const wait = async (): Promise<readonly string[]> => {
    await turn();
    return log.splice(0);
  };
  const miss = (): void => {
    applied();
    now += 4000;
    applied();
  };
  applied();
  now += 1000;
  applied();
  assert.deepEqual(await wait(), [], 'a starting ovs-vswitchd makes it by itself');
  now += 3000;
  applied();
  assert.deepEqual(await wait(), ['drop']);
  network.start();
  assert.deepEqual(await wait(), ['drop'], 'a change meanwhile');
  answer.resolve();
  assert.deepEqual(await wait(), ['set']);

  answer = Promise.withResolvers();
  miss();
  assert.deepEqual(await wait(), ['drop']);
  const late = new Error('late');
  t.mock.getter(deadline, 'reason', () => late);
  answer.reject(late);
  assert.deepEqual(await wait(), ['set']);

  isMissing = false;
  miss();
  assert.deepEqual(await wait(), []);
});
