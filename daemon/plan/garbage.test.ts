import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sandbox } from '../model/sandbox.ts';
import { isGarbage } from './garbage.ts';
import { aSandbox } from '../testing-sandbox.ts';

const sandbox: Sandbox = { ...aSandbox, ips: [] };
const kept = { network: 'isthmus', provider: 'ovn', valid: [] };
const red = { network: 'red', provider: 'red.default.ovn', valid: [] };
const valid = [{ containerId: 'c1', ifname: 'eth0' }];

const cases: readonly [
  what: string,
  isGone: boolean,
  sandbox: Partial<Sandbox>,
  kept: Partial<Parameters<typeof isGarbage>[1]>,
  isAlive?: boolean,
][] = [
  ['what the list has stays, dead or not', false, {}, { valid }, false],
  ['what the list has not goes, alive or not', true, {}, {}, true],
  ['another interface of a container in the list goes', true, { ifname: 'net1' }, { valid }],
  ['without a list what is alive stays', false, {}, { valid: undefined }, true],
  ['without a list what is dead goes', true, {}, { valid: undefined }, false],
  ['an attachment of another network stays', false, { network: 'other' }, {}],
  ['an attachment of another provider stays', false, { provider: 'red.default.ovn', network: 'isthmus' }, {}],
  ['one name in two namespaces', false, { network: 'red', provider: 'red.shop.ovn' }, red],
  ['a network that a container has more than once', true, { network: 'red', provider: 'red.default.ovn.eth0' }, red],
  ['a record without a network goes by its provider', true, { network: undefined }, {}],
  ['and stays by it', false, { network: undefined, provider: 'red.default.ovn' }, {}],
];

for (const [what, isGone, changes, keptChanges, isAlive = true] of cases) {
  test(what, () =>
    assert.equal(
      isGarbage({ ...sandbox, ...changes }, { ...kept, ...keptChanges }, () => isAlive),
      isGone,
    ),
  );
}
