import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../lib/run/logger.ts';
import { ObjectEvents } from './objects.ts';

test('a problem of a subnet is told when it begins, and again when it comes back', () => {
  const told: string[] = [];
  const events = new ObjectEvents({
    events: { record: ({ kind, name }, type, reason) => void told.push(`${kind}/${name} ${type} ${reason}`) },
    log: createLogger('daemon', 'silent'),
    uidOfSubnet: (name) => (name === 'gone' ? undefined : `uid-${name}`),
  });
  const [a, b] = ['a', 'gone'].map((subnet) => ({ subnet, code: 'MtuTooLarge', message: 'x' }));
  events.tellSubnets([a!, b!]);
  events.tellSubnets([a!]);
  events.tellSubnets([{ ...a!, message: 'y' }]);
  events.tellSubnets([]);
  events.tellSubnets([a!]);
  assert.deepEqual(told, Array(3).fill('Subnet/a Warning MtuTooLarge'));
});
