/** More messages of the kernel than the buffer of a socket holds: the loss is reported, and the socket goes on. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { exec, TestNode } from '../../daemon/testing.ts';
import { openEvents } from '../../lib/netlink/events.ts';
import { Protocol } from '../../lib/netlink/socket.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
/** NFNLGRP_NFTABLES */
const group = 7;
/** Of one transaction: some 200 KB of messages. */
const addresses = Array.from({ length: 2000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);

before(() => node.enterNamespace());
after(() => node.stop());

for (const [what, bufferBytes, losses] of [
  ['that is too small for them', 1 << 14, 1],
  ['that holds them', undefined, 0],
] as const)
  test(`a transaction of many elements and a buffer ${what}`, async () => {
    let [messages, lost] = [0, 0];
    const events = openEvents({
      protocol: Protocol.NETFILTER,
      groups: [group],
      onMessages: () => (messages += 1),
      onLoss: () => (lost += 1),
      ...(bufferBytes === undefined ? {} : { bufferBytes }),
    });
    // This process does not read meanwhile.
    const elements = `set s { type ipv4_addr; elements = { ${addresses.join(', ')} }\n}`;
    execFileSync('nft', ['-f', '-'], { input: `table ip many {\n${elements}\n}\n` });
    await eventually('messages', () => messages > 0 && lost >= losses);
    const before = messages;
    exec('nft', 'add', 'table', 'ip', 'one');
    await eventually('messages of another transaction', () => messages > before);
    assert.equal(lost, losses);
    exec('nft', 'flush', 'ruleset');
    events.close();
  });
