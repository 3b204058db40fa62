import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NamedPort, PolicyPort } from '../../../lib/policies/policy.ts';
import {
  commonPorts,
  isEmpty,
  namesIn,
  partialProtocols,
  portsOfRule,
  portsWithout,
  portTexts,
  reachedAt,
  unionOf,
  type PortSet,
} from './ports.ts';

const named: readonly NamedPort[] = [
  { name: 'http', protocol: 'tcp', number: 8080 },
  { name: 'dns', protocol: 'udp', number: 53 },
];
const of = (...ports: readonly PolicyPort[]) => portsOfRule(ports, named);
const tcp = (port: number | string, endPort?: number): PolicyPort => ({
  protocol: 'tcp',
  port,
  ...(endPort !== undefined && { endPort }),
});

test('ports of rules have texts', () => {
  assert.deepEqual(portTexts(portsOfRule(undefined, named)), ['all ports']);
  assert.deepEqual(portTexts(of({ protocol: 'udp' }, tcp(80), tcp(8000, 8080), { protocol: 'sctp', port: 7 })), [
    'all UDP',
    'TCP 80',
    'TCP 8000-8080',
    'SCTP 7',
  ]);
  assert.deepEqual(portTexts(of(tcp('http'), { protocol: 'udp', port: 'dns' })), ['http (TCP)', 'dns (UDP)']);
});

test('a name that the destination does not have, and a range that ends before it begins, are no ports', () => {
  assert.deepEqual(portTexts(of(tcp('metrics'), tcp('dns'), tcp(9, 8))), []);
  assert.deepEqual(portTexts(portsOfRule([tcp('metrics')], undefined)), ['metrics (TCP)']);
});

test('a union is in one order and names no port twice', () => {
  const texts = (...ports: readonly PolicyPort[]) => portTexts(unionOf([of(...ports)]));
  assert.deepEqual(texts({ protocol: 'udp', port: 53 }, tcp(90), tcp(80), tcp(80)), ['TCP 80', 'TCP 90', 'UDP 53']);
  assert.deepEqual(texts(tcp(85, 95), tcp(80, 90), tcp(82)), ['TCP 80-95']);
  assert.deepEqual(texts(tcp('http'), tcp(8000, 9000)), ['TCP 8000-9000']);
  assert.deepEqual(texts(tcp('http'), tcp(8080)), ['TCP 8080']);
  assert.deepEqual(texts(tcp(80), tcp(81)), ['TCP 80', 'TCP 81']);
  assert.deepEqual(texts(tcp(80), { protocol: 'tcp' }), ['all TCP']);
  assert.equal(unionOf([of(tcp(80)), 'all']), 'all');
});

test('two sets have in common what both contain', () => {
  const texts = (a: readonly PolicyPort[], b: readonly PolicyPort[]) => portTexts(commonPorts(of(...a), of(...b)));
  assert.deepEqual(texts([tcp(80, 90)], [tcp(85, 95), { protocol: 'udp' }]), ['TCP 85-90']);
  assert.deepEqual(texts([tcp('http')], [tcp(8000, 9000)]), ['http (TCP)']);
  assert.deepEqual(texts([tcp(80)], [{ protocol: 'udp', port: 80 }]), []);
  assert.deepEqual(texts([{ protocol: 'tcp' }], [{ protocol: 'tcp' }]), ['all TCP']);
  assert.deepEqual(portTexts(commonPorts('all', 'all')), ['all ports']);
  assert.deepEqual(portTexts(commonPorts(of(tcp(80)), 'all')), ['TCP 80']);
  assert.deepEqual(portTexts(commonPorts('all', [])), []);
});

test('a destination decides the numbers of names', () => {
  const unknown = unionOf([portsOfRule([tcp('metrics'), tcp('http'), tcp('http'), tcp(80)], undefined)]);
  assert.deepEqual(portTexts(unknown), ['TCP 80', 'http (TCP)', 'metrics (TCP)']);
  assert.deepEqual(portTexts(commonPorts(unknown, of(tcp(8080)))), ['http (TCP)', 'metrics (TCP)']);
  assert.deepEqual(portTexts(commonPorts(unknown, [{ protocol: 'udp', name: undefined, span: [1, 65_535] }])), []);
  const http = portsOfRule([tcp('http')], undefined);
  assert.deepEqual(portTexts(commonPorts(unknown, http)), ['http (TCP)']);
  assert.deepEqual(portTexts(portsWithout(unknown, http)), ['TCP 80', 'metrics (TCP)']);
  assert.deepEqual(portTexts(portsWithout(unknown, of({ protocol: 'tcp' }))), []);
  assert.equal(portsWithout('all', http), 'all');
  assert.deepEqual(portTexts(namesIn(unknown)), ['http (TCP)', 'metrics (TCP)']);
  assert.deepEqual([...partialProtocols(unknown), ...partialProtocols('all')], ['tcp']);
  assert.deepEqual(portTexts(commonPorts(reachedAt(unknown, named), of(tcp(8080)))), ['http (TCP)']);
  assert.equal(reachedAt('all', named), 'all');
});

test('what is left of a set without another one', () => {
  const texts = (a: PortSet, b: PortSet) => portTexts(portsWithout(a, b));
  assert.deepEqual(texts('all', of(tcp(80, 90))), ['TCP 1-79', 'TCP 91-65535', 'all UDP', 'all SCTP']);
  assert.deepEqual(texts('all', of({ protocol: 'tcp' }, { protocol: 'udp' }, { protocol: 'sctp' })), []);
  assert.deepEqual(texts(of(tcp(80), tcp(90)), 'all'), []);
  assert.deepEqual(texts(of(tcp('http'), tcp(80, 90)), of(tcp(80), tcp(90))), ['TCP 81-89', 'http (TCP)']);
  assert.deepEqual(texts(of(tcp('http')), of(tcp(8080))), []);
  assert.deepEqual(texts(of(tcp(80)), of({ protocol: 'udp', port: 80 })), ['TCP 80']);
  assert.equal(isEmpty(portsWithout(of(tcp(80)), of(tcp(1, 100)))), true);
});

test('what was taken apart is one range again', () => {
  const rest = portsWithout('all', of(tcp(80), tcp(443)));
  const texts = (...sets: readonly PortSet[]) => portTexts(unionOf([rest, ...sets])).slice(0, -2);
  assert.deepEqual(texts(of(tcp(80))), ['TCP 1-442', 'TCP 444-65535']);
  assert.deepEqual(texts(of(tcp(80), tcp(443))), ['all TCP']);
  assert.deepEqual(texts(of(tcp(79, 80))), ['TCP 1-442', 'TCP 444-65535']);
});
