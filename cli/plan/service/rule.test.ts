import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRuleName } from '../../commands/why/switch-lb-rule.ts';
import {
  clientPod,
  endpoint,
  rawPod,
  ruleBackend,
  ruleCondition,
  ruleReadingOf,
  type ServiceObjects,
} from '../../testing-service.ts';
import { explainRule } from './rule.ts';

const client = clientPod('client', 'n1');

/** Codes of the problems, and for each virtual address the backends that it leads to; `-` where nothing serves it. */
function answerOf(objects: ServiceObjects): readonly [codes: readonly string[], served: readonly string[]] {
  const { problems, addresses } = explainRule(ruleReadingOf(objects));
  return [
    problems.map(({ code }) => code),
    addresses.map(({ address, port, through, endpoints }) =>
      [address, port, ...(through === undefined ? ['-'] : endpoints)].join(' '),
    ),
  ];
}

/** Whether each endpoint serves, or why not. */
function endpointsOf(objects: ServiceObjects): readonly string[] {
  return explainRule(ruleReadingOf(objects)).endpoints.map(({ endpoint: at, check, isServing, why }) =>
    [at, check?.state, check?.reason, isServing ? 'serves' : why].filter((part) => part !== undefined).join(' '),
  );
}

const both = '1.1.1.1 80 10.16.0.1:8080 10.16.0.2:8080';

