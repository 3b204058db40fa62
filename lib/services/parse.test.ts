import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RawObject } from '../kube/types.ts';
import { endpointSliceSchemas, serviceSchemas } from '../testing-core-schemas.ts';
import { fuzzParser } from '../testing-fuzz.ts';
import { parseEndpointSlice, parseService } from './parse.ts';
import { sourceRangesOf } from './service.ts';

const metadata = { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '1' };

function service(spec: object, more: Partial<RawObject> = {}): RawObject {
  return { kind: 'Service', metadata, spec: { clusterIPs: ['10.96.0.10'], ...spec }, ...more };
}

function slice(more: object, labels: Record<string, string> = { 'kubernetes.io/service-name': 'web' }): RawObject {
  return { kind: 'EndpointSlice', metadata: { ...metadata, labels }, addressType: 'IPv4', ...more };
}

describe('a Service', () => {
  it('has the defaults of the API for absent fields', () => {
    const parsed = parseService(service({ ports: [{ port: 80 }] }));
    assert.deepEqual(parsed.ports, [{ name: '', protocol: 'TCP', port: 80, nodePort: 0 }]);
    assert.deepEqual(
      [parsed.type, parsed.isServed, parsed.affinitySeconds, parsed.isExternalPolicyLocal],
      ['ClusterIP', true, undefined, false],
    );
  });

  it('with session affinity keeps a client for three hours, or for its timeout', () => {
    const affinity = { sessionAffinity: 'ClientIP' };
    assert.equal(parseService(service(affinity)).affinitySeconds, 10_800);
    const config = { sessionAffinityConfig: { clientIP: { timeoutSeconds: 7 } } };
    assert.equal(parseService(service({ ...affinity, ...config })).affinitySeconds, 7);
  });

  it('of a SwitchLBRule shows what the rule determines, in the order in which it is written', () => {
    const labels = { 'isthmus.network/switch-lb-rule': 'web' };
    const spec = {
      clusterIPs: ['None'],
      selector: { tier: 'front', app: 'web' },
      ports: [{ port: 80, targetPort: 8080, protocol: 'TCP', name: 'http' }],
      sessionAffinity: 'None',
    };
    const { ruleSpec, isServed } = parseService(service(spec, { metadata: { ...metadata, labels } }));
    const expected = {
      selector: { app: 'web', tier: 'front' },
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
      sessionAffinity: 'None',
    };
    assert.deepEqual([JSON.stringify(ruleSpec), isServed], [JSON.stringify(expected), false]);
    assert.equal(parseService(service(spec)).ruleSpec, undefined);
  });

  it('is not served if it is headless, an ExternalName, or of another proxy', () => {
    const label = (name: string): RawObject => service({}, { metadata: { ...metadata, labels: { [name]: 'x' } } });
    for (const raw of [
      service({ clusterIPs: ['None'] }),
      service({ type: 'ExternalName', clusterIPs: undefined }),
      label('service.kubernetes.io/service-proxy-name'),
      label('service.kubernetes.io/headless'),
    ])
      assert.equal(parseService(raw).isServed, false);
  });

  it('has canonical addresses, and those of its load balancer unless their mode is Proxy', () => {
    const raw = service(
      { type: 'LoadBalancer', clusterIPs: ['FD00:0::A'], loadBalancerSourceRanges: ['10.0.0.1/8 ', 'x'] },
      { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { ip: '192.0.2.2', ipMode: 'Proxy' }] } } },
    );
    const parsed = parseService(raw);
    assert.deepEqual(parsed.clusterIps, ['fd00::a']);
    assert.deepEqual(parsed.loadBalancerIps, ['192.0.2.1']);
    assert.deepEqual(parsed.loadBalancerSourceRanges, ['10.0.0.0/8']);
  });

  it('has addresses and ranges with leading zeros, or of IPv4 in IPv6, as the API server reads them', () => {
    const raw = service({
      clusterIPs: ['010.096.000.010', '::ffff:10.96.0.11'],
      loadBalancerSourceRanges: ['010.0.0.0/08', '::ffff:192.0.2.0/120'],
    });
    const parsed = parseService(raw);
    assert.deepEqual(parsed.clusterIps, ['10.96.0.10', '10.96.0.11']);
    assert.deepEqual(parsed.loadBalancerSourceRanges, ['10.0.0.0/8', '192.0.2.0/24']);
  });

  it('has source ranges for each family: those of one family alone leave the other open', () => {
    const of = (...ranges: readonly string[]) => {
      const parsed = parseService(service({ loadBalancerSourceRanges: ranges }));
      return [sourceRangesOf(parsed, 4), sourceRangesOf(parsed, 6)];
    };
    assert.deepEqual(of(), [undefined, undefined]);
    assert.deepEqual(of('10.0.0.0/8'), [['10.0.0.0/8'], undefined]);
    assert.deepEqual(of('10.0.0.0/8', 'fd00::/8'), [['10.0.0.0/8'], ['fd00::/8']]);
    assert.deepEqual(of('x'), [[], []], 'nothing readable admits nobody');
  });

  it('admits nobody by source ranges that cannot be read, and everybody without any', () => {
    const rangesOf = (ranges: unknown) =>
      parseService(service({ loadBalancerSourceRanges: ranges })).loadBalancerSourceRanges;
    assert.deepEqual(rangesOf(['x']), []);
    assert.deepEqual([rangesOf([]), rangesOf(undefined)], [undefined, undefined]);
  });

  it('has what its load balancer is asked for, and the entries of its status as they are', () => {
    const ingress = [{ ip: '192.0.2.1', ipMode: 'VIP', ports: [] }, { hostname: 'lb.example' }];
    const raw = service(
      { ipFamilies: ['IPv6', 'IPv4', 'x'], ipFamilyPolicy: 'PreferDualStack', loadBalancerIP: '192.0.2.1' },
      { status: { loadBalancer: { ingress } } },
    );
    const parsed = parseService(raw);
    assert.deepEqual([parsed.ipFamilies, parsed.prefersDualStack, parsed.loadBalancerIp], [[6, 4], true, '192.0.2.1']);
    assert.deepEqual(parsed.ingress, [{ ip: '192.0.2.1', ipMode: 'VIP' }, { hostname: 'lb.example' }]);
    // A Service that is no load balancer any more has none of their addresses, whatever its status still says.
    assert.deepEqual(parsed.loadBalancerIps, []);
  });
});

