import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseLocalService, parseLocalSlice, parseServiceExport } from '../../watch/service-objects.ts';
import { cidr } from '../../model/testing.ts';
import type { LocalVpc } from '../../model/local.ts';
import { ownExportOf, type OwnExport } from './valid-exports.ts';

const metadata = {
  name: 'web',
  namespace: 'shop',
  uid: 'u',
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
};
const object = parseServiceExport({ metadata, spec: { exportedLabels: { a: 'b', bad: 1 } } });

function vpc(router: string, ...ranges: string[]): LocalVpc {
  return {
    router,
    routerId: router,
    prefixes: [],
    ranges: ranges.map((one) => ({ name: one, cidr: cidr(one) })),
    links: [],
  };
}

const one = new Map([['ovn-cluster', vpc('ovn-cluster', '10.16.0.0/16')]]);
const two = new Map([...one, ['blue', vpc('blue', '10.16.0.0/24', '10.50.0.0/16')]]);

function exported(
  spec: Record<string, unknown>,
  {
    addresses = ['10.16.0.9'],
    vpcs = one,
    annotations = {},
    isShared = true,
    before = undefined as OwnExport | undefined,
  } = {},
): OwnExport {
  const service = parseLocalService({ metadata: { ...metadata, annotations }, spec });
  const slice = parseLocalSlice({
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'web', 'service.kubernetes.io/headless': '' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: addresses.map((address) => ({ addresses: [address], hostname: 'web-0', zone: 'z', nodeName: 'n1' })),
  });
  return ownExportOf({ object: { ...object, isShared }, service, slices: [slice] }, vpcs, before);
}

const clusterIp = {
  clusterIPs: ['10.96.0.9'],
  ipFamilies: ['IPv4'],
  ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: 'h2c' }],
  sessionAffinity: 'ClientIP',
  trafficDistribution: 'PreferClose',
};

describe('an export of this cluster', () => {
  it('has what the Service and its endpoints say', () => {
    assert.deepEqual(exported(clusterIp).exported, {
      namespace: 'shop',
      name: 'web',
      createdMs: Date.parse('2026-01-01T00:00:00Z'),
      type: 'ClusterSetIP',
      ports: [{ name: 'http', protocol: 'TCP', port: 80, appProtocol: 'h2c' }],
      affinitySeconds: 10_800,
      isInternalPolicyLocal: false,
      trafficDistribution: 'PreferClose',
      ipFamilies: [4],
      labels: { a: 'b' },
      annotations: {},
      endpoints: [
        {
          address: '10.16.0.9',
          hostname: 'web-0',
          zone: 'z',
          node: 'n1',
          isReady: true,
          isServingWhileTerminating: false,
          ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
        },
      ],
    });
    assert.equal(exported({ clusterIPs: ['None'], ports: [] }).exported?.type, 'Headless');
  });

  it('is not valid without a Service, or of an ExternalName', () => {
    const missing = ownExportOf({ object, service: undefined, slices: [] }, one);
    assert.equal(missing.invalid?.code, 'NoService');
    const external = exported({ type: 'ExternalName', externalName: 'example.com' });
    assert.deepEqual([external.invalid?.code, external.exported], ['InvalidServiceType', undefined]);
  });

  it('is not valid with more ports than an export has', () => {
    const ports = Array.from({ length: 101 }, (_, at) => ({ name: `p${at}`, port: at + 1, protocol: 'TCP' }));
    const of = (count: number, inSlice: number) => {
      const service = parseLocalService({ metadata, spec: { ...clusterIp, ports: ports.slice(0, count) } });
      const slice = parseLocalSlice({
        metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        ports: Array.from({ length: inSlice }, (_, at) => ({ name: `p${at}`, port: at + 1 })),
        endpoints: [{ addresses: ['10.16.0.9'] }],
      });
      return { slice, found: ownExportOf({ object, service, slices: [slice] }, one) };
    };
    assert.equal(of(100, 100).found.invalid, undefined);
    for (const [count, inSlice] of [
      [101, 1],
      [1, 101],
    ] as const) {
      const { invalid, exported: sent, endpoints } = of(count, inSlice).found;
      assert.deepEqual([invalid?.code, sent, endpoints.size], ['TooManyPorts', undefined, 0]);
      assert.match(invalid?.message ?? '', /more than 100 ports/);
    }
    assert.equal(of(1, 20_000).slice.endpoints[0]?.ports.length, 101, 'no more of them are kept');
  });

  it('serves the endpoints of each VPC there, and sends those whose VPC is certain', () => {
    const addressesIn = (found: OwnExport, name: string) => found.endpoints.get(name)?.map(({ address }) => address);
    const addresses = ['10.16.0.9', '10.16.1.9', '10.50.0.9'];
    const elsewhere = { 'isthmus.network/endpoints-elsewhere': '10.50.0.9' };
    const found = exported(clusterIp, { addresses, vpcs: two, annotations: elsewhere });
    assert.deepEqual(addressesIn(found, 'ovn-cluster'), ['10.16.0.9', '10.16.1.9']);
    assert.deepEqual(addressesIn(found, 'blue'), ['10.50.0.9']);
    assert.deepEqual(
      found.exported?.endpoints.map(({ address }) => address),
      ['10.16.1.9', '10.50.0.9'],
    );
    const unknown = exported(clusterIp, { addresses: ['10.60.0.9'], annotations: { 'ovn.kubernetes.io/vpc': 'red' } });
    assert.deepEqual([unknown.endpoints.size, unknown.exported?.endpoints], [0, []], 'of a VPC that takes no part');
  });

  it('keeps endpoints that are not shared for clients of this cluster', () => {
    const { exported: sent, unshared, endpoints, invalid } = exported(clusterIp, { isShared: false });
    assert.deepEqual([sent, invalid, endpoints.get('ovn-cluster')?.length], [undefined, undefined, 1]);
    assert.equal(unshared?.endpoints.length, 1);
    assert.equal(exported(clusterIp).unshared, undefined);
  });

  it('is the same object while it is equal', () => {
    const before = exported(clusterIp);
    assert.equal(exported(clusterIp, { before }).exported, before.exported);
    assert.notEqual(exported({ ...clusterIp, sessionAffinity: 'None' }, { before }).exported, before.exported);
  });
});
