import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseService } from '../../../lib/services/parse.ts';
import type { Frontend, ServedService } from '../../model/service.ts';
import { type DryRunInput, planDryRun } from './dry-run.ts';

function service(name: string, spec: object, annotations: Record<string, string> = {}) {
  const metadata = { namespace: 'default', name, uid: name, resourceVersion: '1', annotations };
  return parseService({
    kind: 'Service',
    metadata,
    spec: { clusterIPs: ['10.96.0.1'], ports: [{ port: 80 }], ...spec },
  });
}

const frontend: Frontend = {
  key: '10.96.0.10 . 6 . 80',
  family: 4,
  isNodePort: false,
  isUdp: false,
  all: ['10.16.0.1 . 8080', '10.16.0.2 . 8080'],
  local: undefined,
  refusal: undefined,
  outsideRefusal: undefined,
  isOfClientsNode: false,
  sourceRanges: undefined,
  affinitySeconds: undefined,
};

function served(...frontends: readonly Frontend[]): ServedService {
  return { frontends, clusterIps: [], healthCheck: undefined };
}

function plan(more: Partial<DryRunInput>) {
  return planDryRun({
    node: 'n1',
    services: [],
    plans: new Map(),
    hasExternalIps: false,
    apiServer: '192.0.2.1',
    kubeProxy: undefined,
    nodeProblems: [],
    taken: [],
    ...more,
  });
}

const codes = (more: Partial<DryRunInput>): readonly string[] =>
  plan(more).problems.map(({ code, service: of = 'node' }) => `${of} ${code}`);

test('endpoints of several addresses count once, and Services without an address do not', () => {
  const port = { ...frontend, key: '0.0.0.0 . 6 . 30080', isNodePort: true, local: ['10.16.0.3 . 8080'] };
  const plans = new Map([
    ['default/a', served(frontend, port)],
    ['default/b', served()],
  ]);
  const { problems, ...figures } = plan({ plans, kubeProxy: 'iptables chain KUBE-SERVICES' });
  assert.deepEqual(figures, { services: 1, frontends: 2, endpoints: 3, kubeProxy: 'iptables chain KUBE-SERVICES' });
  assert.deepEqual(problems, []);
});

test('a daemon that reaches the API server by a ClusterIP could not start without kube-proxy', () => {
  const services = [service('kubernetes', {})];
  assert.deepEqual(codes({ services, apiServer: '10.96.0.1' }), ['node ApiServerHostMissing']);
  assert.deepEqual(codes({ services }), []);
});

test('obstacles of the node come first, then Services that differ from kube-proxy, by name', () => {
  const services = [
    service('vpc', {}, { 'ovn.kubernetes.io/vpc': 'other' }),
    service('some', {}, { 'isthmus.network/endpoints-elsewhere': '10.16.0.9' }),
    service('ips', { externalIPs: ['192.0.2.7'] }),
    service('plain', {}),
    service('foreign', { clusterIPs: ['None'], externalIPs: ['192.0.2.8'] }),
  ];
  const nodeProblems = [{ code: 'ServiceRulesRefused', message: 'no' }];
  const taken = [{ code: 'ServiceAddressTaken', message: 'no', service: 'default/none' }];
  const all = { services, nodeProblems, taken };
  assert.deepEqual(codes(all), [
    'node ServiceRulesRefused',
    'default/ips ExternalIPsDenied',
    'default/none ServiceAddressTaken',
    'default/some EndpointsInOtherVpcs',
    'default/vpc EndpointsInOtherVpcs',
  ]);
  assert.ok(!codes({ ...all, hasExternalIps: true }).includes('default/ips ExternalIPsDenied'));
});

test('external IPs that make too many pairs are not served, whatever is allowed', () => {
  const externalIPs = Array.from({ length: 5001 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
  const services = [service('many', { externalIPs, ports: [{ port: 80 }, { port: 81 }] })];
  assert.deepEqual(codes({ services, hasExternalIps: true }), ['default/many TooManyExternalIPs']);
});
