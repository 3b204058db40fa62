import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  array,
  assert as assertProperty,
  boolean,
  constantFrom,
  dictionary,
  ipV4,
  ipV6,
  maxSafeNat,
  nat,
  oneof,
  property,
  record,
  string,
  subarray,
} from 'fast-check';
import type { Family } from '../../lib/net/ip.ts';
import type { ExportReport } from '../model/export-messages.ts';
import type { ExportedService } from '../model/exported-service.ts';
import { endpoint, exported } from '../model/testing-exports.ts';
import { ExportsBed, textOf, type BedMember } from './exports-bed.ts';
import { costOfEndpoint } from './exports-cost.ts';

describe('exports after any sequence of events', () => {
  const names = ['a', 'b', 'c', 'd'];
  const namespaces = ['n1', 'n2'];
  const service = record({
    name: nat(2),
    namespace: constantFrom(...namespaces),
    hosts: array(nat(3), { maxLength: 3 }),
  });
  const step = oneof(
    record({
      what: constantFrom('export'),
      who: nat(3),
      services: array(service, { maxLength: 4 }),
      has: subarray(namespaces),
    }),
    record({
      what: constantFrom('connect', 'disconnect', 'deaf', 'listen', 'restart', 'rename', 'prefix', 'limit', 'wait'),
      who: nat(3),
      services: constantFrom([]),
      has: constantFrom([]),
    }),
  );

  it('are those that the others export, in the own namespaces', () => {
    assertProperty(
      property(array(step, { maxLength: 40 }), (steps) => {
        const bed = new ExportsBed();
        try {
          const members = names.map((name, at) => bed.member(name, [`10.${at}.0.0/30`]));
          const wanted = new Map<BedMember, { services: readonly ExportedService[]; has: readonly string[] }>();
          for (const member of members) {
            wanted.set(member, { services: [], has: [] });
            bed.setExports(member, [], []);
            bed.connect(member);
          }
          for (const { what, who, services, has } of steps) {
            const member = members[who];
            assert.ok(member);
            if (what === 'export') {
              const found = new Map(
                services.map(({ namespace, name, hosts }) => {
                  const addresses = [...new Set(hosts)].map((host) => `10.${who}.0.${host}`);
                  return [`${namespace}/s${name}`, exported(`${namespace}/s${name}`, addresses)];
                }),
              );
              wanted.set(member, { services: [...found.values()], has });
              bed.setExports(member, [...found.values()], has);
            } else if (what === 'connect') bed.connect(member);
            else if (what === 'disconnect') bed.disconnect(member);
            else if (what === 'deaf') member.isDeaf = true;
            else if (what === 'listen') bed.listen(member);
            else if (what === 'restart') bed.restart();
            else if (what === 'rename') bed.rename(member, `${member.name}x`);
            else if (what === 'prefix')
              bed.setPrefixes(member, [`10.${who}.0.0/${member.prefixes[0]?.endsWith('30') ? 31 : 30}`]);
            else if (what === 'limit') {
              member.spec = { ...member.spec, maxExports: member.spec.maxExports === 2 ? 1000 : 2 };
              bed.hub.limitsChanged(member.name);
            } else bed.settle();
          }
          for (const member of members) {
            bed.listen(member);
            if (member.open === undefined) bed.connect(member);
          }
          for (let turn = 0; turn < 3; turn += 1) bed.settle();
          const shown = (member: BedMember) => {
            const last = member.prefixes[0]?.endsWith('30') ? 3 : 1;
            const sorted = (wanted.get(member)?.services ?? []).toSorted((a, b) =>
              `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1,
            );
            return sorted.slice(0, member.spec.maxExports).map(
              (one) =>
                [
                  one.namespace,
                  textOf(
                    member.name,
                    `${one.namespace}/${one.name}`,
                    one.endpoints.filter(({ address }) => Number(address.split('.')[3]) <= last),
                  ),
                ] as const,
            );
          };
          for (const member of members) {
            const others = members.filter((other) => other !== member).flatMap(shown);
            const has = new Set(wanted.get(member)?.has);
            const expected = others.flatMap(([namespace, text]) => (has.has(namespace) ? [text] : []));
            assert.deepEqual(member.view(), expected.sort());
            assert.deepEqual(member.remote.expected, new Set());
          }
        } finally {
          bed.close();
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('reports with any content', () => {
  const text = oneof(
    string({ unit: 'binary', maxLength: 4 }),
    constantFrom('shop', 'web', 'db', '__proto__', 'x'.repeat(300)),
  );
  const uint32 = nat(2 ** 31 - 1);
  const port = record({ name: text, protocol: oneof(text, constantFrom('TCP')), port: uint32, appProtocol: text });
  const anyEndpoint = record({
    address: oneof(text, ipV4(), ipV6(), constantFrom('10.1.0.1', '10.1.0.2')),
    hostname: text,
    zone: text,
    node: text,
    isReady: boolean(),
    isServingWhileTerminating: boolean(),
    ports: array(port, { maxLength: 2 }),
  });
  const anything = record({
    namespace: text,
    name: text,
    createdMs: oneof(nat(), maxSafeNat()),
    type: oneof(text, constantFrom('ClusterSetIP')),
    ports: array(port, { maxLength: 2 }),
    affinitySeconds: uint32,
    isInternalPolicyLocal: boolean(),
    trafficDistribution: text,
    ipFamilies: array(oneof(uint32, constantFrom(4, 6)), { maxLength: 300 }),
    labels: dictionary(text, text, { maxKeys: 2 }),
    annotations: dictionary(text, text, { maxKeys: 2 }),
    isWhole: boolean(),
    endpoints: array(anyEndpoint, { maxLength: 3 }),
    removedAddresses: array(text, { maxLength: 2 }),
  });
  const usual = record({
    isWhole: boolean(),
    name: constantFrom('web', 'db'),
    ipFamilies: array(constantFrom<Family>(4, 6), { maxLength: 300 }),
    endpoints: subarray([endpoint('10.1.0.1'), endpoint('10.1.0.2')]),
  }).map(({ name, ...rest }) => ({ ...exported(`shop/${name}`, []), ...rest, removedAddresses: [] }));
  const reports = array(
    record({
      revision: uint32,
      begins: boolean(),
      isComplete: boolean(),
      changed: array(oneof(anything, usual), { maxLength: 3 }),
      removed: array(oneof(text, constantFrom('shop/web')), { maxLength: 2 }),
      namespacesAdded: array(text, { maxLength: 2 }),
      namespacesRemoved: array(text, { maxLength: 2 }),
    }),
    { maxLength: 12 },
  );

  it('never stop the hub, and give others only what they can use', () => {
    assertProperty(
      property(reports, (all) => {
        const bed = new ExportsBed();
        try {
          const [east, west] = [bed.member('east', ['10.1.0.0/16']), bed.member('west', ['10.2.0.0/16'])];
          for (const member of [east, west]) bed.connect(member);
          bed.setExports(west, [exported('shop/web', ['10.2.0.1'])], ['shop']);
          for (const report of all) {
            bed.receive(east, report as ExportReport);
            bed.settle();
          }
          for (const [key, { endpoints, ipFamilies }] of west.remote.clusters.get('east') ?? []) {
            assert.match(key, /^shop\/[a-z][a-z0-9-]*$/);
            assert.ok(ipFamilies.length <= 2, JSON.stringify(ipFamilies));
            assert.ok(
              endpoints.every(({ address }) => address.startsWith('10.1.')),
              JSON.stringify(endpoints),
            );
          }
          assert.ok(
            east.remote.rejections.every(({ value, message }) => value.length <= 255 && message.isWellFormed()),
          );
        } finally {
          bed.close();
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('the work for one changed endpoint', () => {
  it('does not grow with the number of members, and others receive nothing', async (t) => {
    const [small, large] = [await costOfEndpoint(50), await costOfEndpoint(1000)];
    t.diagnostic(
      `50 members: ${small.cpuMs.toFixed(2)} ms CPU; 1000 members: ${large.cpuMs.toFixed(2)} ms CPU, ${large.importer} bytes to each importer`,
    );
    assert.equal(large.others, 0);
    assert.ok(large.importer > 0 && large.importer < 2048, `${large.importer} bytes`);
    assert.ok(large.cpuMs < small.cpuMs * 5 + 1, `${small.cpuMs} ms with 50 members, ${large.cpuMs} with 1000`);
  });
});
