import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missesOf } from './misses.ts';
import { viewOf } from './offers/view.ts';
import { ownersOf, ownPrefixesOf } from './own-prefixes.ts';
import type { ObjectRef } from './objects.ts';
import { advertisementOf, podOf, serviceOf, stateOf, subnetOf, type TestObjects } from './testing.ts';

function missed(objects: TestObjects, ref: ObjectRef, prefix?: string): string[] {
  const state = stateOf(objects);
  const own = ownPrefixesOf(state, ref).find((each) => prefix === undefined || each.prefix === prefix);
  return missesOf(viewOf(state), ref, own).map(({ code, message }) => `${code}: ${message}`);
}

const pod: ObjectRef = { source: 'Pod', key: 'default/web' };
const web = subnetOf('web', ['10.16.0.0/16'], { labels: { tier: 'web' } });
const objects: TestObjects = { subnets: [web], pods: [podOf('web', ['10.16.0.7'], { labels: { app: 'web' } })] };

test('a selector that does not match is reported with its requirement and the labels of the object', () => {
  const selector = {
    matchLabels: { app: 'db' },
    matchExpressions: [
      { key: 'zone', operator: 'In', values: ['a', 'b'] },
      { key: 'app', operator: 'Exists' },
    ],
  };
  assert.deepEqual(missed({ ...objects, advertisements: [advertisementOf('a', { source: 'Pod', selector })] }, pod), [
    'NotSelected: advertisement a selects app=db (it has app=web), zone in (a, b) (it has no zone); pod default/web is not selected',
  ]);
});

test('so do a selector of namespaces and one of the subnet; other sources are not looked at', () => {
  const advertisements = [
    advertisementOf('ns', { source: 'Pod', namespaceSelector: { matchLabels: { team: 'x' } } }),
    advertisementOf('local', { scope: 'Local', selector: { matchLabels: { tier: 'db' } } }),
    advertisementOf('subnets', { selector: { matchLabels: { tier: 'db' } } }),
    advertisementOf('services', { source: 'Service' }),
  ];
  assert.deepEqual(missed({ ...objects, advertisements, namespaces: { default: { team: 'y' } } }, pod), [
    'NamespaceNotSelected: advertisement ns selects namespaces by team=x (it has team=y); default is not selected',
    'NotSelected: advertisement local selects tier=db (it has tier=web); subnet web is not selected',
  ]);
});

test('an advertisement that announces or refuses the prefix has no missing requirement', () => {
  const finished = podOf('web', ['10.16.0.7'], { isAlive: false });
  const advertisements = [advertisementOf('all', { source: 'Pod', aggregation: { ipv4Length: 26 } })];
  assert.deepEqual(missed({ ...objects, advertisements }, pod), []);
  assert.deepEqual(missed({ ...objects, advertisements, pods: [finished] }, pod), []);
});

test('a selected object that an advertisement cannot announce is reported with the reason', () => {
  const subnet: ObjectRef = { source: 'Subnet', key: 'web' };
  const lb: ObjectRef = { source: 'Service', key: 'default/lb' };
  const tenant = subnetOf('web', ['10.16.0.0/16'], { vpc: 'tenant' });
  assert.deepEqual(missed({ subnets: [web], advertisements: [advertisementOf('local', { scope: 'Local' })] }, subnet), [
    'PodsInstead: advertisement local has scope Local: it announces the pods of subnet web one by one, not its CIDR',
  ]);
  assert.deepEqual(missed({ subnets: [tenant] }, subnet), [
    'NotAnnounceable: subnet web is the join subnet or of a VPC (tenant) that nodes have no route into',
  ]);
  const services = [serviceOf('lb', { type: 'ClusterIP', clusterIps: ['10.96.0.5'] })];
  assert.deepEqual(missed({ services, advertisements: [advertisementOf('lb', { source: 'Service' })] }, lb), [
    'NotTaken: advertisement lb does not take the ClusterIP of service default/lb',
  ]);
});

test('an advertisement that cannot be read may be the matching one', () => {
  const problem = { code: 'InvalidSpec', message: 'spec.source: odd; correct the object' };
  const odd = { ...advertisementOf('odd'), spec: { problem } };
  assert.deepEqual(missed({ ...objects, advertisements: [odd] }, pod), [
    'InvalidSpec: advertisement odd is unusable: spec.source: odd; correct the object',
  ]);
});

test('exactly the objects that have an address are found', () => {
  const services = [serviceOf('lb', { clusterIps: ['10.96.0.5'], loadBalancerIps: ['192.0.2.1'] })];
  const owners = (prefix: string) => ownersOf(stateOf({ ...objects, services }), (own) => own === prefix);
  assert.deepEqual(owners('10.16.0.7/32'), [pod]);
  assert.deepEqual(owners('10.16.0.0/16'), [{ source: 'Subnet', key: 'web' }]);
  assert.deepEqual(owners('192.0.2.1/32'), [{ source: 'Service', key: 'default/lb' }]);
  assert.deepEqual(owners('10.16.0.8/32'), []);
});
