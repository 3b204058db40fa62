/** The daemon recognises its nftables table by its content, and detects foreign edits whenever they happen. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { nftOf } from 'ovsdb-client/testing';
import { exec, TestNode } from '../../daemon/testing.ts';
import { NftTable } from '../../daemon/host/nft.ts';
import { elementsOf, planRuleset } from '../../daemon/plan/ruleset.ts';

const start = promisify(execFile);
const node = new TestNode();
const body = `set nat4 { type ipv4_addr; flags interval;
}
chain outgoing { masquerade
}
chain postrouting { type nat hook postrouting priority srcnat; ip saddr @nat4 jump outgoing
}
`;
const list = (): string => exec('nft', 'list', 'table', 'inet', 'isthmus');
const elements = new Map([['nat4', new Set(['10.16.0.0/16', '10.17.0.0/16', '192.0.2.1/32'])]]);
let wanted = '';

before(async () => {
  node.enterNamespace();
  assert.equal(await new NftTable('inet').set(body, elements), true);
  wanted = list();
});
after(() => node.stop());

test('an unchanged table is not written again, even by another process', async () => {
  const table = new NftTable('inet');
  for (const one of [table, table, new NftTable('inet')]) assert.equal(await one.set(body, elements), false);
  assert.equal(await table.set(`${body}chain more {\n}\n`, elements), true);
  assert.equal(await table.set(body, elements), true);
  assert.equal(list(), wanted);
});

const edits: Readonly<Record<string, readonly string[]>> = {
  'a deleted element': ['delete', 'element', 'inet', 'isthmus', 'nat4', '{ 10.17.0.0/16 }'],
  'a flushed chain': ['flush', 'chain', 'inet', 'isthmus', 'outgoing'],
  'a foreign rule': ['add', 'rule', 'inet', 'isthmus', 'outgoing', 'drop'],
  'a foreign chain': ['add', 'chain', 'inet', 'isthmus', 'strange'],
  'a deleted seal': ['delete', 'chain', 'inet', 'isthmus', 'unchanged'],
};
for (const [what, edit] of Object.entries(edits))
  test(`the table is restored after an edit while no daemon ran: ${what}`, async () => {
    exec('nft', ...edit);
    assert.equal(await new NftTable('inet').set(body, elements), true);
    assert.equal(list(), wanted);
  });

test('a foreign edit during a write is detected', async () => {
  for (let round = 0; round < 8; round += 1) {
    const table = new NftTable('inet');
    exec('nft', 'flush', 'ruleset');
    const writing = table.set(body, elements);
    for (let edit = 0; edit < 3; edit += 1) await start('nft', ['flush', 'ruleset']);
    await writing;
    await table.set(body, elements);
    assert.equal(list(), wanted, `round ${round}`);
  }
});

// The image has the nft of Debian 13; kube-proxy and the node's administrator use the node's own nft.
const newer = nftOf('25.03');
test(
  'the nft of a Debian 12 node can read the table that the image’s nft has written',
  { skip: newer === undefined && 'make ovn-25.03' },
  () => {
    const elements = elementsOf('cluster', ['10.16.0.0/16', '100.64.0.0/16', 'fd00:100:64::/112']);
    const lines = elements.map(({ set, network }) => `add element inet isthmus ${set} { ${network} }\n`);
    exec('nft', 'flush', 'ruleset');
    execFileSync(newer ?? '', ['-f', '-'], {
      input: `table inet isthmus {\n${planRuleset([], true)}}\n${lines.join('')}`,
    });
    assert.match(list(), /elements = \{ 10\.16\.0\.0\/16, 100\.64\.0\.0\/16 \}/);
  },
);
