import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../lib/run/logger.ts';
import { parsePod } from '../watch/pod.ts';
import { ObjectEvents } from './events.ts';

const aPod = (name: string) =>
  parsePod({ metadata: { namespace: 'default', name, uid: `uid-${name}`, resourceVersion: '1' } });

test('a problem of a subnet is recorded when it begins, and again when it returns', () => {
  const recorded: string[] = [];
  const events = new ObjectEvents({
    events: { record: ({ kind, name }, type, reason) => void recorded.push(`${kind}/${name} ${type} ${reason}`) },
    log: createLogger('daemon', 'silent'),
    uidOfSubnet: (name) => (name === 'gone' ? undefined : `uid-${name}`),
  });
  const [a, b] = ['a', 'gone'].map((subnet) => ({ subnet, code: 'MtuTooLarge', message: 'x' }));
  events.reportSubnets([a!, b!]);
  events.reportSubnets([a!]);
  events.reportSubnets([{ ...a!, message: 'y' }]);
  events.reportSubnets([]);
  events.reportSubnets([a!]);
  assert.deepEqual(recorded, Array(3).fill('Subnet/a Warning MtuTooLarge'));
});

test('a problem of pods is recorded for each pod once while it lasts', () => {
  const recorded: string[] = [];
  const events = new ObjectEvents({
    events: { record: ({ kind, name }, _type, reason) => void recorded.push(`${kind}/${name} ${reason}`) },
    log: createLogger('daemon', 'silent'),
    uidOfSubnet: () => undefined,
  });
  const of = (name: string) => ({ pod: aPod(name), problem: { code: 'ProviderNetworkLeft', message: 'x' } });
  events.reportPods([of('a')]);
  events.reportPods([of('a'), of('b')]);
  events.reportPods([of('b')]);
  events.reportPods([of('a'), of('b')]);
  assert.deepEqual(
    recorded,
    ['Pod/a', 'Pod/b', 'Pod/a'].map((pod) => `${pod} ProviderNetworkLeft`),
  );
});
