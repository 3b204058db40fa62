import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PlacedService, Rivals } from '../../model/service-reading.ts';
import {
  clientPod,
  rawPod,
  readingOf,
  rivalOf,
  ruleCondition,
  ruleReadingOf,
  type ServiceObjects,
} from '../../testing-service.ts';
import { parsePod } from '../../watch/service-objects.ts';
import { explainRule } from './rule.ts';
import { explainService } from './why.ts';

const address = '198.51.100.7';
const pod = clientPod('client', 'n1');
const node = { kind: 'node', node: { name: 'n1', zone: '', addresses: [] } } as const;
const blue = { 'ovn.kubernetes.io/vpc': 'blue' };
const podOfBlue = { annotations: { 'ovn.kubernetes.io/logical_router': 'blue' } };
/** The Service, its endpoints and the client. */
const inBlue: ServiceObjects = {
  annotations: blue,
  pods: [rawPod('web-1', 'n1', '10.16.0.1', podOfBlue)],
  client: clientPod('client', 'n1', podOfBlue),
};

/** Of Service `default/web`, created at second 5, with the external IP. */
function holderOf(rivals: Partial<Rivals>, more: ServiceObjects = {}): string | undefined {
  const spec = { externalIPs: [address], ...more.spec };
  const settings = { allowsExternalIps: true, ...more.settings };
  const { addresses } = explainService(readingOf({ client: pod, created: 5, ...more, spec, settings, rivals }));
  const answers = addresses.map((one) => [one.address, one.through !== undefined, one.endpoints.length > 0]);
  const holder = addresses.find((one) => one.address === address)?.holder;
  const isServed = holder === undefined;
  assert.deepEqual(answers, [
    ['10.96.0.10', true, true],
    [address, isServed, isServed],
  ]);
  return holder;
}

const wants = (name: string, created: number, annotations = {}, spec = {}): PlacedService =>
  rivalOf(name, created, { externalIPs: [address], ...spec }, annotations);
const old = 'Service default/old';

