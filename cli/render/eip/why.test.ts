/** Golden files of the explanations of an OvnEip. `--test-update-snapshots` rewrites them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { EipReading, RuleReading } from '../../model/eip-reading.ts';
import { explainEip, type EipWhy } from '../../plan/eip/why.ts';
import { limitsOf, parseBindings, parseRule } from '../../watch/eip.ts';
import { paintFor } from '../paint.ts';
import { renderEipWhy } from './why.ts';

const [router, mac] = ['5e:cc:00:00:00:01', '5e:cc:00:00:00:09'];
const [chassis, other] = ['11111111-0000-4000-8000-000000000001', '11111111-0000-4000-8000-000000000002'];

/** What `ovn-sbctl --format=json` prints for the chassis and for the ports. */
function bindingsText(holder: string | undefined, announced: readonly string[]): string {
  const table = (headings: readonly string[], data: readonly unknown[]): string => JSON.stringify({ data, headings });
  const held = holder === undefined ? ['set', []] : ['uuid', holder];
  const chassisRows = [
    [['uuid', chassis], 'chassis-1'],
    [['uuid', other], 'chassis-2'],
  ];
  const headings = ['logical_port', 'chassis', 'nat_addresses'];
  return [
    table(['_uuid', 'name'], chassisRows),
    table(headings, [['cr-blue-external', held, ['set', []]]]),
    table(headings, [['external-blue', ['set', []], announced.length === 1 ? announced[0] : ['set', announced]]]),
    table(headings, [['b3.default', ['uuid', other], ['set', []]]]),
  ].join('\n');
}

const resident = `is_chassis_resident("cr-blue-external")`;
const announcements = [
  `${router} 203.0.113.100 203.0.113.120 ${resident}`,
  `${mac} 203.0.113.130 is_chassis_resident("b3.default")`,
];

function ruleOf(kind: RuleReading['kind'], name: string, spec: object, status: object): RuleReading {
  return parseRule(kind, { metadata: { name, uid: name, resourceVersion: '1' }, spec, status });
}

const published = ruleOf(
  'OvnDnatRule',
  'web',
  { ovnEip: 'shared', externalPort: '80', internalPort: '8080', protocol: 'TCP', ipName: 'b2.default' },
  { ready: true, vpc: 'blue', v4Ip: '10.90.0.7' },
);
const leaving = ruleOf(
  'OvnSnatRule',
  'all',
  { ovnEip: 'shared', vpcSubnet: 'blue-net' },
  { ready: true, vpc: 'blue', v4IpCidr: '10.90.0.0/16' },
);
const refused = ruleOf(
  'OvnDnatRule',
  'late',
  { ovnEip: 'shared', vpc: 'blue', externalPort: '80', internalPort: '1', protocol: 'tcp' },
  {
    ready: false,
    conditions: [
      {
        type: 'Validated',
        status: 'False',
        reason: 'PortInUse',
        message: 'port 80/tcp of OvnEip shared is in use by OvnDnatRule web',
      },
    ],
  },
);

function readingOf(changes: Partial<EipReading> = {}, text = bindingsText(chassis, announcements)): EipReading {
  return {
    name: 'shared',
    type: 'nat',
    subnet: 'external',
    addresses: ['203.0.113.120'],
    mac,
    isReady: true,
    isDeleting: false,
    conditions: [],
    routerOf: '',
    rules: [leaving, published],
    limits: [],
    nodes: new Map([
      ['chassis-1', 'n1'],
      ['chassis-2', 'n2'],
    ]),
    ovn: { where: 'pod kube-system/ovn-central-a', bindings: parseBindings(text) },
    bgp: { code: 'Unread', message: '' },
    ...changes,
  };
}

function matches(context: TestContext, name: string, why: EipWhy): void {
  const text = renderEipWhy(why, paintFor(false));
  context.assert.fileSnapshot(text, join(import.meta.dirname, 'testdata', `${name}.txt`), { serializers: [String] });
}

const codesOf = (why: EipWhy): readonly string[] => why.obstacles.map(({ code }) => code);

test('an address that is served, with a rule that is refused', (t) => {
  const bgp = { sessions: ['n1 → tor1'], reason: undefined };
  const why = explainEip(readingOf({ rules: [leaving, published, refused] }), bgp);
  assert.equal(why.isServed, true);
  matches(t, 'served', why);
});

