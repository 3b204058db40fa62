import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elsewhereText, endpointsElsewhere } from './elsewhere.ts';
import { parseService } from './parse.ts';

function serviceOf(annotations: Record<string, string> = {}) {
  return parseService({
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '1', annotations },
  });
}

test('nodes leave out what the controller says is elsewhere', () => {
  const many = Array.from({ length: 257 }, (_, index) => `10.16.${index >> 8}.${index & 255}`);
  for (const [vpc, foreignEndpoints, text, read] of [
    ['ovn-cluster', [], null, []],
    ['ovn-cluster', ['10.16.0.3', '10.16.0.2'], '10.16.0.2,10.16.0.3', ['10.16.0.2', '10.16.0.3']],
    ['ovn-cluster', many, '*', 'all'],
    ['blue', [], '*', 'all'],
  ] as const) {
    assert.equal(elsewhereText(vpc, serviceOf(), foreignEndpoints), text);
    const found = endpointsElsewhere(serviceOf(text === null ? {} : { 'isthmus.network/endpoints-elsewhere': text }));
    assert.deepEqual(found === 'all' ? found : [...found], read);
  }
});

test('a Service that names its VPC needs no annotation of the controller, and an empty name is none', () => {
  const named = serviceOf({ 'ovn.kubernetes.io/vpc': 'blue' });
  assert.equal(elsewhereText('blue', named, ['10.16.0.2']), null);
  assert.equal(endpointsElsewhere(named), 'all');
  assert.notEqual(endpointsElsewhere(serviceOf({ 'ovn.kubernetes.io/vpc': '' })), 'all');
  assert.equal(elsewhereText('blue', serviceOf({ 'ovn.kubernetes.io/vpc': '' }), []), '*');
});
