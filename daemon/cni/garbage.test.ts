import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { CniError, errorCode } from './error.ts';
import { removeAll } from './garbage.ts';

test('all removals are tried, and all failures are reported', async () => {
  const removed: string[] = [];
  const fails = (what: string, error: Error) => ({ what, remove: () => Promise.reject(error) });
  const works = (what: string) => ({ what, remove: async () => void removed.push(what) });
  const late = new CniError(errorCode.tryAgainLater, 'the database did not answer', 'look at it');
  await assert.rejects(
    removeAll([works('a'), fails('b', late), fails('c', new NetlinkError('EPERM', 'link c')), works('d')]),
    (error) => {
      assert.ok(error instanceof CniError);
      assert.deepEqual([error.code, error.message], [11, '2 of 4 stale attachments could not be removed']);
      assert.match(error.details ?? '', /^b: the database did not answer; look at it\nc: the kernel refused .*link c/);
      return true;
    },
  );
  assert.deepEqual(removed, ['a', 'd']);
  await removeAll([works('e')]);
});

test('an unexpected error is thrown unchanged', () =>
  assert.rejects(removeAll([{ what: 'x', remove: () => Promise.reject(new TypeError('defect')) }]), TypeError));
