import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFlags } from '../../lib/run/flags.ts';
import { flagObjects, sessionFlags } from './flag-objects.ts';

const objects = (...argv: string[]) => flagObjects(parseFlags(sessionFlags, argv, {}));
const neighbours = ['--neighbor-address=10.0.0.254,10.0.0.253', '--neighbor-ipv6-address=FD00::FE'];

test('each neighbour of the flags is a peer, and all have one instance', () => {
  const made = objects(
    ...neighbours,
    '--cluster-as=65001',
    '--neighbor-as=65000',
    '--holdtime=9',
    '--enable-bfd',
    '--extended-nexthop',
  );
  assert.deepEqual(
    made?.peers.map(({ name }) => name),
    ['(flags) 10.0.0.254', '(flags) 10.0.0.253', '(flags) FD00::FE'],
  );
  const [first, , v6] = made.peers.map(({ spec }) => ('value' in spec ? spec.value : undefined));
  assert.deepEqual(
    [first?.asn, first?.holdTimeSeconds, first?.keepaliveSeconds, first?.bfd?.transmitIntervalMilliseconds],
    [65000, 9, 3, 1000],
  );
  assert.deepEqual([v6?.address, v6?.families, v6?.extendedNextHop], ['fd00::fe', ['ipv4', 'ipv6'], true]);
  assert.equal(first?.extendedNextHop, false);
});

test('flags without neighbours give no objects, and flags that make no session are refused', () => {
  assert.equal(objects('--cluster-as=65001'), undefined);
  assert.throws(() => objects(...neighbours), /needs cluster-as/);
  assert.throws(
    () => objects(...neighbours, '--cluster-as=65001', '--neighbor-as=65000', '--holdtime=1'),
    /holdTimeSeconds/,
  );
});
