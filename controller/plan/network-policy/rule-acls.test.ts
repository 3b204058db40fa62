import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import type { ClusterAction, PolicyPort, PolicyRule } from '../../../lib/policies/policy.ts';
import { selectionGroup } from '../../../lib/policies/group-names.ts';
import { policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { ruleAcls, type OrderedRules, type RuleAcl } from './rule-acls.ts';

type Rule = PolicyRule & { readonly action: ClusterAction };

const actions = { Accept: 'allow-related', Deny: 'drop', Pass: 'pass' } as const;
const numbers = new Map([
  ['ns/tcp/http', [80, 8080]],
  ['*/tcp/http', [80, 8080]],
]);
const view = {
  policies: { numbers: (key: string) => numbers.get(key) ?? [] },
} as unknown as OrderedRules['context']['view'];

function ordered(rules: readonly Rule[], direction: PolicyDirection = 'ingress', first = 0): OrderedRules {
  return {
    context: { view, name: 'ns/policy', selection: 'all', namespace: 'ns', direction, vpc: 'vpc' },
    rules,
    aclOf: (rule, match): Acl => ({
      direction: 'to-lport',
      priority: 1000 - first - rule,
      match,
      action: actions[rules[rule]?.action ?? 'Deny'],
      tier: 0,
    }),
  };
}

const peer = (app: string): NonNullable<PolicyRule['peers']>['pods'][number] => ({
  namespaces: undefined,
  pods: { matchLabels: { app } },
});
const rule = (
  apps: readonly string[] | undefined,
  ports?: readonly PolicyPort[],
  action: ClusterAction = 'Accept',
): Rule => ({
  action,
  peers: apps && { pods: apps.map(peer), blocks: [] },
  ports,
});
const tcp = (port: number | string): PolicyPort => ({ protocol: 'tcp', port });

const summary = (acls: readonly RuleAcl[]) =>
  acls
    .filter(({ acl }) => !acl.match.includes('ip6'))
    .map(({ acl, rules }) => [
      rules.join(),
      acl.priority,
      acl.action,
      setsOf(acl).length,
      acl.match.replace(/.* && /, ''),
    ]);

function setsOf({ match }: Acl): readonly string[] {
  return match.match(/\$\S+?\.v4/g) ?? [];
}

test('rules about the same ports are one ACL with the peers of all of them', () => {
  const rules = [rule(['a'], [tcp(80), tcp(81)]), rule(['b', 'c'], [tcp(81), tcp(80)]), rule(['d'], [tcp(80)])];
  assert.deepEqual(summary(ruleAcls(ordered(rules))), [
    ['0,1', 1000, 'allow-related', 3, 'tcp.dst == {80, 81}'],
    ['2', 1000, 'allow-related', 1, 'tcp.dst == 80'],
  ]);
});

test('the order of rules and of peers in them changes no ACL', () => {
  const rules = [rule(['a', 'b'], [tcp(80)]), rule(['c'], [tcp(80)])];
  const matches = (list: readonly Rule[]): readonly string[] => ruleAcls(ordered(list)).map(({ acl }) => acl.match);
  assert.deepEqual(matches([rule(['c'], [tcp(80)]), rule(['b', 'a'], [tcp(80)])]), matches(rules));
});

test('a rule about everyone stands for the peers of the others, but not for their other ports', () => {
  const rules = [rule(['a'], [tcp(80)]), rule(undefined, [tcp(80)]), rule(['b'])];
  const group = selectionGroup('all', 'ingress', 'vpc');
  assert.deepEqual(
    ruleAcls(ordered(rules))
      .slice(0, 1)
      .map(({ acl: { match }, rules: of }) => [match, of]),
    [[`outport == @${group} && ip && tcp.dst == 80`, [0, 1]]],
  );
  assert.equal(setsOf(ruleAcls(ordered(rules))[1]?.acl as Acl).length, 1);
});

test('a rule is not merged across one with another action', () => {
  const rules = [rule(['a']), rule(['b']), rule(['c'], undefined, 'Deny'), rule(['d']), rule(['e'], undefined, 'Pass')];
  assert.deepEqual(
    summary(ruleAcls(ordered(rules))).map((one) => one.slice(0, 4)),
    [
      ['0,1', 1000, 'allow-related', 2],
      ['2', 998, 'drop', 1],
      ['3', 997, 'allow-related', 1],
      ['4', 996, 'pass', 1],
    ],
  );
});

/** `group ports set`: what an ACL says, without its order. */
function facts({ acl, group }: RuleAcl): readonly string[] {
  const [, , ...rest] = acl.match.split(' && ');
  const ports = rest.filter((term) => !term.includes('$')).join();
  const sets = acl.match.match(/\$\S+?\.v[46]/g) ?? ['everyone'];
  return sets.map((set) => `${group} ${ports} ${set}`);
}

for (const seed of [1, 2, 3, 4])
  test(`merged rules say what each of them says, and the first one decides, with seed ${seed}`, () => {
    const random = randomOf(seed);
    for (let round = 0; round < 200; round += 1) {
      const rules = Array.from({ length: 1 + random(7) }, () => {
        const apps = random(6) === 0 ? undefined : ['a', 'b', 'c', 'd'].filter(() => random(2) === 0);
        const ports = pick(random, [
          undefined,
          [tcp(80)],
          [tcp('http')],
          [tcp(80), tcp('http')],
          [{ protocol: 'udp' } as const],
        ]);
        return rule(apps, ports, pick(random, ['Accept', 'Accept', 'Deny', 'Pass'] as const));
      });
      for (const direction of policyDirections) {
        const merged = ruleAcls(ordered(rules, direction));
        // Every rule alone, in its place.
        const single = rules.flatMap((one, index) =>
          ruleAcls(ordered([one], direction, index)).map((acl) => ({ ...acl, rules: [index] })),
        );
        const decides = (acls: readonly RuleAcl[], fact: string): string => {
          // What everyone may do is true for each peer.
          const everyone = fact.replace(/\S+$/, 'everyone');
          const found = acls.filter((one) => facts(one).some((text) => text === fact || text === everyone));
          return found.toSorted((a, b) => b.acl.priority - a.acl.priority)[0]?.acl.action ?? 'none';
        };
        for (const fact of new Set([...single, ...merged].flatMap(facts)))
          assert.equal(decides(merged, fact), decides(single, fact), `round ${round}, ${direction}: ${fact}`);
        // Each rule is named by the ACLs that say what it says.
        for (const one of single)
          for (const fact of facts(one)) {
            const everyone = fact.replace(/\S+$/, 'everyone');
            const of = merged.filter(({ rules: numbersOf }) => numbersOf.includes(one.rules[0] as number));
            assert.ok(
              of.some((acl) => facts(acl).some((text) => text === fact || text === everyone)),
              fact,
            );
          }
      }
    }
  });
