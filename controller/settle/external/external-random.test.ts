/** Who came first among rules in conflict: in random orders of events, and over restarts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import { planKey } from '../../plan/plan.ts';
import type { TestController } from '../../testing-api.ts';
import { controllerOf, made, outside, shuffled, storedIn, type Made } from '../../testing-external.ts';

const eips = [
  ...['a', 'b', 'c'].map((name) => made('ovnEips', name, {}, 1)),
  ...['a', 'b'].map((name) => made('iptablesEips', name, { natGwDp: 'gw', externalSubnet: 'external' }, 1)),
];
const gateway = made('vpcNatGateways', 'gw', { vpc: 'blue', externalSubnets: ['external'] });
const ips = ['10.90.0.11', '10.90.0.12', '10.90.0.13'];

function ruleOf(random: (limit: number) => number, number: number): Made {
  const ovnEip = pick(random, ['a', 'b', 'c']);
  const inside = { vpc: 'blue', v4Ip: pick(random, ips) };
  const name = `rule-${number}`;
  if (random(3) === 0) return iptablesRule(random, name, number);
  const kind = pick(random, ['ovnFips', 'ovnSnatRules', 'ovnDnatRules'] as const);
  if (kind === 'ovnFips') return made(kind, name, { ovnEip, ...inside }, number + 2);
  if (kind === 'ovnSnatRules') {
    const v4IpCidr = pick(random, [...ips, '10.90.0.0/24', '10.90.0.8/29']);
    return made(kind, name, { ovnEip, vpc: 'blue', v4IpCidr }, number + 2);
  }
  const ports = { externalPort: pick(random, ['80', '81']), internalPort: '80', protocol: 'tcp' };
  return made(kind, name, { ovnEip, ...inside, ...ports }, number + 2);
}

/** A rule of a VpcNatGateway, whose VPC is the same. */
function iptablesRule(random: (limit: number) => number, name: string, number: number): Made {
  const eip = pick(random, ['a', 'b']);
  const internalIp = pick(random, ips);
  const kind = pick(random, ['iptablesFips', 'iptablesSnats', 'iptablesDnats'] as const);
  if (kind === 'iptablesFips') return made(kind, name, { eip, internalIp }, number + 2);
  if (kind === 'iptablesSnats')
    return made(kind, name, { eip, internalCIDR: pick(random, [...ips, '10.90.0.0/24']) }, number + 2);
  const ports = { externalPort: pick(random, ['80', '81']), internalPort: '80', protocol: 'tcp' };
  return made(kind, name, { eip, internalIp, ...ports, type: pick(random, ['', 'share']) }, number + 2);
}

const titles = {
  ovnFips: 'OvnFip',
  ovnSnatRules: 'OvnSnatRule',
  ovnDnatRules: 'OvnDnatRule',
  iptablesFips: 'IptablesFIPRule',
  iptablesSnats: 'IptablesSnatRule',
  iptablesDnats: 'IptablesDnatRule',
};
const keyOf = ({ kind, raw }: Made): string => `${kind}/${raw.metadata.name}`;
const features = {
  ovnFips: 'ovn-fip',
  ovnSnatRules: 'ovn-snat-rule',
  ovnDnatRules: 'ovn-dnat-rule',
  iptablesFips: 'iptables-fip',
  iptablesSnats: 'iptables-snat',
  iptablesDnats: 'iptables-dnat',
};

/** What OVN may have once: outside addresses of floating addresses, sources, ports. */
function entriesOf({ cluster }: TestController, rules: readonly Made[]): readonly string[] {
  return rules.flatMap(({ kind, raw }) => {
    const plan = planKey(cluster, `${features[kind as keyof typeof features]}/${raw.metadata.name}`);
    const nat = plan.rows
      .filter(({ table }) => table === 'NAT')
      .flatMap(({ columns }) => [
        `inside ${JSON.stringify(columns['logical_ip'])}`,
        ...(columns['type'] === 'snat' ? [] : [`outside ${JSON.stringify(columns['external_ip'])}`]),
      ]);
    const vips = (plan.contributions ?? []).flatMap(({ key, entries = {} }) =>
      Object.keys(entries).map((vip) => `${key} ${vip}`),
    );
    return [...nat, ...vips];
  });
}

