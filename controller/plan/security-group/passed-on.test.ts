/** Evaluates the ACLs of tiers 0 and 1 for packets, and compares the result with the rules of the objects as users read them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import { pick, randomOf, type Random } from '../../../lib/testing-random.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { planned } from '../../testing-reports.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseSecurityGroup } from '../../watch/networks.ts';
import { planKey } from '../plan.ts';
import { securityGroupProblem } from './security-group.ts';

type Policy = 'allow' | 'drop' | 'pass';

interface Rule {
  readonly priority: number;
  /** `10.0.0.1`: as an abstract property that a packet has or not. */
  readonly remote: string;
  readonly policy: Policy;
}

interface Group {
  readonly tier: number;
  readonly rules: readonly Rule[];
}

interface SubnetRule {
  /** In OVN, the highest first. */
  readonly priority: number;
  readonly remote: string;
  readonly action: 'allow' | 'allow-related' | 'allow-stateless' | 'drop' | 'pass';
}

interface Case {
  readonly groups: Readonly<Record<string, Group>>;
  readonly acls: readonly SubnetRule[];
  readonly isPrivate: boolean;
}

interface Packet {
  /** The groups of the pod. */
  readonly groups: readonly string[];
  /** Properties that are true: addresses of rules, and `vrrp`. */
  readonly has: ReadonlySet<string>;
}

const capabilities = { aclTier: true, ipv6Selection: true, loadBalancers: false };
const remotes = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5'];
const vrrp = 'ip.proto == 112';
const groupNames = ['a', 'b', 'c', 'd'];

function specOf({ tier, rules }: Group): object {
  const fixed = { ipVersion: 'ipv4', protocol: 'all', remoteType: 'address' };
  return {
    tier,
    ingressRules: rules.map(({ priority, remote, policy }) => ({ ...fixed, priority, remoteAddress: remote, policy })),
  };
}

function setGroup(cluster: TestCluster, name: string, group: Group | undefined): void {
  const value = group && parseSecurityGroup({ metadata: meta(name), spec: specOf(group) });
  cluster.change('securityGroups', name, value);
}

function setSubnet(cluster: TestCluster, { acls, isPrivate }: Pick<Case, 'acls' | 'isPrivate'>): void {
  const spec = {
    cidrBlock: '10.16.0.0/16',
    private: isPrivate,
    acls: acls.map(({ priority, remote, action }) => ({
      direction: 'to-lport',
      priority,
      match: `ip4.src == ${remote}`,
      action,
    })),
  };
  subnet(cluster, 'ovn-default', spec, created(1));
}

function clusterOf({ groups, ...rest }: Case): TestCluster {
  const cluster = new TestCluster(capabilities);
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  setSubnet(cluster, rest);
  for (const [name, group] of Object.entries(groups)) setGroup(cluster, name, group);
  cluster.restore(new Map());
  return cluster;
}

interface Evaluated {
  readonly tier: number;
  readonly priority: number;
  readonly action: string;
  readonly terms: readonly string[];
}

function evaluated({ columns }: DesiredRow): readonly Evaluated[] {
  const { direction, tier, priority, action, match } = columns;
  if (direction !== 'to-lport') return [];
  assert.ok(!String(match).includes('||'));
  const terms = String(match).replaceAll(/[()]/g, '').split(' && ');
  return [{ tier: Number(tier), priority: Number(priority), action: String(action), terms }];
}

/** The order of ACLs of one priority, which OVN does not define. */
const actions = ['drop', 'pass', 'allow-stateless'];

function rowsOf(cluster: TestCluster, keys: Iterable<string>): readonly Evaluated[] {
  return [...keys]
    .flatMap((key) => planKey(cluster, key).rows)
    .filter(({ table, parent }) => table === 'ACL' && parent?.key !== 'isthmus.empty.tiers')
    .flatMap(evaluated)
    .sort((a, b) => b.priority - a.priority || actions.indexOf(a.action) - actions.indexOf(b.action));
}

function isTrue(term: string, { groups, has }: Packet): boolean {
  if (term === 'ip' || term === 'ip4') return true;
  const group = /^outport == @ovn\.sg\.(.*)$/.exec(term)?.[1];
  if (group === 'kubeovn_deny_all') return groups.length > 0;
  if (group !== undefined) return groups.includes(group);
  return has.has(term.replace(/^ip4\.src == /, ''));
}