describe('a client of a SwitchLBRule', () => {
  test('that is a pod of its VPC is sent to backends that answer, by rows in OVN', () => {
    const why = explainRule(ruleReadingOf({ client }));
    assert.deepEqual(
      [why.isServed, why.rule, why.service, why.vpc, why.problems],
      [true, 'web', 'default/slr-web', 'ovn-cluster', []],
    );
    assert.deepEqual(
      why.addresses.map(({ through, healthCheck, endpoints }) => [through, healthCheck, ...endpoints]),
      [
        [
          'Load_Balancer default/slr-web/tcp/ipv4 in group isthmus.lb.ovn-cluster',
          'Load_Balancer_Health_Check 1.1.1.1:80',
          '10.16.0.1:8080',
          '10.16.0.2:8080',
        ],
      ],
    );
    const backends = [ruleBackend(1, 'Online'), ruleBackend(2, 'Offline')];
    const half = { client, status: { backends } };
    assert.deepEqual(answerOf(half), [[], ['1.1.1.1 80 10.16.0.1:8080']]);
    assert.deepEqual(endpointsOf(half), [
      '10.16.0.1:8080 Online serves',
      '10.16.0.2:8080 Offline it does not answer the health checks',
    ]);
  });

  test('is rejected where no backend answers or is ready', () => {
    const backends = [ruleBackend(1, 'Error'), ruleBackend(2, 'Offline')];
    assert.deepEqual(answerOf({ status: { backends } }), [['BackendsOffline'], ['1.1.1.1 80']]);
    assert.deepEqual(answerOf({ endpoints: [], status: { backends: [] } }), [['NoEndpoint'], ['1.1.1.1 80']]);
    const unready = { endpoints: [endpoint(1, 'n1', { ready: false })], status: { backends: [] } };
    assert.deepEqual(answerOf(unready), [['NoReadyEndpoint'], ['1.1.1.1 80']]);
    assert.deepEqual(endpointsOf(unready), ['10.16.0.1:8080 it fails its readiness probe, or has ended']);
  });

  test('has backends that are not checked, and hints do not count', () => {
    const spec = {
      vip: '1.1.1.1,fd99::1',
      endpoints: ['10.16.0.1', '192.0.2.9', 'fd00:10::1'],
      ports: [{ port: 80, targetPort: 8080, protocol: 'SCTP' }],
    };
    const sctp = { protocol: 'SCTP', reason: 'SctpNotChecked' };
    const backends = [ruleBackend(1, 'Unchecked', sctp)];
    const why = explainRule(ruleReadingOf({ spec, status: { backends }, client }));
    assert.deepEqual(
      why.addresses.map(({ address, healthCheck, endpoints }) => [address, healthCheck, ...endpoints]),
      [
        ['1.1.1.1', undefined, '10.16.0.1:8080', '192.0.2.9:8080'],
        ['fd99::1', undefined, '[fd00:10::1]:8080'],
      ],
    );
    const [first] = why.endpoints;
    const check = { state: 'Unchecked', reason: 'SctpNotChecked' };
    assert.deepEqual([first?.check, first?.pod], [check, 'default/web-1']);
    const zone = (name: string) => ({ hints: { forZones: [{ name }] } });
    const endpoints = [endpoint(1, 'n1', {}, zone('z1')), endpoint(2, 'n2', {}, zone('z2'))];
    assert.deepEqual(answerOf({ client, endpoints }), [[], [both]]);
  });

  test('in another VPC, on a node, or on a switch without load balancers does not reach it', () => {
    const blue = { vpc: 'blue' };
    assert.deepEqual(answerOf({ status: blue, client }), [['OtherVpc', 'NoEndpoint'], []]);
    const node = { kind: 'node', node: { name: 'n1', zone: '', addresses: [] } } as const;
    assert.deepEqual(answerOf({ client: node }), [['OnlyPods'], []]);
    assert.deepEqual(answerOf({ status: blue, client: node }), [['OnlyPods', 'NoEndpoint'], []]);
    const host = clientPod('host', 'n1', { spec: { hostNetwork: true } });
    assert.deepEqual(answerOf({ client: host }), [['OnlyPods'], []]);
    assert.deepEqual(answerOf({ client, subnet: { enableLb: false } }), [['NoLoadBalancers'], []]);
    assert.deepEqual(answerOf({ client: clientPod('client', '', { annotations: {} }) }), [['NoAddress'], []]);
    const stranger = rawPod('web-2', 'n2', '10.16.0.2', {
      annotations: { 'ovn.kubernetes.io/logical_router': 'blue' },
    });
    assert.deepEqual(answerOf({ client, pods: [stranger] }), [[], ['1.1.1.1 80 10.16.0.1:8080']]);
  });

  test('gets the reason why the rule is refused, or some of its addresses', () => {
    const taken = 'tcp 1.1.1.1:80 is a virtual address of Service default/old in Vpc ovn-cluster';
    const conditions = [ruleCondition('Validated'), ruleCondition('Ready', 'False', 'AddressInUse', taken)];
    const unserved = ['1.1.1.1:80/TCP'];
    assert.deepEqual(answerOf({ status: { conditions, unserved, backends: [] } }), [
      ['AddressInUse'],
      ['1.1.1.1 80 -'],
    ]);
    assert.equal(explainRule(ruleReadingOf({ status: { conditions, unserved } })).problems[0]?.message, taken);
    const two = { vip: '1.1.1.1,fd99::1', endpoints: ['10.16.0.1', 'fd00:10::1'] };
    const half = { spec: two, status: { conditions, unserved } };
    assert.deepEqual(answerOf(half), [['AddressInUse'], ['1.1.1.1 80 -', 'fd99::1 80 [fd00:10::1]:8080']]);
    assert.equal(explainRule(ruleReadingOf(half)).isServed, true);
    const refused = [ruleCondition('Validated', 'False', 'NamespaceNotFound', 'no namespace')];
    assert.deepEqual(answerOf({ status: { vpc: '', conditions: refused } }), [['NamespaceNotFound'], []]);
    assert.deepEqual(endpointsOf({ status: { conditions: refused } }), []);
    assert.deepEqual(answerOf({ spec: { vip: '1.1.1.300' } }), [['AddressInvalid'], []]);
  });

  test('does not reach a rule that no controller has seen, and learns that a status is old', () => {
    assert.deepEqual(answerOf({ status: { vpc: '', conditions: [], backends: [] } }), [
      ['NotReported'],
      ['1.1.1.1 80 -'],
    ]);
    const old = ruleReadingOf({});
    const { problems } = explainRule({ ...old, rule: { ...old.rule, generation: 2 } });
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['StatusOutdated'],
    );
  });
});

test('names of SwitchLBRules are read as they are written elsewhere', () => {
  assert.deepEqual(['web', 'slr/web', 'switch-lb-rule/web'].map(parseRuleName), ['web', 'web', 'web']);
  for (const text of ['', 'slr/', 'default/web']) assert.throws(() => parseRuleName(text), /is not a name of a Switch/);
});
