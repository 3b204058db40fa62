/** Neighbour resolution while other programs send to the neighbour, and while the neighbour itself sends requests. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { resolveNeighbour } from '../../daemon/host/neighbours.ts';
import { exec, TestNode } from '../../daemon/testing.ts';

const node = new TestNode();
const neighbour = '172.30.9.1';
const rounds = 300;
let index: number;
let mac: string;

before(() => {
  node.enterNamespace();
  ({ ifindex: index } = link('up0'));
  ({ address: mac } = link('eth0', '-n', node.outside));
});

after(() => node.stop());

function link(name: string, ...where: readonly string[]): { readonly ifindex: number; readonly address: string } {
  const [found] = JSON.parse(exec('ip', '-j', ...where, 'link', 'show', name)) as ReturnType<typeof link>[];
  return found!;
}

/** The distinct answers of many rounds, so many that some coincide with other packets and requests. */
async function answers(): Promise<ReadonlySet<string | undefined>> {
  const all = new Set<string | undefined>();
  for (let round = 0; round < rounds; round++)
    all.add(await resolveNeighbour(index, neighbour, AbortSignal.timeout(60_000)));
  return all;
}

test('a neighbour is resolved while other programs send to it', async () => {
  const socket = createSocket('udp4');
  const sender = setInterval(() => socket.send('', 9, neighbour), 0);
  try {
    assert.deepEqual(await answers(), new Set([mac]));
  } finally {
    clearInterval(sender);
    socket.close();
  }
});

test('a neighbour is resolved while it sends requests itself', async () => {
  const asking = 'while :; do ip neigh flush dev eth0; ping -c 1 -q 172.30.9.11; done';
  const asker = spawn('ip', ['netns', 'exec', node.outside, 'bash', '-c', asking], { stdio: 'ignore', detached: true });
  try {
    assert.deepEqual(await answers(), new Set([mac]));
  } finally {
    process.kill(-asker.pid!);
    await once(asker, 'close');
  }
});

test('a neighbour that does not answer is not resolved and leaves no entry', async () => {
  assert.equal(await resolveNeighbour(index, '172.30.9.77', AbortSignal.timeout(2000)), undefined);
  assert.equal(exec('ip', 'neigh', 'show', '172.30.9.77'), '');
});
