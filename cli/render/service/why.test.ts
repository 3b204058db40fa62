/** Golden files of the explanations of a Service and of a SwitchLBRule. `--test-update-snapshots` rewrites them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { explainService, type ServiceWhy } from '../../plan/service/why.ts';
import { explainRule } from '../../plan/service/rule.ts';
import {
  clientPod,
  endpoint,
  readingOf,
  rivalOf,
  ruleBackend,
  ruleCondition,
  ruleReadingOf,
  type ServiceObjects,
} from '../../testing-service.ts';
import { paintFor } from '../paint.ts';
import { renderServiceWhy } from './why.ts';

function matches(context: TestContext, name: string, objects: ServiceObjects): void {
  matchesWhy(context, name, explainService(readingOf(objects)));
}

function matchesWhy(context: TestContext, name: string, why: ServiceWhy): void {
  const text = renderServiceWhy(why, paintFor(false));
  context.assert.fileSnapshot(text, join(import.meta.dirname, 'testdata', `${name}.txt`), { serializers: [String] });
}

const condition = {
  type: 'isthmus.network/LoadBalancerReady',
  status: 'True',
  reason: 'AddressesGiven',
  message: '192.0.2.8 of LoadBalancerPool lan',
};

test('a Service that clients reach', (t) =>
  matches(t, 'reached', {
    spec: { type: 'LoadBalancer', ports: [{ name: 'http', port: 80, nodePort: 30080 }] },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.8', ipMode: 'VIP' }] }, conditions: [condition] },
    endpoints: [
      endpoint(1, 'n1'),
      endpoint(2, 'n2', { ready: false, serving: true, terminating: true }),
      endpoint(3, 'n2', { ready: false }),
    ],
    client: clientPod('client', 'n1'),
  }));

test('a Service of which another one has an address', (t) => {
  const address = '198.51.100.7';
  const message = `tcp ${address}:80 is a virtual address of Service default/old in Vpc ovn-cluster: give one of the two another address or port`;
  matches(t, 'taken', {
    created: 5,
    spec: { externalIPs: [address] },
    status: { conditions: [ruleCondition('isthmus.network/Served', 'False', 'AddressInUse', message)] },
    endpoints: [endpoint(1, 'n1')],
    settings: { allowsExternalIps: true },
    client: clientPod('client', 'n1'),
    rivals: { services: [rivalOf('old', 4, { externalIPs: [address] })] },
  });
});

test('a Service that clients do not reach, with the causes', (t) =>
  matches(t, 'not-reached', {
    spec: { internalTrafficPolicy: 'Local' },
    endpoints: [endpoint(2, 'n2')],
    client: clientPod('client', 'n1'),
  }));

test('a SwitchLBRule of which one backend is out', (t) => {
  const message = '1 of 2 backends do not answer and get no connections: TCP 10.16.0.2:8080 (pod default/web-2)';
  const offline = ruleCondition('BackendsOnline', 'False', 'BackendsOffline', message);
  const status = {
    conditions: [ruleCondition('Validated'), ruleCondition('Ready', 'True', 'RuleReady'), offline],
    backends: [ruleBackend(1, 'Online'), ruleBackend(2, 'Offline')],
  };
  matchesWhy(t, 'rule', explainRule(ruleReadingOf({ status, client: clientPod('client', 'n1') })));
});

test('the first endpoints of many are shown', () => {
  const endpoints = Array.from({ length: 60 }, (_, index) => endpoint(index, 'n1'));
  const text = renderServiceWhy(explainService(readingOf({ endpoints })), paintFor(false));
  assert.match(text, /^ {2}and 10 more; -o json has all$/m);
});
