import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advertisementOf, peerOf, policyOf, subnetOf } from '../../lib/bgp/testing.ts';
import { planSpeaker } from './plan.ts';
import { exportHits, hitsOfStatus, statusOfHits } from './policy-hits.ts';
import { stateOf } from './testing.ts';

test('a prefix counts for the rule that decided it, once for each session and family that was evaluated', () => {
  const rules = [
    { match: { prefixes: [{ cidr: '10.16.0.0/16' }] }, action: 'Deny' },
    { match: { sources: ['Subnet'] } },
  ];
  const plan = planSpeaker(
    stateOf({
      peers: [
        peerOf('tor1', '10.0.0.254'),
        peerOf('tor2', '10.0.0.253', { families: ['ipv4', 'ipv6'] }),
        peerOf('other', '10.0.0.252'),
        peerOf('deaf', '10.0.0.251', { advertisements: { matchLabels: { no: 'one' } } }),
      ],
      advertisements: [advertisementOf('all')],
      subnets: [subnetOf('web', ['10.16.0.0/16']), subnetOf('db', ['10.17.0.0/16', 'fd00:17::/64'])],
      policies: [policyOf('out', { direction: 'Export', bgpPeers: ['tor1', 'tor2', 'deaf'], rules })],
    }),
  );
  const status = statusOfHits(exportHits(plan));
  assert.deepEqual(status, [
    {
      policy: 'out',
      rules: [
        { index: 0, prefixes: 2 },
        { index: 1, prefixes: 3 },
      ],
    },
  ]);
  assert.deepEqual(
    hitsOfStatus({ policies: status }, () => true),
    exportHits(plan),
  );
  assert.deepEqual(
    hitsOfStatus({ policies: status }, (policy) => policy !== 'out'),
    new Map(),
  );
});