describe('an address of a Service that another one wants', () => {
  test('is the older one’s, of equally old ones the first’s by name, and in any case that of its ClusterIP', () => {
    assert.equal(holderOf({ services: [wants('old', 4)] }), old);
    assert.equal(holderOf({ services: [wants('young', 6)] }), undefined);
    assert.equal(holderOf({ services: [wants('old', 4), wants('older', 3)] }), 'Service default/older');
    assert.equal(holderOf({ services: [wants('a', 5)] }), 'Service default/a');
    assert.equal(holderOf({ services: [wants('z', 5)] }), undefined);
    const owner = rivalOf('owner', 6, { clusterIPs: [address] });
    assert.equal(holderOf({ services: [wants('old', 4), owner] }), 'Service default/owner');
  });

  test('is not contested by another port or protocol, nor where external IPs are denied', () => {
    for (const ports of [[{ port: 81 }], [{ port: 80, protocol: 'UDP' }]])
      assert.equal(holderOf({ services: [wants('old', 4, {}, { ports })] }), undefined);
    const status = { loadBalancer: { ingress: [{ ip: address }] } };
    const balanced = { spec: { type: 'LoadBalancer', externalIPs: [] }, status };
    assert.equal(holderOf({ services: [wants('old', 4)] }, balanced), old);
    const denied = { ...balanced, settings: { allowsExternalIps: false } };
    assert.equal(holderOf({ services: [wants('old', 4)] }, denied), undefined);
  });

  test('is contested by Services of its VPC only', () => {
    assert.equal(holderOf({ services: [wants('old', 4, blue)] }), undefined);
    assert.equal(holderOf({ services: [wants('old', 4, blue)] }, inBlue), old);
    assert.equal(holderOf({ services: [wants('old', 4)] }, inBlue), undefined);
    const pods = new Map([['default/old-1', parsePod(rawPod('old-1', 'n1', '10.17.0.1', podOfBlue))]]);
    assert.equal(holderOf({ services: [{ ...wants('old', 4), pods }] }), undefined);
    assert.equal(holderOf({ services: [{ ...wants('old', 4), pods }] }, inBlue), old);
  });

  test('is the older rule’s for pods, if it serves the address, and not for nodes, which know no rules', () => {
    const ruleOf = (created: number, status = {}) =>
      ruleReadingOf({ created, spec: { vip: address }, status: { vpc: 'ovn-cluster', ...status } }).rule;
    assert.equal(holderOf({ rules: [ruleOf(4)] }), 'SwitchLBRule web');
    assert.equal(holderOf({ rules: [ruleOf(6)] }), undefined);
    assert.equal(holderOf({ rules: [ruleOf(4, { unserved: [`${address}:80/TCP`] })] }), undefined);
    assert.equal(holderOf({ rules: [ruleOf(4, { vpc: 'blue' })] }), undefined);
    assert.equal(holderOf({ rules: [ruleOf(4, { vpc: '', conditions: [] })] }), undefined);
    assert.equal(holderOf({ rules: [ruleOf(4)] }, { client: node }), undefined);
  });

  test('is in a VPC that of the VpcDns which leads it to DNS or the API server', () => {
    const vips = new Set([`tcp ${address}:80`]);
    const vpcDnses = [{ name: 'dns', vpc: 'blue', vips }];
    assert.equal(holderOf({ vpcDnses, services: [wants('old', 4, blue)] }, inBlue), 'VpcDns dns');
    assert.equal(holderOf({ vpcDnses: [{ name: 'dns', vpc: 'green', vips }] }, inBlue), undefined);
  });

  test('is decided on nodes among Services that they serve, and by kube-proxy on its own', () => {
    const atNode = { client: node };
    assert.equal(holderOf({ services: [wants('old', 4)] }, atNode), old);
    assert.equal(holderOf({ services: [wants('old', 4, blue)] }, atNode), undefined);
    const elsewhere = { 'isthmus.network/endpoints-elsewhere': '*' };
    assert.equal(holderOf({ services: [wants('old', 4, elsewhere)] }, atNode), undefined);
    assert.equal(holderOf({ services: [wants('old', 4)] }, { ...atNode, settings: { nodesServe: false } }), undefined);
  });

  test('with source ranges is the older one’s as any other', () => {
    const status = { loadBalancer: { ingress: [{ ip: address }] } };
    const spec = { type: 'LoadBalancer', externalIPs: [], loadBalancerSourceRanges: ['10.16.0.0/16'] };
    assert.equal(holderOf({ services: [wants('old', 4)] }, { spec, status }), old);
    assert.equal(holderOf({ services: [wants('young', 6)] }, { spec, status }), undefined);
  });
});

test('an unserved address of a rule names the object that has it, if one has', () => {
  const conditions = [ruleCondition('Validated'), ruleCondition('Ready', 'False', 'AddressInUse', 'in use')];
  const holder = (rivals: Partial<Rivals>, unserved: readonly string[], created = 5) =>
    explainRule(ruleReadingOf({ created, status: { conditions, unserved }, rivals })).addresses.map((one) => [
      one.through === undefined,
      one.holder,
      one.endpoints.length,
    ]);
  const services = [rivalOf('old', 4, { clusterIPs: ['1.1.1.1'] })];
  const unserved = ['1.1.1.1:80/TCP'];
  assert.deepEqual(holder({ services }, unserved), [[true, 'Service default/old', 0]]);
  assert.deepEqual(holder({ services }, unserved, 3), [[true, 'Service default/old', 0]], 'an older rule is refused');
  assert.deepEqual(holder({}, unserved), [[true, undefined, 0]], 'the address is not that of a Service');
  assert.deepEqual(holder({ services }, []), [[false, undefined, 2]], 'the controller has not reported it');
});
