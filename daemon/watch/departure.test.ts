import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawObject } from '../../lib/kube/types.ts';
import { Departure } from './departure.ts';

const log = { info: () => undefined, warn: () => undefined };

function open(options: { readonly isInNoPod?: true; readonly fails?: number } = {}): {
  readonly departure: Departure;
  readonly asked: string[];
  readonly left: () => number;
} {
  let left = 0;
  let failures = options.fails ?? 0;
  const asked: string[] = [];
  const owner = { name: 'isthmus-daemon-x', uid: 'p', resourceVersion: '1', ownerReferences: [{ uid: 'ours' }] };
  const departure = new Departure({
    client: {
      list: (_, { namespace, fieldSelector } = {}): Promise<readonly RawObject[]> => {
        asked.push(`${namespace} ${fieldSelector}`);
        failures -= 1;
        return failures >= 0 ? Promise.reject(new Error('no answer')) : Promise.resolve([{ metadata: owner }]);
      },
    },
    pod: options.isInNoPod ? undefined : 'kube-system/isthmus-daemon-x',
    leave: () => (left += 1),
    log,
  });
  return { departure, asked, left: () => left };
}

test('the node is released when its Node names the DaemonSet of this pod, once', async () => {
  const { departure, asked, left } = open();
  assert.equal(await departure.isAsked({ leave: undefined }), false);
  assert.deepEqual(asked, []);
  const both = await Promise.all([departure.isAsked({ leave: 'ours' }), departure.isAsked({ leave: 'ours' })]);
  assert.equal(both[0], true);
  assert.equal(await departure.isAsked({ leave: 'ours' }), true);
  assert.equal(left(), 1);
  assert.deepEqual(asked, ['kube-system metadata.name=isthmus-daemon-x']);
});

test('the name of another installation is ignored, and a later name of this one is followed', async () => {
  const { departure, left } = open();
  assert.equal(await departure.isAsked({ leave: 'of old' }), false);
  assert.equal(left(), 0);
  assert.equal(await departure.isAsked({ leave: 'ours' }), true);
});

test('a daemon outside a pod reads no pod', async () => {
  const { departure, asked } = open({ isInNoPod: true });
  assert.equal(await departure.isAsked({ leave: 'ours' }), false);
  assert.deepEqual(asked, []);
});

test('after a failed read of the pod, the next change of the Node reads it again', async () => {
  const { departure, left } = open({ fails: 1 });
  assert.equal(await departure.isAsked({ leave: 'ours' }), false);
  assert.equal(left(), 0);
  assert.equal(await departure.isAsked({ leave: 'ours' }), true);
});
