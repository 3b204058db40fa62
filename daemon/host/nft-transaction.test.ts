import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test, type TestContext } from 'node:test';
import { NLM } from '../../lib/netlink/message.ts';
import type { NetlinkSocket } from '../../lib/netlink/socket.ts';
import { NftTransactions } from './nft-transaction.ts';

type Sent = (error?: Error) => void;

/** Transactions on a socket that sends when the test lets it. */
function bed(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: Sent[] = [];
  const state = { opened: 0, closed: 0 };
  const socket = Object.assign(new EventEmitter(), {
    address: () => ({ port: 7 }),
    close: () => (state.closed += 1),
    socket: { send: (_data: Buffer, _options: undefined, callback: Sent) => void sent.push(callback) },
  });
  const ports: number[] = [];
  const transactions = new NftTransactions(
    (port) => ports.push(port),
    () => {
      state.opened += 1;
      return socket as unknown as NetlinkSocket;
    },
  );
  const execute = (): Promise<void> => transactions.execute([{ type: 12, flags: 0, body: [] }], 'elements');
  const answer = (errno = 0): void => {
    const data = Buffer.alloc(20);
    data.writeInt32LE(errno);
    socket.emit('message', [{ type: NLM.ERROR, flags: 0, seq: 1, data }]);
  };
  return { execute, answer, sent, state, ports, socket };
}

test('a call that waits for the transaction of another program is not late', async (t) => {
  const { execute, answer, sent, state, ports } = bed(t);
  const done = execute();
  t.mock.timers.tick(60_000);
  sent[0]?.();
  t.mock.timers.tick(4000);
  answer();
  await done;
  assert.deepEqual([state, ports], [{ opened: 1, closed: 0 }, [7]]);
});

test('a kernel that does not answer after the call is late, and the socket is not used again', async (t) => {
  const { execute, answer, sent, state } = bed(t);
  const late = execute();
  sent[0]?.();
  t.mock.timers.tick(5000);
  await assert.rejects(late, { code: 'ETIMEDOUT', message: 'elements: ETIMEDOUT' });
  assert.deepEqual(state, { opened: 1, closed: 1 });
  const next = execute();
  sent[1]?.();
  answer();
  await next;
  assert.equal(state.opened, 2);
});

test('refusals and failures to send are errors', async (t) => {
  const { execute, answer, sent } = bed(t);
  const refused = execute();
  sent[0]?.();
  answer(-17);
  await assert.rejects(refused, { code: 'EEXIST' });
  const failed = execute();
  sent[1]?.(new Error('EPERM'));
  await assert.rejects(failed, /EPERM/);
});

test('an answer before the end of the call leaves nothing behind', async (t) => {
  const { execute, answer, sent, socket } = bed(t);
  const done = execute();
  answer();
  await done;
  const timer = t.mock.method(globalThis, 'setTimeout');
  sent[0]?.();
  assert.equal(timer.mock.callCount(), 0);
  assert.deepEqual([socket.listenerCount('message'), socket.listenerCount('error')], [0, 0]);
});
