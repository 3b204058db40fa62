import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { transitSwitchSpec } from '../../../lib/api/kinds/transit-switch.ts';
import { spoil, subnetOf, wellPair, policyOf, type Pair } from '../../testing-snapshots.ts';
import { podManifest } from './manifests.ts';
import { flowsOf, planTests } from './networks.ts';
import { connected, pinged, resolved } from './probes.ts';

const planOf = ({ east, west }: Pair) => planTests([east, west]);
const result = (stdout: string, stderr = '', exitCode = 0) => ({ stdout, stderr, exitCode });

describe('the networks of test pods', () => {
  it('are the transit switches that two clusters share, with a VPC of each', () => {
    const pair = wellPair();
    pair.east.transitSwitches.push({ name: 'blue', spec: transitSwitchSpec.parse({ vpc: 'b-east' }), status: {} });
    assert.deepEqual(
      planOf(pair).networks.map(({ namespace }) => namespace),
      ['isthmus-verify-ts'],
      'one of the two clusters alone has no partner',
    );
    pair.west.transitSwitches.push({ name: 'blue', spec: transitSwitchSpec.parse({ vpc: 'b-west' }), status: {} });
    pair.east.subnets.push(subnetOf('b1', '10.20.0.0/24', { vpc: 'b-east' }));
    pair.west.subnets.push(subnetOf('b2', '10.21.0.0/24', { vpc: 'b-west' }));
    const [blue] = planOf(pair).networks;
    assert.deepEqual(
      blue?.ends.map(({ cluster, vpc, subnet }) => [cluster, vpc, subnet]),
      [
        ['east', 'b-east', 'b1'],
        ['west', 'b-west', 'b2'],
      ],
    );
    assert.ok(blue);
    assert.deepEqual(
      flowsOf(blue).map(({ from, to }) => `${from.cluster} ${to.cluster}`),
      ['east west', 'west east'],
    );
  });

  it('have pods in a Subnet that is offered, not private and not withheld, on different nodes', () => {
    const pair = wellPair();
    pair.east.subnets.unshift(
      subnetOf('a-private', '10.30.0.0/24', { allowed: [] }),
      subnetOf('a-secret', '10.31.0.0/24'),
      subnetOf('a-own', '10.32.0.0/24', { isDisabled: true }),
    );
    pair.east.policies.push(
      policyOf('secret', {
        direction: 'Export',
        match: { prefixes: ['10.31.0.0/24'] },
        rules: [{ action: 'Deny', match: { prefixes: [{ prefix: '10.31.0.0/24' }] } }],
      }),
    );
    const [end] = planOf(pair).networks[0]?.ends ?? [];
    assert.equal(end?.subnet, 'ovn-default');
    assert.deepEqual(end.nodes, { server: 'e3', client: 'e1' });
  });

  it('without a Subnet, a node or a partner are problems', () => {
    const problemOf = (change: (pair: Pair) => void): string => {
      const pair = wellPair();
      change(pair);
      return planOf(pair)
        .problems.map(({ cluster, evidence }) => `${cluster}: ${evidence}`)
        .join();
    };
    assert.match(
      problemOf(({ east }) => (east.subnets = [])),
      /^east: the VPC ovn-cluster has no Subnet$/,
    );
    assert.match(
      problemOf(({ east }) => Object.assign(east.subnets[1] ?? {}, { isDisabled: true })),
      /^east: .*is not shared/,
    );
    const tired = ({ west }: Pair) => {
      for (const { conditions } of west.nodes)
        for (const one of conditions) if (one.type === 'Ready') one.status = 'False';
    };
    assert.equal(problemOf(tired), 'west: no node is Ready');
    assert.match(
      problemOf(({ west }) => (west.transitSwitches = [])),
      /^east, west: no transit switch has two/,
    );
    assert.equal(
      problemOf(({ east }) => spoil(east, 'Ready', 'x', 'y')),
      '',
      'the conditions are checks of their own',
    );
  });
});

describe('test pods', () => {
  it('ask for no privilege', () => {
    const [network] = planOf(wellPair()).networks;
    const [end] = network?.ends ?? [];
    assert.ok(network && end);
    const run = { id: 'r', image: 'i', pullPolicy: 'Never' };
    const text = JSON.stringify(podManifest(network, end, 'server', run));
    assert.match(text, /"runAsNonRoot":true/);
    assert.match(text, /"drop":\["ALL"\]/);
    assert.doesNotMatch(text, /"add"|hostNetwork|hostPath|privileged":true/);
    assert.match(text, /"ovn.kubernetes.io\/logical_switch":"ovn-default"/);
    assert.match(text, /"busybox","echo","r\/east\/isthmus-verify-ts\/server"/);
  });
});

describe('output of programs', () => {
  it('of ping: iputils and busybox', () => {
    const iputils =
      '3 packets transmitted, 3 received, 0% packet loss, time 2003ms\nrtt min/avg/max/mdev = 0.5/0.71/1.2/0.1 ms';
    const busybox =
      '3 packets transmitted, 2 packets received, 33% packet loss\nround-trip min/avg/max = 0.5/0.71/1.2 ms';
    assert.deepEqual(pinged(result(iputils)), { isWell: true, said: '3 of 3 pings answered, 0.71 ms' });
    assert.deepEqual(pinged(result(busybox)), { isWell: false, said: '2 of 3 pings answered, 0.71 ms' });
    assert.deepEqual(pinged(result('', 'ping: socket: Operation not permitted', 2)), {
      isWell: false,
      said: 'ping: ping: socket: Operation not permitted',
    });
    assert.equal(pinged(result('0 packets transmitted, 0 received')).isWell, false);
  });

  it('of a connection: only the answer of the server counts', () => {
    assert.equal(connected(result('me\n'), 'me').isWell, true);
    assert.match(connected(result('you\n'), 'me').said, /something else answers there: you/);
    assert.deepEqual(connected(result('', '', 1), 'me'), { isWell: false, said: 'no answer: exit code 1' });
  });

  it('of a lookup: every address of the name is one of the import', () => {
    const answer = (...addresses: string[]) =>
      result(
        `Server:\t10.96.0.10\nAddress:\t10.96.0.10:53\n\nName:\tx\n${addresses.map((one) => `Address: ${one}`).join('\n')}\n`,
      );
    assert.deepEqual(resolved(answer('100.127.0.1'), ['100.127.0.1']), { isWell: true, said: '100.127.0.1' });
    assert.equal(resolved(answer('100.127.0.1', '10.0.0.1'), ['100.127.0.1']).isWell, false);
    assert.match(resolved(result('', "can't resolve", 1), ['100.127.0.1']).said, /no answer of DNS: can't resolve/);
  });
});