describe('an EndpointSlice', () => {
  const ports = [{ name: 'http', port: 8080 }, { name: 'all' }];

  it('of a headless Service counts if that may be of a SwitchLBRule', () => {
    const of = (name: string): string =>
      parseEndpointSlice(slice({ ports }, { 'kubernetes.io/service-name': name, 'service.kubernetes.io/headless': '' }))
        .service;
    assert.deepEqual([of('web'), of('slr-web')], ['', 'default/slr-web']);
  });

  it('has the first address of each endpoint, which is ready without a condition', () => {
    const parsed = parseEndpointSlice(
      slice({
        ports,
        endpoints: [
          { addresses: ['10.0.0.1', '10.0.0.2'], nodeName: 'n1', targetRef: { kind: 'Pod', name: 'p' } },
          { addresses: ['10.0.0.3'], conditions: { ready: false, serving: true, terminating: true } },
          { addresses: ['10.0.0.4'], conditions: { ready: false } },
          { addresses: ['host'] },
        ],
      }),
    );
    assert.deepEqual(parsed.ports, [{ name: 'http', protocol: 'TCP', port: 8080 }]);
    assert.deepEqual(
      parsed.endpoints.map((one) => [one.address, one.node, one.isReady, one.isServingWhileTerminating, one.pod]),
      [
        ['10.0.0.1', 'n1', true, false, 'default/p'],
        ['10.0.0.3', '', false, true, undefined],
        ['10.0.0.4', '', false, false, undefined],
      ],
    );
  });

  it('serves nothing without a Service, for domain names, or for another proxy', () => {
    const endpoints = [{ addresses: ['10.0.0.1'] }];
    for (const raw of [
      slice({ ports, endpoints }, {}),
      slice({ ports, endpoints, addressType: 'FQDN' }),
      slice({ ports, endpoints }, { 'kubernetes.io/service-name': 'web', 'service.kubernetes.io/headless': '' }),
    ])
      assert.deepEqual(parseEndpointSlice(raw).endpoints, []);
  });
});

describe('parsers accept any content of an object', () => {
  it('Service', () => fuzzParser(parseService, serviceSchemas));
  it('EndpointSlice', () => fuzzParser(parseEndpointSlice, endpointSliceSchemas));
});
