import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostGates, parseGateFile, gateFile, type GateSettings } from '../model/gate.ts';
import { assignSlots, planGate, planGateRows } from './gates.ts';

const settings: GateSettings = {
  targets: [
    { family: 4, address: '10.96.0.10', protocol: 'udp', port: 53 },
    { family: 4, address: '10.96.0.10', protocol: 'tcp', port: 53 },
    { family: 4, address: '10.96.0.1', protocol: 'tcp', port: 443 },
    { family: 6, address: 'fd00:96::a', protocol: 'udp', port: 53 },
  ],
  mtu: 1400,
  isUserspaceDatapath: true,
  hasIpv6: true,
};

test('a gate keeps its slot, and a new one gets the lowest that no gate has', () => {
  const first = assignSlots(['red', 'blue', 'red'], []);
  assert.deepEqual(first, [
    { vpc: 'blue', slot: 0 },
    { vpc: 'red', slot: 1 },
  ]);
  const second = assignSlots(['amber', 'red'], first);
  assert.deepEqual(
    second,
    [
      { vpc: 'amber', slot: 2 },
      { vpc: 'red', slot: 1 },
    ],
    'that of blue is in use until its gate is gone',
  );
  assert.deepEqual(assignSlots(['amber', 'green', 'red'], second), [
    { vpc: 'amber', slot: 2 },
    { vpc: 'green', slot: 0 },
    { vpc: 'red', slot: 1 },
  ]);
  const twice = [
    { vpc: 'red', slot: 4 },
    { vpc: 'red', slot: 1 },
  ];
  assert.deepEqual(assignSlots(['red'], twice), [{ vpc: 'red', slot: 1 }]);
  const many = assignSlots(
    Array.from({ length: mostGates + 5 }, (_, at) => `vpc-${at}`),
    [],
  );
  assert.equal(many.length, mostGates);
});

test('the file of a gate names it', () => {
  for (const gate of [
    { vpc: 'blue', slot: 0 },
    { vpc: 'blue.1', slot: mostGates - 1 },
  ])
    assert.deepEqual(parseGateFile(gateFile(gate)), gate);
  for (const name of ['', 'blue', '.3', `blue.${mostGates}`, 'blue.x']) assert.equal(parseGateFile(name), undefined);
});

test('gates of a node differ in the link to the node only', () => {
  const [a, b] = [planGate({ vpc: 'a', slot: 0 }, settings), planGate({ vpc: 'b', slot: 300 }, settings)];
  assert.equal(a.ruleset, b.ruleset);
  assert.deepEqual(a.vpcLink.addresses, b.vpcLink.addresses);
  assert.deepEqual(a.nodeAddresses, ['169.254.224.0/31', 'fd3b:9d15:7c2e:54::/127']);
  assert.deepEqual(a.nodeLink.addresses, ['169.254.224.1/31', 'fd3b:9d15:7c2e:54::1/127']);
  assert.deepEqual(b.nodeAddresses, ['169.254.226.88/31', 'fd3b:9d15:7c2e:54::258/127']);
  const [last] = planGate({ vpc: 'z', slot: mostGates - 1 }, settings).nodeAddresses;
  assert.equal(last, '169.254.239.254/31', 'the last is in the network that the node translates');
  assert.deepEqual(
    b.nodeLink.routes.map(({ destination, gateway }) => `${destination} ${gateway}`),
    ['10.96.0.10/32 169.254.226.88', '10.96.0.1/32 169.254.226.88', 'fd00:96::a/128 fd3b:9d15:7c2e:54::258'],
  );
  assert.equal(a.vpcLink.isChecksumFinished, true);
  const [, row] = planGateRows({ vpc: 'b', slot: 300 }).rows;
  assert.deepEqual(row?.columns['external_ids'], { 'iface-id': 'dns-gate@b', vendor: 'kube-ovn' });
});

test('the rules name each address and port, and drop everything else', () => {
  const { ruleset } = planGate({ vpc: 'a', slot: 0 }, settings);
  for (const rule of [
    'iifname "vpc0" ip daddr 169.254.253.2 udp dport 53 dnat ip to 10.96.0.10:53',
    'iifname "vpc0" ip daddr 169.254.253.2 tcp dport 443 dnat ip to 10.96.0.1:443',
    'iifname "vpc0" ip6 daddr fd3b:9d15:7c2e:53::2 udp dport 53 dnat ip6 to [fd00:96::a]:53',
  ])
    assert.ok(ruleset.includes(`  ${rule}\n`), rule);
  assert.equal(ruleset.match(/policy drop/g)?.length, 3);
  const without = planGate({ vpc: 'a', slot: 0 }, { ...settings, hasIpv6: false });
  assert.doesNotMatch(without.ruleset, /ip6/);
  assert.ok([...without.nodeAddresses, ...without.vpcLink.addresses].every((address) => !address.includes(':')));
});