function check(controller: TestController, rules: readonly Made[]): void {
  const entries = entriesOf(controller, rules);
  assert.deepEqual(
    entries.filter((entry, index) => entries.indexOf(entry) !== index),
    [],
  );
  const known = new Set(rules.map(({ kind, raw }) => `${titles[kind as keyof typeof titles]} ${raw.metadata.name}`));
  for (const rule of rules) {
    const verdict = controller.cluster.externalRules.get(keyOf(rule));
    assert.ok(verdict, keyOf(rule));
    if (verdict.refusal === undefined) continue;
    const [, rival = ''] = / is in use by (\w+ [\w-]+), which/.exec(verdict.refusal.message) ?? [];
    assert.ok(known.has(rival), `${keyOf(rule)} lost to ${rival}, which is gone: ${verdict.refusal.message}`);
  }
}

function verdictsOf({ cluster }: TestController): unknown {
  return Object.fromEntries([...cluster.externalRules].sort(([x], [y]) => (x < y ? -1 : 1)));
}

describe('rules in conflict', () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    test(`seed ${seed}: new ones are in force by age, whatever the order of events`, async () => {
      const random = randomOf(seed);
      const rules = Array.from({ length: 14 }, (_, number) => ruleOf(random, number));
      const objects = [
        ...outside(),
        gateway,
        ...eips.map(({ kind, raw }, index) => {
          const address = `203.0.113.${50 + index}`;
          return { kind, raw: { ...raw, spec: { ...(raw['spec'] as object), v4Ip: address, v4ip: address } } };
        }),
        ...rules,
      ];
      const verdicts: unknown[] = [];
      for (let order = 0; order < 3; order += 1) {
        const controller = await controllerOf(shuffled(objects, seed * 10 + order));
        check(controller, rules);
        verdicts.push(verdictsOf(controller));
        controller.close();
      }
      for (const other of verdicts.slice(1)) assert.deepEqual(other, verdicts[0]);
    });

    test(`seed ${seed}: one by one, each stays that is in force, and a restart decides the same and writes nothing`, async () => {
      const random = randomOf(seed * 100);
      let controller = await controllerOf([...outside(), gateway, ...eips]);
      let rules: readonly Made[] = [];
      for (let step = 0; step < 24; step += 1) {
        const before = new Map(controller.cluster.externalRules);
        const gone = rules.length > 8 || random(3) === 0 ? rules[random(Math.max(rules.length, 1))] : undefined;
        if (gone === undefined) {
          // Ages are in no relation to the order in which rules come.
          const rule = ruleOf(random, step);
          const creationTimestamp = new Date(Date.UTC(2026, 0, 2, 0, 0, random(50))).toISOString();
          const aged = { ...rule, raw: { ...rule.raw, metadata: { ...rule.raw.metadata, creationTimestamp } } };
          rules = [...rules, aged];
          controller.put(aged.kind, aged.raw);
        } else {
          rules = rules.filter((rule) => rule !== gone);
          controller.remove(gone.kind, gone.raw.metadata.name);
        }
        await controller.settle();
        check(controller, rules);
        for (const rule of rules) {
          const was = before.get(keyOf(rule));
          if (was !== undefined && was.refusal === undefined)
            assert.equal(controller.cluster.externalRules.get(keyOf(rule))?.refusal, undefined, keyOf(rule));
        }
        if (step % 6 !== 5) continue;
        const verdicts = verdictsOf(controller);
        const stored = storedIn(controller);
        controller.close();
        controller = await controllerOf(shuffled(stored, step));
        assert.deepEqual(controller.writes, []);
        assert.deepEqual(verdictsOf(controller), verdicts);
      }
      controller.close();
    });
  }
});
