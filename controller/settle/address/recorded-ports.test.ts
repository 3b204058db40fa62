import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseIp } from '../../../lib/net/ip.ts';
import type { PortRecord } from './records.ts';
import { reportedPod } from '../../testing-reports.ts';
import { basic as started, created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseIp as parseIpObject } from '../../watch/addresses.ts';
import { parseNamespace, parsePod } from '../../watch/workloads.ts';
import { TestCluster } from '../../testing-cluster.ts';

const web = { namespace: 'ns', ...created(3) };
const addressOf = (cluster: TestCluster, name: string) => cluster.ports(`pod/ns/${name}`)[0]?.allocation.v4;

/** Annotations and status that vouch for an address, as a kubelet that knows the digest could write them. */
function vouchedFor(address: string) {
  const cluster = started();
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  const annotations = { 'ovn.kubernetes.io/ip_address': address };
  cluster.change(
    'pods',
    'ns/web',
    parsePod({ metadata: meta('web', { ...web, annotations }), spec: { nodeName: 'n1' } }),
  );
  cluster.settle();
  assert.equal(addressOf(cluster, 'web'), address);
  return reportedPod(cluster, 'ns/web');
}

/** Another process, before it has read the pods. */
function starting(): TestCluster {
  const next = new TestCluster();
  vpc(next, 'ovn-cluster', {}, created(1));
  subnet(next, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(next, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  next.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  return next;
}

const record = (address: string): PortRecord => {
  const ip = parseIp(address);
  assert.ok(ip);
  return { subnet: 'ovn-default', addresses: [ip] };
};

const ipObject = (address: string) =>
  parseIpObject({
    metadata: meta('web.ns', { labels: { 'ovn.kubernetes.io/subnet': 'ovn-default' } }),
    spec: { podName: 'web', namespace: 'ns', subnet: 'ovn-default', ipAddress: address, v4IpAddress: address },
  });

describe('the restart with a pod whose status vouches for an address', () => {
  for (const [what, { ip, row, expected }] of Object.entries({
    'neither IP object nor row: the status': { ip: undefined, row: undefined, expected: '10.16.0.66' },
    'a row of another address: the row': { ip: undefined, row: '10.16.0.9', expected: '10.16.0.9' },
    'an IP object of another address: the IP object': { ip: '10.16.0.9', row: undefined, expected: '10.16.0.9' },
    'both of another address': { ip: '10.16.0.9', row: '10.16.0.9', expected: '10.16.0.9' },
    'a row from a backup, and an IP object that agrees': { ip: '10.16.0.66', row: '10.16.0.9', expected: '10.16.0.66' },
    'an IP object that was edited, and a row that agrees': {
      ip: '10.16.0.9',
      row: '10.16.0.66',
      expected: '10.16.0.66',
    },
  }))
    test(what, () => {
      const { annotations, status } = vouchedFor('10.16.0.66');
      const next = starting();
      next.change(
        'pods',
        'ns/web',
        parsePod({ metadata: meta('web', { ...web, annotations }), spec: { nodeName: 'n1' }, status }),
      );
      if (ip !== undefined) next.change('ips', 'web.ns', ipObject(ip));
      next.restore(row === undefined ? new Map() : new Map([['web.ns', record(row)]]));
      next.settle();
      assert.equal(addressOf(next, 'web'), expected);
    });

  test('an address on record is not lost to a status that vouches for it, even of an older pod', () => {
    const { annotations, status } = vouchedFor('10.16.0.66');
    const next = starting();
    for (const [name, day] of [
      ['forger', 2],
      ['web', 3],
    ] as const)
      next.change(
        'pods',
        `ns/${name}`,
        parsePod({
          metadata: meta(name, { namespace: 'ns', ...created(day), annotations }),
          spec: { nodeName: 'n1' },
          status,
        }),
      );
    next.restore(new Map([['web.ns', record('10.16.0.66')]]));
    next.settle();
    assert.equal(addressOf(next, 'web'), '10.16.0.66');
    assert.notEqual(addressOf(next, 'forger'), '10.16.0.66');
  });
});