test('an address with a RouterLBRule and a limited gateway names both', () => {
  const [ready, address] = [[{ type: 'Ready', status: 'True' }], '10.90.0.7'];
  const status = { ports: '443/TCP', backends: [{ address, port: 8443 }], conditions: ready };
  const front = ruleOf('RouterLBRule', 'shop', { ovnEip: 'shared', vpc: 'blue' }, status);
  const named = (name: string, spec: object, of: object) => ({
    metadata: { name, uid: name, resourceVersion: '1' },
    spec,
    status: of,
  });
  const rules = [{ name: 'in', direction: 'ingress', rateMax: '10', matchType: 'ip', matchValue: 'src 192.0.2.0/24' }];
  const policies = [named('ten', {}, { bandwidthLimitRules: rules })];
  const gateway = (vpc: string) => named('gw', { vpc }, { qosPolicy: 'ten', externalSubnets: ['external'] });
  const of = { subnet: 'external', routerOf: '', rules: [front] };
  assert.deepEqual(limitsOf(of, [gateway('green')], policies), []);
  const limits = limitsOf(of, [gateway('blue')], policies);
  const why = explainEip(readingOf({ rules: [front], limits }), undefined);
  assert.equal(why.isServed, true);
  assert.equal(why.rules[0]?.does, `443/tcp → ${address}`);
  const text = renderEipWhy(why, paintFor(false));
  assert.match(text, /Limits\n +ingress src 192\.0\.2\.0\/24: 10 Mbit\/s by QoSPolicy ten of VpcNatGateway gw/);
});

test('an address that no node holds', (t) => {
  const message = 'no BgpAdvertisement selects it';
  const bgp = { sessions: [], reason: { code: 'NotSelected', message } };
  const why = explainEip(readingOf({}, bindingsText(undefined, announcements)), bgp);
  assert.deepEqual(codesOf(why), ['NoHolder']);
  matches(t, 'no-holder', why);
});

test('a distributed address is held by the node of its pod', () => {
  const spec = { ovnEip: 'fixed', ipName: 'b3.default', type: 'distributed' };
  const fip = ruleOf('OvnFip', 'b3', spec, { ready: true, vpc: 'blue', v4Ip: '10.90.0.9', macAddress: mac });
  const changes = { name: 'fixed', addresses: ['203.0.113.130'], rules: [fip] };
  const why = explainEip(readingOf(changes, bindingsText(undefined, announcements)), undefined);
  assert.deepEqual(codesOf(why), []);
  assert.equal(why.rules[0]?.node, 'n2');
  assert.deepEqual(why.reachedBy.arp, [`${mac} 203.0.113.130 by port b3.default`]);
});

test('each obstacle is named', () => {
  const of = (changes: Partial<EipReading>, text?: string): readonly string[] =>
    codesOf(explainEip(readingOf(changes, text), undefined));
  assert.deepEqual(of({ rules: [] }), ['NotUsed']);
  assert.deepEqual(of({ rules: [refused] }), ['RuleNotReady']);
  assert.deepEqual(of({ isReady: false }), ['NotReported']);
  const ready = { type: 'Ready', status: 'False', reason: 'NoExternalSubnet', message: 'Subnet gone' } as const;
  assert.deepEqual(of({ isReady: false, conditions: [ready as never] }), ['NoExternalSubnet']);
  assert.deepEqual(of({ isDeleting: true }), ['Deleting']);
  // The rows of the rules have not come through ovn-northd.
  assert.deepEqual(of({}, bindingsText(chassis, [])), ['NotAnnounced']);
  assert.deepEqual(of({}, JSON.stringify({ data: [] })), ['NotInOvn']);
  // The address of a router needs no rule.
  assert.deepEqual(of({ type: 'lrp', routerOf: 'blue', rules: [], addresses: ['203.0.113.100'] }), []);
});

test('what could not be asked is said, and is no obstacle', () => {
  const problem = { code: 'Forbidden', message: 'no permission' };
  const why = explainEip(readingOf({ ovn: problem }), problem);
  assert.equal(why.isServed, true);
  assert.equal(why.rules[0]?.node, undefined);
  assert.deepEqual(
    why.warnings.map(({ code }) => code),
    ['Forbidden', 'Forbidden'],
  );
});
