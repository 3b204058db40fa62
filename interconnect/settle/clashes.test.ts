import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Rejection } from '../model/messages.ts';
import type { LocalView } from '../model/local.ts';
import { findClashes } from './clashes.ts';
import { gateway, local, west } from '../model/testing.ts';

const found = (view: LocalView, rejections: readonly Rejection[] = []) =>
  findClashes(view, [west], rejections).map(({ node, problem }) => [node, problem.code, problem.message]);

describe('gateways that clash with those of another cluster', () => {
  it('are absent while every name and address belongs to one gateway', () => {
    assert.deepEqual(found(local), []);
  });

  it('are found by the name that the node has, whatever the southbound database holds under it', () => {
    const [n1, n2] = local.gatewayNodes;
    assert.ok(n1 && n2);
    const view = { ...local, gatewayNodes: [{ ...n1, chassis: 'b1' }, n2] };
    const [[node, code, message] = []] = found(view);
    assert.deepEqual([node, code], ['n1', 'DuplicateChassis']);
    assert.match(message ?? '', /gateway n1 of this cluster and host-b1 of west have the same system-id b1/);
  });

  it('are found among the nodes of this cluster, gateways or not', () => {
    const view = { ...local, nodeChassis: [...local.nodeChassis, { node: 'n3', chassis: 'a1' }] };
    const [[node, code, message] = [], ...rest] = found(view);
    assert.deepEqual([node, code, rest], ['n1', 'DuplicateChassis', []]);
    assert.match(message ?? '', /n1 and n3 of this cluster have the same system-id a1/);
  });

  it('are found by the address of a node that could not be registered with it', () => {
    const chassis = new Map([...local.chassis].filter(([name]) => name !== 'a1'));
    const [first] = west.gateways;
    assert.ok(first);
    const members = [{ ...west, gateways: [gateway('b9', '172.30.1.11')] }];
    const [clash] = findClashes({ ...local, chassis }, members, []);
    assert.deepEqual([clash?.node, clash?.problem.code], ['n1', 'DuplicateEncap']);
    assert.deepEqual(findClashes(local, members, []), [], 'one that is registered has the address');
    chassis.set('a3', { gateway: gateway('a3', '172.30.1.11'), isInterconnect: false });
    const [own] = findClashes({ ...local, chassis }, [], []);
    assert.match(own?.problem.message ?? '', /n1 and host-a3 of this cluster have the same tunnel address 172.30.1.11/);
  });

  it('include those that the hub refused, with its message', () => {
    const rejection: Rejection = {
      kind: 'gateway',
      value: 'a2',
      code: 'DuplicateEncap',
      message: 'gateway a2: tunnel address 172.30.1.12 is used by south already',
      holder: 'south',
      transitSwitch: '',
    };
    assert.deepEqual(
      found(local, [rejection, { ...rejection, kind: 'prefix' }]).map(([node, code]) => [node, code]),
      [['n2', 'DuplicateEncap']],
    );
  });
});
