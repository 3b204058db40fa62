import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RTM } from '../../lib/netlink/message.ts';
import type { KernelListener } from './kernel-events.ts';
import { watchHost } from './watch-host.ts';

test('an address of a link that became ours later is noticed, although another link of ours is gone', () => {
  let names = ['ovn0', 'br-old'];
  let changes = 0;
  let listener: KernelListener | undefined;
  const subscribe = (one: KernelListener) => {
    listener = one;
    return () => undefined;
  };
  watchHost(
    { subscribe },
    { names: () => names, used: () => new Set(), onChange: () => (changes += 1), onAddress: () => undefined },
  );
  const said = (event: object): boolean => {
    const before = changes;
    listener?.onEvents([{ port: 0, ...event } as never]);
    return changes > before;
  };
  const link = (type: number, name: string, index: number): boolean => said({ type, link: { name, index } });
  const address = (index: number): boolean => {
    const data = Buffer.alloc(8);
    data.writeUInt32LE(index, 4);
    return said({ type: RTM.DELADDR, data });
  };
  assert.ok(link(RTM.NEWLINK, 'ovn0', 3) && link(RTM.DELLINK, 'br-old', 4));
  assert.ok(!address(7), 'of another program');
  // It exists since before the daemon, which has heard nothing of it.
  names = ['ovn0', 'br-edge'];
  assert.ok(address(7));
  assert.ok(link(RTM.NEWLINK, 'br-edge', 7));
  assert.deepEqual([address(7), address(4), address(3)], [true, false, true]);
});