/** As OVN evaluates it: in each tier the first ACL that matches decides. Later tiers and packets that match nothing let go on. */
function isAllowedByRows(rows: readonly Evaluated[], packet: Packet): boolean {
  for (const tier of [0, 1]) {
    const first = rows.find((row) => row.tier === tier && row.terms.every((term) => isTrue(term, packet)));
    if (first?.action === 'drop') return false;
    if (first?.action === 'allow-stateless') return true;
    assert.ok(first === undefined || first.action === 'pass', first?.action);
  }
  return true;
}

interface Meaning {
  readonly isAllowed: boolean;
  readonly why: string;
}

interface Entry {
  readonly order: number;
  readonly does: string;
}

/** What a drop and another rule of one priority do to a packet is not defined; this test drops it. Of an `allow` and a `pass` the latter applies. */
const strictness = ['drop', 'pass', 'allow'];

function firstOf(entries: readonly Entry[]): string | undefined {
  const strict = ({ does }: Entry): number => strictness.indexOf(does);
  return entries.toSorted((a, b) => b.order - a.order || strict(a) - strict(b))[0]?.does;
}

/** As the guide says it. */
function meaningOf({ groups, acls, isPrivate }: Case, packet: Packet): Meaning {
  const ofTier = (tier: number): readonly Entry[] =>
    packet.groups
      .map((name) => groups[name])
      .filter((group) => group?.tier === tier)
      .flatMap((group) => group?.rules ?? [])
      .filter(({ remote }) => packet.has.has(remote))
      .map(({ priority, policy }) => ({ order: 18_484 - priority, does: policy }));
  const base: Entry[] = packet.groups.length > 0 && packet.has.has(vrrp) ? [{ order: 2005, does: 'allow' }] : [];
  const closed: Entry[] = packet.groups.length > 0 ? [{ order: 2003, does: 'drop' }] : [];
  const ofSubnet = acls
    .filter(({ remote }) => packet.has.has(remote))
    .map(({ priority, action }) => ({ order: priority, does: action === 'drop' ? 'drop' : 'allow' }));
  const node: Entry[] = packet.has.has('100.64.0.0/16') ? [{ order: 3000, does: 'allow' }] : [];
  const ofPrivate = isPrivate ? [...node, { order: 1000, does: 'drop' }] : [];
  const first = firstOf([...ofTier(0), ...base, ...closed, ...ofSubnet, ...ofPrivate]);
  if (first !== 'pass') return { isAllowed: first !== 'drop', why: `tier 0: ${first ?? 'nothing'}` };
  const second = firstOf([...ofTier(1), ...base]);
  return { isAllowed: second === 'allow', why: `tier 1: ${second ?? 'nothing'}` };
}

function someRules(random: Random): readonly Rule[] {
  const rule = (): Rule => ({
    priority: pick(random, [1, 2, 3, 4, 5, 16_000, 16_384]),
    remote: pick(random, remotes),
    policy: pick(random, ['allow', 'drop', 'pass']),
  });
  return Array.from({ length: random(6) }, rule);
}

function someAcls(random: Random): readonly SubnetRule[] {
  const acl = (): SubnetRule => ({
    priority: pick(random, [19_000, 18_482, 18_481, 2100, 2050, 900]),
    remote: pick(random, remotes),
    action: pick(random, ['allow', 'allow-related', 'allow-stateless', 'drop', 'pass']),
  });
  // OVN takes one action for one match and priority.
  const acls = Array.from({ length: random(4) }, acl);
  return [...new Map(acls.map((one) => [`${one.priority} ${one.remote}`, one])).values()];
}

function someCase(random: Random): Case {
  const tiers: Readonly<Record<string, number>> = { a: 0, b: 0, c: 1, d: 1 };
  const groups = Object.entries(tiers).map(([name, tier]) => [name, { tier, rules: someRules(random) }] as const);
  return { groups: Object.fromEntries(groups), acls: someAcls(random), isPrivate: random(3) === 0 };
}

function somePacket(random: Random): Packet {
  const properties = [...remotes, ...(random(4) === 0 ? [vrrp] : []), '100.64.0.0/16'];
  return {
    groups: groupNames.filter(() => random(3) > 0),
    has: new Set(properties.filter(() => random(3) === 0)),
  };
}

const gateKeys = [
  ...groupNames.map((name) => `security-group/${name}`),
  'deny-all/all',
  'acl/ovn-default',
  'subnet/ovn-default',
];

