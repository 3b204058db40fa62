import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf } from '../../../lib/testing-growth.ts';
import { pick, randomOf, type Random } from '../../../lib/testing-random.ts';
import { sharingObstacle } from '../../../lib/services/load-balancer.ts';
import { judgeLoadBalancerPools } from './judge-pools.ts';
import { from, LoadBalancerBed, requested, sharing } from '../../testing-load-balancers.ts';

const rounds = 1000;
const names = ['a', 'b', 'c', 'd', 'e', 'f'];

function changeOne(bed: LoadBalancerBed, random: Random): void {
  const act = random(10);
  if (act === 0) {
    const addresses = pick(random, [
      undefined,
      ['192.0.2.8/31'],
      ['192.0.2.8'],
      ['192.0.2.9-192.0.2.11', '2001:db8::/127'],
    ]);
    const selector = { matchLabels: { team: pick(random, ['default', 'other']) } };
    const more = pick(random, [{}, {}, { autoAssign: false }, { namespaceSelector: selector }]);
    const name = pick(random, ['lan', 'wan']);
    if (addresses !== undefined || bed.cluster.loadBalancerPools.has(name))
      bed.pool(name, addresses, more, 1 + random(3));
  } else if (act === 1) {
    const address = pick(random, ['172.30.0.12', '192.0.2.9']);
    bed.put('nodes', { metadata: { name: 'n2' }, status: { addresses: [{ type: 'InternalIP', address }] } });
  } else if (act === 2 && random(2) === 0) {
    const cidrBlock = pick(random, [undefined, '192.0.2.8/31', '192.0.2.0/24,2001:db8::/126', '198.51.100.0/24']);
    const name = pick(random, ['inside', 'beside']);
    if (cidrBlock === undefined) bed.remove('subnets', name);
    else
      bed.put('subnets', {
        metadata: { name, uid: name },
        spec: { cidrBlock, vpc: pick(random, ['ovn-cluster', 'blue']) },
      });
  } else if (act < 4) bed.remove('services', `${pick(random, ['default', 'other'])}/${pick(random, names)}`);
  else {
    const annotations = {
      ...pick(random, [{}, {}, requested('192.0.2.9'), requested('192.0.2.8,2001:db8::1'), from('wan')]),
      ...pick(random, [{}, sharing('k'), sharing('l')]),
    };
    const name = pick(random, names);
    const spec = {
      type: random(8) === 0 ? 'ClusterIP' : 'LoadBalancer',
      ipFamilies: pick(random, [['IPv4'], ['IPv4'], ['IPv6', 'IPv4']]),
      ipFamilyPolicy: pick(random, ['RequireDualStack', 'PreferDualStack']),
      ports: [{ port: 80 + random(2), protocol: 'TCP' }],
      ...(random(9) === 0 && { loadBalancerClass: 'example.com/lb' }),
    };
    // Of the same age, all of them: then the name decides.
    bed.service(name, spec, {
      day: 2 + (names.indexOf(name) % 3),
      annotations,
      namespace: pick(random, ['default', 'other']),
    });
  }
}

/** No two Services have an address that they cannot share, and what is free is offered to all that wait. */
function check(bed: LoadBalancerBed, round: number): void {
  const { services } = bed.cluster;
  const holders = new Map<string, string[]>();
  for (const [key, { ingress }] of bed.cluster.loadBalancers)
    for (const { ip = '' } of ingress) holders.set(ip, [...(holders.get(ip) ?? []), key]);
  for (const [ip, keys] of holders)
    for (const [one, other] of keys.flatMap((a) => keys.flatMap((b) => (a < b ? [[a, b]] : [])))) {
      const [a, b] = [services.get(one ?? ''), services.get(other ?? '')];
      assert.ok(a && b && sharingObstacle(a, b) === undefined, `${ip} of ${one} and ${other} in round ${round}`);
    }
}

test('after random changes, no two Services have an address that they cannot share, and a restart writes nothing', async () => {
  const random = randomOf(11);
  let bed = await LoadBalancerBed.of();
  for (let round = 0; round < rounds; round += 1) {
    changeOne(bed, random);
    if (random(3) === 0) continue;
    await bed.done();
    check(bed, round);
    const verdicts = judgeLoadBalancerPools(bed.cluster);
    assert.deepEqual(bed.cluster.loadBalancerPoolVerdicts, verdicts, `pools in round ${round}`);
    if (random(4) > 0) continue;
    const next = await bed.restarted();
    assert.deepEqual(next.writes, [], `round ${round}`);
    check(next, round);
    bed = next;
  }
});

const [few, many] = [10, 10_000];
const edits = 200;

/** Services of which so many have an address and so many wait for one. */
async function bedOf(served: number, waiting: number): Promise<LoadBalancerBed> {
  const bed = await LoadBalancerBed.of();
  bed.pool('lan', [`192.0.2.0-${served > 250 ? '192.0.41.15' : '192.0.2.9'}`]);
  bed.pool('one', ['198.51.100.1'], { autoAssign: false });
  const total = served + waiting;
  for (let i = 0; i < total; i += 1) bed.service(`s${i}`, {}, { day: 2 + Number(i >= served) });
  bed.cluster.settle();
  return bed;
}

test('the cost of a Service does not grow with the number of Services that have addresses', async (context) => {
  const [ten, thousands] = [await bedOf(few, 0), await bedOf(many, 0)];
  let port = 1;
  const edit = (bed: LoadBalancerBed) => () => {
    port += 1;
    for (let i = 0; i < edits; i += 1) {
      bed.service(`s${i % few}`, { ports: [{ port, protocol: 'TCP' }] });
      bed.cluster.settle();
    }
  };
  const growth = await growthOf({ small: edit(ten), large: edit(thousands) });
  context.diagnostic(`an edit among ${many} takes ${growth.toFixed(2)} times one among ${few}`);
  assert.ok(growth < 5, `${growth} times`);
});

test('a released address goes to the oldest waiting Service, at a cost that does not grow with the number of waiting ones', async (context) => {
  const [ten, thousands] = [await bedOf(few, few), await bedOf(few, many)];
  const comeAndGo = (bed: LoadBalancerBed) => () => {
    for (let i = 0; i < edits; i += 1) {
      bed.service('first', {}, { annotations: requested('198.51.100.1'), day: 1 });
      bed.cluster.settle();
      bed.remove('services', 'default/first');
      bed.cluster.settle();
    }
  };
  for (const bed of [ten, thousands]) bed.service('next', {}, { annotations: from('one') });
  const growth = await growthOf({ small: comeAndGo(ten), large: comeAndGo(thousands) });
  context.diagnostic(
    `an address is released among ${many} that wait in ${growth.toFixed(2)} times the time among ${few}`,
  );
  assert.ok(growth < 20, `${growth} times`);
});
