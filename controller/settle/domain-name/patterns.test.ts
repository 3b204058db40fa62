import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AskedDomain } from '../../../lib/api/kinds/asked-domains.ts';
import type { Answer } from '../../../lib/dns/message.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { parseClusterRules } from '../../../lib/policies/parse-cluster.ts';
import { leftOf } from '../../model/domain.ts';
import { planKey, reportKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { allApplied } from '../../testing-reports.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { clusterPolicy } from '../../watch/network-policies.ts';
import { parseNamespace, parseNode, parsePod } from '../../watch/workloads.ts';
import { chooseNames, mostAskedNames, namesOfNode } from './asked-names.ts';
import { mostOfPattern, uniteRecords } from './pattern-record.ts';

const server = '192.0.2.53:53';
const startMs = 1_700_000_000_000;
const dayMs = 24 * 3_600_000;
const pattern = '*.example.com';

const asked = (name: string, namespace = 'a', since = 1): AskedDomain => ({ name, namespace, since });

class Bed {
  readonly cluster = new TestCluster({ aclTier: true, ipv6Selection: true, loadBalancers: true });

  constructor() {
    vpc(this.cluster, 'ovn-cluster', {}, created(1));
    subnet(this.cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
    for (const [index, name] of ['n1', 'n2'].entries()) this.node(name, `172.30.0.${index + 1}`);
    this.cluster.change('namespaces', 'a', parseNamespace({ metadata: meta('a') }));
    const pod = { metadata: meta('web', { namespace: 'a' }), spec: { nodeName: 'n1' } };
    this.cluster.change('pods', 'a/web', parsePod(pod));
    this.cluster.restore(new Map());
    this.cluster.settle();
  }

  /** A cluster with a policy that names these, and a server. */
  static of(...domainNames: readonly string[]): Bed {
    const bed = new Bed();
    bed.policy(domainNames);
    bed.cluster.domains.setServers([server]);
    return bed;
  }

  node(name: string, address: string | undefined): void {
    const status = { addresses: [{ type: 'InternalIP', address }] };
    this.cluster.change('nodes', name, address === undefined ? undefined : parseNode({ metadata: meta(name), status }));
  }

  policy(domainNames: readonly string[] | undefined): void {
    const egress = [{ name: 'out', action: 'Accept', to: [{ domainNames }] }];
    const spec = { tier: 'Admin', priority: 1, subject: { namespaces: {} }, egress };
    const raw = { metadata: meta('one', created(1)), spec };
    this.cluster.change('clusterNetworkPolicies', 'one', domainNames && clusterPolicy(raw, parseClusterRules(raw)));
    this.cluster.settle();
  }

  reports(node: string, ...entries: readonly AskedDomain[]): void {
    this.cluster.change('askedDomains', node, entries.length === 0 ? undefined : entries);
    this.cluster.settle();
  }

  answer(name: string, list: readonly string[] | 'failed', seconds = 0, family: Family = 4): void {
    const answer: Answer =
      list === 'failed'
        ? { kind: 'failed', reason: 'SERVFAIL' }
        : list.length === 0
          ? { kind: 'none', exists: false, ttlSeconds: 5 }
          : { kind: 'addresses', addresses: list.map((address) => ({ address, ttlSeconds: 30 })) };
    this.cluster.domains.answered({ name, family, server, answer }, startMs + seconds * 1000);
  }

  advance(seconds: number): void {
    this.cluster.domains.advance(startMs + seconds * 1000);
  }

  /** Addresses of IPv4: for new connections, and all. */
  sets(name = pattern): readonly unknown[] {
    return planKey(this.cluster, `domain-name/${name}`)
      .rows.slice(0, 2)
      .map(({ columns }) => columns['addresses']);
  }

  get ready(): string {
    const [report] = reportKey(this.cluster, 'cluster-policy/ClusterNetworkPolicy/one', allApplied);
    const ready = report?.status?.conditions.find(({ type }) => type === 'Ready');
    return `${ready?.reason ?? ''} ${ready?.message ?? ''}`;
  }
}

describe('a domain name with *', () => {
  test('has the addresses of the names that pods asked for and that it matches', () => {
    const bed = Bed.of(pattern, 'example.org');
    assert.deepEqual(bed.sets(), [[], []]);
    assert.deepEqual([...bed.cluster.domains.asked], ['example.org']);
    bed.reports('n1', asked('www.example.com'), asked('example.com'), asked('www.example.net'));
    bed.reports('n2', asked('a.b.example.com'), asked('www.example.com'));
    assert.deepEqual([...bed.cluster.domains.asked].sort(), ['a.b.example.com', 'example.org', 'www.example.com']);
    bed.answer('www.example.com', ['192.0.2.1']);
    bed.answer('a.b.example.com', ['192.0.2.2', '192.0.2.1']);
    bed.answer('example.com', ['192.0.2.9']);
    assert.deepEqual(bed.sets(), [
      ['192.0.2.1', '192.0.2.2'],
      ['192.0.2.1', '192.0.2.2'],
    ]);
    assert.deepEqual(planKey(bed.cluster, 'domain-name/www.example.com').rows, [], 'it has no rows of its own');
  });

  test('plans nothing but its sets when addresses or names change', () => {
    const bed = Bed.of(pattern);
    bed.cluster.change('askedDomains', 'n1', [asked('www.example.com')]);
    assert.deepEqual([...bed.cluster.settle()], [`domain-name/${pattern}`]);
    bed.answer('www.example.com', ['192.0.2.1']);
    assert.deepEqual([...bed.cluster.settle()], [`domain-name/${pattern}`]);
    bed.answer('www.example.com', ['192.0.2.1'], 5);
    assert.deepEqual([...bed.cluster.settle()], []);
  });

  test('shares names with policies that name them without *', () => {
    const bed = Bed.of(pattern, 'www.example.com');
    bed.answer('www.example.com', ['192.0.2.1']);
    assert.deepEqual(bed.sets(), [[], []], 'no pod asked');
    bed.reports('n1', asked('www.example.com'));
    assert.deepEqual(bed.sets()[0], ['192.0.2.1']);
    bed.reports('n1');
    bed.advance(1);
    assert.deepEqual(bed.sets(), [[], ['192.0.2.1']]);
    assert.deepEqual(bed.sets('www.example.com')[0], ['192.0.2.1']);
    bed.policy(['www.example.com']);
    assert.deepEqual(bed.sets(), []);
    assert.deepEqual(bed.sets('www.example.com')[0], ['192.0.2.1']);
  });

  test('keeps running connections to names that no pod asks for any more, for a day', () => {
    const bed = Bed.of(pattern);
    bed.reports('n1', asked('www.example.com'), asked('b.example.com'));
    bed.answer('www.example.com', ['192.0.2.1']);
    bed.answer('b.example.com', ['192.0.2.2']);
    bed.reports('n1', asked('b.example.com'));
    assert.deepEqual(bed.sets()[1], ['192.0.2.1', '192.0.2.2'], 'no packet finds it in neither set');
    assert.equal(bed.cluster.domains.nextMs, 0);
    bed.advance(10);
    assert.deepEqual(bed.sets(), [['192.0.2.2'], ['192.0.2.1', '192.0.2.2']]);
    bed.answer('b.example.com', ['192.0.2.1', '192.0.2.2'], 20);
    assert.deepEqual(bed.sets()[0], ['192.0.2.1', '192.0.2.2'], 'another name has it');
    bed.answer('b.example.com', ['192.0.2.2'], 100);
    bed.advance(11 + dayMs / 1000);
    assert.deepEqual(bed.sets()[1], ['192.0.2.1', '192.0.2.2'], 'a day after the last name lost it');
    bed.advance(101 + dayMs / 1000);
    assert.deepEqual(bed.sets()[1], ['192.0.2.2']);
  });

  test('is after a restart what it was before, and ends what no name has', () => {
    const bed = Bed.of(pattern);
    bed.reports('n1', asked('www.example.com'), asked('b.example.com'));
    bed.answer('www.example.com', ['192.0.2.1', '192.0.2.3']);
    bed.answer('b.example.com', ['192.0.2.2']);
    bed.answer('b.example.com', [], 60);
    const { rows } = planKey(bed.cluster, `domain-name/${pattern}`);
    assert.deepEqual(bed.sets(), [
      ['192.0.2.1', '192.0.2.3'],
      ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
    ]);
    const left = leftOf(rows[1]?.columns['external_ids'] as Record<string, string>);

    const next = new Bed();
    next.reports('n1', asked('www.example.com'), asked('b.example.com'));
    next.policy([pattern]);
    next.cluster.domains.restore(new Map([[pattern, { current: ['192.0.2.1', '192.0.2.3'], left }]]), startMs + 90_000);
    next.cluster.domains.setServers([server]);
    const same = () => assert.deepEqual(planKey(next.cluster, `domain-name/${pattern}`).rows, rows);
    same();
    next.answer('www.example.com', ['192.0.2.1', '192.0.2.3'], 91);
    next.answer('b.example.com', 'failed', 91);
    next.advance(92);
    same();
    next.answer('www.example.com', ['192.0.2.1'], 120);
    next.advance(380);
    same();
    next.answer('www.example.com', ['192.0.2.1'], 401);
    next.advance(402);
    assert.deepEqual(next.sets()[0], ['192.0.2.1']);
  });

  test('is after a restart what it was before, with more addresses than one name may have', () => {
    const bed = Bed.of(pattern);
    const list = (from: number): readonly string[] =>
      Array.from({ length: 900 }, (_, at) => `198.51.${from + Math.floor(at / 250)}.${at % 250}`);
    bed.reports('n1', asked('www.example.com'), asked('b.example.com'));
    bed.answer('www.example.com', list(0));
    bed.answer('b.example.com', list(10));
    bed.answer('b.example.com', [], 60);
    const { rows } = planKey(bed.cluster, `domain-name/${pattern}`);
    const current = rows[0]?.columns['addresses'] as readonly string[];
    const left = leftOf(rows[1]?.columns['external_ids'] as Record<string, string>);
    assert.deepEqual([current.length, left.size], [900, 900]);

    const next = new Bed();
    next.reports('n1', asked('www.example.com'), asked('b.example.com'));
    next.policy([pattern]);
    next.cluster.domains.restore(new Map([[pattern, { current, left }]]), startMs + 90_000);
    assert.deepEqual(planKey(next.cluster, `domain-name/${pattern}`).rows, rows);
  });

  test('opens nothing after a start without names that pods asked for, and ends no connection', () => {
    const bed = new Bed();
    bed.policy([pattern]);
    bed.cluster.domains.restore(new Map([[pattern, { current: ['192.0.2.1'], left: new Map() }]]), startMs);
    assert.equal(bed.cluster.domains.nextMs, 0);
    bed.advance(0);
    assert.deepEqual(bed.sets(), [[], ['192.0.2.1']]);
    assert.equal(bed.cluster.domains.nextMs, startMs + dayMs);
  });

  test('opens nothing of the cluster by any name', () => {
    const bed = Bed.of(pattern);
    bed.reports('n1', asked('evil.example.com'), asked('www.example.com'));
    bed.answer('www.example.com', ['192.0.2.1']);
    bed.answer('evil.example.com', ['172.30.0.1', '169.254.169.254', '10.16.0.7']);
    assert.deepEqual(bed.sets()[1], ['192.0.2.1']);
    assert.match(bed.ready, /^AddressRefused .*an address of evil\.example\.com is not accepted: 10\.16\.0\.7/);
  });

  test('is ready whatever pods ask for, as long as one name is answered', () => {
    const bed = Bed.of(pattern);
    assert.match(bed.ready, /^PolicyReady/);
    bed.reports('n1', asked('www.example.com'), asked('made-up.example.com'), asked('broken.example.com'));
    assert.match(bed.ready, /^PolicyReady/);
    bed.answer('made-up.example.com', []);
    bed.answer('broken.example.com', 'failed');
    bed.answer('www.example.com', ['192.0.2.1']);
    assert.match(bed.ready, /^PolicyReady/);
    bed.reports('n1', asked('broken.example.com'));
    assert.match(bed.ready, /^DomainNamesNotResolved .*no DNS server answers for broken\.example\.com/);
    bed.cluster.domains.setServers([]);
    assert.match(bed.ready, /^DomainNamesNotResolved .*kube-dns has no ready endpoint/);
  });

  test('has no names of a node that is gone, even if its object stays', () => {
    const bed = Bed.of(pattern);
    bed.reports('n2', asked('www.example.com'));
    bed.reports('n3', asked('forged.example.com'));
    bed.answer('www.example.com', ['192.0.2.1']);
    assert.deepEqual([...bed.cluster.domains.asked], ['www.example.com']);
    bed.node('n2', undefined);
    bed.cluster.settle();
    bed.advance(1);
    assert.deepEqual([[...bed.cluster.domains.asked], bed.sets()], [[], [[], ['192.0.2.1']]]);
    bed.node('n2', '172.30.0.2');
    bed.cluster.settle();
    assert.deepEqual([...bed.cluster.domains.asked], ['www.example.com']);
  });

  test('has a limit of names, and says so', () => {
    const bed = Bed.of(pattern);
    const many = Array.from({ length: mostAskedNames + 5 }, (_, index) => asked(`n${index}.example.com`, 'a', index));
    bed.reports('n1', ...many);
    assert.equal(bed.cluster.domains.asked.size, mostAskedNames);
    assert.match(bed.ready, /^TooManyDomainNames .*1000 are resolved/);
    assert.ok(!bed.cluster.domains.asked.has('n1004.example.com'));
    bed.reports('n2', asked('shop.example.com', 'b', 5000));
    assert.ok(bed.cluster.domains.asked.has('shop.example.com'), 'nodes take turns');
  });
});

describe('names that pods asked for', () => {
  const patterns = new Set([pattern]);

  test('count in turns of namespaces, the oldest first', () => {
    const names = namesOfNode(
      [
        asked('e1.example.com', 'evil', 1),
        asked('e2.example.com', 'evil', 2),
        asked('e3.example.com', 'evil', 3),
        asked('shop.example.com', 'shop', 9),
        asked('shop.example.net', 'shop', 1),
      ].toReversed(),
      patterns,
    );
    assert.deepEqual(names, ['e1.example.com', 'shop.example.com', 'e2.example.com', 'e3.example.com']);
  });

  test('count in the turn of each namespace that asked for them: nobody holds back a name by asking first', () => {
    const flood = Array.from({ length: 300 }, (_, at) => asked(`e${at}.example.com`, 'evil', at));
    const shop = asked('shop.example.com', 'shop', 999);
    const names = namesOfNode([...flood, { ...shop, namespace: 'evil', since: 998 }, shop], patterns);
    assert.deepEqual([names.indexOf('shop.example.com'), names.length], [1, 301]);
  });

  test('count in turns of nodes, each once', () => {
    const first = Array.from({ length: 2000 }, (_, index) => `n${index}.example.com`);
    const { names, short } = chooseNames([first, ['n0.example.com', 'b.example.com']], patterns);
    assert.deepEqual([...names.keys()].slice(0, 3), ['n0.example.com', 'n1.example.com', 'b.example.com']);
    assert.deepEqual([names.size, [...short]], [mostAskedNames, [pattern]]);
  });
});

test('the addresses of several names have a limit', () => {
  const part = (from: number, count: number) => ({
    current: Array.from({ length: count }, (_, at) => `a${from + at}`),
    left: new Map([[`l${from}`, from]]),
  });
  const { current, left, isShort } = uniteRecords([part(0, mostOfPattern - 1), part(mostOfPattern - 2, 10)]);
  assert.deepEqual([current.length, left.size, isShort], [mostOfPattern, 0, true]);
  assert.equal(uniteRecords([part(0, mostOfPattern), part(0, 5)]).isShort, false);
});
