import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointSlices, pods, services, switchLbRules, vpcDnses } from '../../lib/kube/resources.ts';
import type { RawObject, Resource } from '../../lib/kube/types.ts';
import { parseService } from '../../lib/services/parse.ts';
import { readRivals } from './rivals.ts';

const address = '198.51.100.7';
const settings = { balancesInOvn: true, nodesServe: true, allowsExternalIps: true };

function object(key: string, fields: object, metadata: object = {}): RawObject {
  const [namespace = '', name = ''] = key.split('/');
  return { metadata: { name, namespace, uid: key, resourceVersion: '1', ...metadata }, ...fields };
}

function aService(key: string, spec: object, metadata: object = {}): RawObject {
  return object(key, { spec: { clusterIPs: ['10.96.0.9'], ports: [{ port: 80 }], ...spec } }, metadata);
}

const rule = (name: string, vip: string, metadata = {}): RawObject =>
  object(`/${name}`, { spec: { vip, namespace: 'a', selector: ['app:web'], ports: [{ port: 80 }] } }, metadata);

const dns = (name: string, status: string, metadata = {}): RawObject =>
  object(`/${name}`, { spec: { vpc: 'blue' }, status: { conditions: [{ type: 'Validated', status }] } }, metadata);

const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const ofOld = { labels: { 'kubernetes.io/service-name': 'old' } };
const lists = new Map<Resource, readonly RawObject[]>([
  [
    services,
    [
      aService('a/web', { externalIPs: [address] }),
      aService('b/old', { clusterIPs: ['10.96.0.8'], externalIPs: [address] }),
      aService('c/named', { externalIPs: [address] }, { annotations: { 'ovn.kubernetes.io/vpc': 'blue' } }),
      aService('d/other', { clusterIPs: ['10.96.0.7'], externalIPs: ['198.51.100.8'] }),
      aService('e/headless', { clusterIPs: ['None'], externalIPs: [address] }),
      aService('kube-system/kube-dns', { clusterIPs: ['10.96.0.10'], ports: [{ port: 53, protocol: 'UDP' }] }),
      aService('default/kubernetes', { clusterIPs: ['10.96.0.1'], ports: [{ port: 443 }] }),
    ],
  ],
  [switchLbRules, [rule('same', address), rule('other', '1.1.1.1'), rule('gone', address, deleted), rule('bad', 'x')]],
  [vpcDnses, [dns('valid', 'True'), dns('refused', 'False'), dns('gone', 'True', deleted)]],
  [endpointSlices, [object('b/old-x', { endpoints: [] }, ofOld), object('b/new-x', { endpoints: [] })]],
  [pods, [object('b/old-1', {})]],
]);

test('only Services that share an address are rivals, and only their endpoints are read', async () => {
  const read: string[] = [];
  const client = {
    list: (resource: Resource, { namespace = '' }: { namespace?: string } = {}) => {
      read.push(`${resource.kind} ${namespace}`.trim());
      return Promise.resolve(lists.get(resource) ?? []);
    },
  };
  const wanted = parseService(aService('a/web', { externalIPs: [address] }));
  const api = { client, signal: new AbortController().signal };
  const rivals = await readRivals(api, wanted, settings);
  assert.deepEqual(
    rivals.services.map(({ service, slices, pods: ofPods }) => [service.name, slices.length, [...ofPods.keys()]]),
    [
      ['old', 1, ['b/old-1']],
      ['named', 0, []],
    ],
  );
  assert.deepEqual(
    rivals.rules.map((one) => one.object.name),
    ['same'],
  );
  assert.deepEqual(rivals.vpcDnses, [
    { name: 'valid', vpc: 'blue', vips: new Set(['udp 10.96.0.10:53', 'tcp 10.96.0.1:443']) },
  ]);
  assert.deepEqual(read, ['Service', 'SwitchLBRule', 'VpcDns', 'EndpointSlice b', 'Pod b']);
});