describe('packets that rules of tier 0 pass on', () => {
  test('are judged by the groups of tier 1, and no others are', () => {
    const random = randomOf(11);
    const seen = new Map<string, number>();
    for (let round = 0; round < 400; round += 1) {
      const some = someCase(random);
      const cluster = clusterOf(some);
      const [all, without] = [rowsOf(cluster, [...gateKeys, 'passed-on/all']), rowsOf(cluster, gateKeys)];
      for (let count = 0; count < 100; count += 1) {
        const packet = somePacket(random);
        const { isAllowed, why } = meaningOf(some, packet);
        const text = `${why}: ${JSON.stringify([some, packet.groups, [...packet.has]])}`;
        assert.equal(isAllowedByRows(all, packet), isAllowed, text);
        if (!isAllowed) assert.equal(isAllowedByRows(without, packet), false, `before they are written: ${text}`);
        seen.set(why, (seen.get(why) ?? 0) + 1);
      }
    }
    for (const why of ['0: nothing', '0: allow', '0: drop', '1: nothing', '1: allow', '1: drop', '1: pass'])
      assert.ok((seen.get(`tier ${why}`) ?? 0) > 100, `${why}: ${JSON.stringify([...seen])}`);
  });

  test('cost nothing where there are none', () => {
    const one = { priority: 1, remote: '10.0.0.1', policy: 'allow' } as const;
    const groups = { a: { tier: 0, rules: [one] }, c: { tier: 1, rules: [{ ...one, policy: 'pass' } as const] } };
    const cluster = clusterOf({
      groups,
      acls: [{ priority: 19_000, remote: '10.0.0.1', action: 'pass' }],
      isPrivate: true,
    });
    assert.deepEqual(planKey(cluster, 'passed-on/all').rows, []);
    cluster.settle();
    setGroup(cluster, 'b', { tier: 0, rules: [one] });
    setSubnet(cluster, { acls: [], isPrivate: false });
    assert.ok(!cluster.settle().has('passed-on/all'));
    setGroup(cluster, 'b', { tier: 0, rules: [{ ...one, policy: 'pass' }] });
    assert.ok(cluster.settle().has('passed-on/all'));
  });

  test('are dropped if the ACLs would be too many, and conditions say so', () => {
    const rules = (count: number, policy: Policy): readonly Rule[] =>
      Array.from({ length: count }, (_, index) => ({ priority: 1 + index, remote: '10.0.0.1', policy }));
    const clusterWith = (judging: number): TestCluster =>
      clusterOf({
        groups: { a: { tier: 0, rules: rules(8, 'pass') }, c: { tier: 1, rules: rules(judging, 'allow') } },
        acls: [],
        isPrivate: false,
      });
    const packet = { groups: ['a', 'c'], has: new Set(['10.0.0.1']) };
    const keys = ['security-group/a', 'security-group/c', 'deny-all/all', 'passed-on/all'];
    // With the five ACLs for neighbours and others, and the drop.
    const most = 4096 / 8 - 6;
    const [few, many] = [clusterWith(most), clusterWith(most + 1)];
    assert.equal(securityGroupProblem(few, 'a'), undefined);
    assert.equal(isAllowedByRows(rowsOf(few, keys), packet), true);
    assert.ok(planKey(few, 'passed-on/all').rows.length <= 4096);
    const priorities = rowsOf(few, ['passed-on/all']).map(({ priority }) => priority);
    assert.ok(Math.min(...priorities) > 1000);
    const problem = securityGroupProblem(many, 'a');
    assert.equal(problem?.code, 'TooManyRules');
    assert.match(problem.message, /spec\.ingressRules\[0\]: policy 'pass' drops .*: use fewer rules/);
    assert.equal(securityGroupProblem(many, 'c'), undefined);
    assert.equal(isAllowedByRows(rowsOf(many, keys), packet), false);
    assert.deepEqual(planKey(many, 'passed-on/all').rows, []);
    many.settle();
    setGroup(many, 'c', { tier: 1, rules: rules(most, 'allow') });
    const dirty = many.settle();
    for (const key of ['security-group/a', 'passed-on/all']) assert.ok(dirty.has(key), key);
    assert.equal(isAllowedByRows(rowsOf(many, keys), packet), true);
  });

  test('are planned again after every change that they depend on', () => {
    const random = randomOf(5);
    const cluster = clusterOf(someCase(random));
    const last = new Map<string, string>();
    for (let round = 0; round < 400; round += 1) {
      const { groups, ...rest } = someCase(random);
      const name = pick(random, ['a', 'b', 'c', 'd', 'a.b', 'a-b']);
      const group = groups[name] ?? { tier: random(2), rules: someRules(random) };
      if (random(3) === 0) setSubnet(cluster, rest);
      else setGroup(cluster, name, random(3) === 0 ? undefined : group);
      for (const key of cluster.settle()) last.set(key, planned(cluster, key));
      for (const [key, text] of last) assert.equal(planned(cluster, key), text, `${key} in round ${round}`);
    }
  });
});
