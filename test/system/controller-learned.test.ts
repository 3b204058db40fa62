/**
 * Prefixes that speakers learned: the controller on a real API server, a real northbound database and ovn-northd, with
 * ovn-trace for the paths of packets. The test writes the slices of speakers and of the interconnect.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ovnEnvironment, schemaFile, startOvsdbServer, type TestServer } from 'ovsdb-client/testing';
import { bgpRoutes } from '../../lib/slices/bgp-routes.ts';
import { remoteRoutes } from '../../lib/slices/remote-routes.ts';
import { bgpNodeStates, nodes, objectPath, remoteClusters, subnets, vpcs } from '../../lib/kube/resources.ts';
import { ControllerBed } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { manyPrefixes, overFourPaths, putRoutes } from './route-lists.ts';

let bed: ControllerBed;
let southbound: TestServer;
let northd: ChildProcess;
let addresses: Readonly<Record<string, string>>;
const merge = { contentType: 'application/merge-patch+json' };
const pod = { ip: '', mac: '' };

before(async () => {
  [bed, southbound] = await Promise.all([ControllerBed.open(), startOvsdbServer({ schema: schemaFile('ovn-sb') })]);
  const files = ['pid', 'ctl'].map((name) => join(southbound.dir, `northd.${name}`));
  const args = [`--ovnnb-db=${bed.server.remote}`, `--ovnsb-db=${southbound.remote}`];
  northd = spawn('ovn-northd', [...args, `--pidfile=${files[0]}`, `--unixctl=${files[1]}`], {
    stdio: 'ignore',
    env: ovnEnvironment(),
  });
  for (const name of ['n1', 'n2', 'n3']) {
    await bed.createNode(name, `172.30.1.1${name.slice(1)}`);
    await ready(name, true);
  }
  await bed.start(['--join-cidr', '100.64.0.0/16,fd00:64::/112', '--default-cidr', '10.16.0.0/16,fd00:16::/64']);
  const joined = ['n1', 'n2', 'n3'].map(async (name) => [name, await joinAddress(name)] as const);
  addresses = Object.fromEntries(await Promise.all(joined));
  await bed.createPod('web', { node: 'n1' });
  pod.ip = (await bed.address('web')).split(',')[0] ?? '';
  pod.mac = macOf('web.default');
});
after(async () => {
  await bed.close();
  northd.kill('SIGKILL');
  await once(northd, 'exit');
  await southbound.stop();
});

async function ready(name: string, isReady: boolean): Promise<void> {
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }];
  await bed.kube.request('PATCH', objectPath(nodes, { name }, 'status'), { status: { conditions } }, merge);
}

function joinAddress(node: string): Promise<string> {
  return eventually(
    `address of ${node}`,
    async () => (await bed.annotations(nodes, node))['ovn.kubernetes.io/ip_address']?.split(',')[0],
  );
}

function macOf(port: string): string {
  const [first = ''] = (bed.row('Logical_Switch_Port', port)?.['addresses'] ?? []) as readonly string[];
  return first.split(' ')[0] ?? '';
}

/** Writes a node's learned prefixes like its speaker: the whole list at each change. */
async function learn(node: string, learned: Readonly<Record<string, number>>): Promise<void> {
  const entries = Object.entries(learned).map(([prefix, preference]) => ({
    prefix,
    peer: 'tor',
    nextHop: prefix.includes(':') ? 'fd00:30::1' : '172.30.1.1',
    preference,
    vpc: 'ovn-cluster',
  }));
  await bed.kube.get(bgpNodeStates, { name: node }).catch(() => bed.create(bgpNodeStates, node, {}));
  await putRoutes(bed.kube, bgpRoutes, node, entries);
}

/** The next hops of a prefix in the router's main table. */
function hops(prefix: string): readonly string[] {
  const rows = bed.rows('Logical_Router_Static_Route');
  const own = rows.filter((row) => row['ip_prefix'] === prefix && row['route_table'] === '');
  return own.map((row) => String(row['nexthop'])).sort();
}

function exempt(family: 4 | 6): readonly string[] {
  return [bed.row('Address_Set', `isthmus.learned.v${family}`)?.['addresses'] ?? []].flat().map(String).sort();
}

const leadsTo = (prefix: string, ...names: readonly string[]): Promise<unknown> =>
  eventually(`${prefix} leads to ${names.join()}`, () => {
    assert.equal(hops(prefix).join(), names.map((name) => addresses[name] ?? '').join());
    return true;
  });

/** The time until the northbound database fulfils `isSo`. */
function timeOf(isSo: () => boolean): Promise<string> {
  const start = performance.now();
  return new Promise((resolve) => {
    const stop = bed.nb.subscribe(() => {
      if (!isSo()) return;
      stop();
      resolve(`${(performance.now() - start).toFixed(1)} ms`);
    });
  });
}

function ovn(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', env: ovnEnvironment() });
}

/** The port through which a packet of the pod leaves OVN. */
function exitOf(destination: string): string {
  ovn('ovn-nbctl', `--db=${bed.server.remote}`, '--wait=sb', 'sync');
  const router = bed.row('Logical_Router_Port', 'ovn-cluster-ovn-default')?.['mac'];
  const packet = `inport=="web.default" && eth.src==${pod.mac} && eth.dst==${String(router)} && ip4.src==${pod.ip} && ip4.dst==${destination} && ip.ttl==64`;
  const text = ovn('ovn-trace', `--db=${southbound.remote}`, '--minimal', 'ovn-default', packet);
  return /output\("([^"]*)"\)/.exec(text)?.[1] ?? `nowhere: ${text}`;
}

describe('a learned prefix', () => {
  test('leads to the node that learned it instead of the pod’s own gateway, until it is withdrawn', async (t) => {
    assert.equal(exitOf('192.0.2.9'), 'node-n1');
    await learn('n2', {});
    const came = timeOf(() => hops('192.0.2.0/24').length > 0);
    await learn('n2', { '192.0.2.0/24': 100, '2001:db8::/32': 100 });
    t.diagnostic(`status to northbound row ${await came}`);
    await leadsTo('192.0.2.0/24', 'n2');
    assert.equal(exitOf('192.0.2.9'), 'node-n2');
    assert.equal(exitOf('192.0.3.9'), 'node-n1');
    assert.equal(exitOf('172.30.1.13'), 'node-n3', 'addresses of nodes are theirs');
    assert.deepEqual([exempt(4), exempt(6)], [['192.0.2.0/24'], ['2001:db8::/32']]);
    assert.equal(bed.policy('ip4.dst == $isthmus.learned.v4')?.['priority'], 29_001);
    assert.equal(hops('2001:db8::/32').length, 1);
    const went = timeOf(() => hops('192.0.2.0/24').length === 0);
    await learn('n2', {});
    t.diagnostic(`withdrawal to northbound row ${await went}`);
    await eventually('no policy', () => bed.policy('ip4.dst == $isthmus.learned.v4') === undefined);
    await eventually('no set', () => bed.row('Address_Set', 'isthmus.learned.v6') === undefined);
    assert.equal(exitOf('192.0.2.9'), 'node-n1');
  });

  test('of several nodes leads to the healthy nodes with the highest preference', async () => {
    await learn('n1', { '192.0.2.0/24': 100 });
    await learn('n2', { '192.0.2.0/24': 100 });
    await learn('n3', { '192.0.2.0/24': 90 });
    await leadsTo('192.0.2.0/24', 'n1', 'n2');
    assert.match(exitOf('192.0.2.9'), /^node-n[12]$/);
    await ready('n1', false);
    await leadsTo('192.0.2.0/24', 'n2');
    await ready('n2', false);
    await leadsTo('192.0.2.0/24', 'n3');
    assert.equal(exitOf('192.0.2.9'), 'node-n3');
    await ready('n3', false);
    await leadsTo('192.0.2.0/24', 'n1', 'n2');
    for (const name of ['n1', 'n2', 'n3']) await ready(name, true);
    await learn('n3', { '192.0.2.0/24': 200 });
    await leadsTo('192.0.2.0/24', 'n3');
    await bed.kube.delete(bgpNodeStates, { name: 'n3' });
    await leadsTo('192.0.2.0/24', 'n1', 'n2');
  });

  test('is matched longest first, and a default route does not apply to addresses of the cluster', async () => {
    await learn('n2', { '0.0.0.0/0': 100, '10.0.0.0/8': 100 });
    await learn('n3', { '198.51.100.0/24': 100 });
    await leadsTo('0.0.0.0/0', 'n2');
    await leadsTo('198.51.100.0/24', 'n3');
    const exits = ['203.0.113.9', '198.51.100.9', '10.99.0.9', '10.16.0.77', '172.30.1.11'].map(exitOf);
    assert.deepEqual(exits.slice(0, 3), ['node-n2', 'node-n3', 'node-n2']);
    assert.notEqual(exits[3], 'node-n2', 'a pod');
    assert.equal(exits[4], 'node-n1', 'a node');
    assert.deepEqual(exempt(4), ['0.0.0.0/1', '10.0.0.0/8', '128.0.0.0/1', '192.0.2.0/24', '198.51.100.0/24']);
    await learn('n2', {});
    await learn('n3', {});
    await eventually('the default route of every VPC is back', () => hops('0.0.0.0/0').join() === '100.64.0.1');
    assert.equal(exitOf('203.0.113.9'), 'node-n1');
  });

  test('has a lower priority than routes and policies of the user', async () => {
    await bed.createPod('firewall', { node: 'n1' });
    const [firewall = ''] = (await bed.address('firewall')).split(',');
    const staticRoutes = [{ cidr: '198.51.100.0/24', nextHopIP: firewall }];
    const policyRoutes = [{ priority: 29_002, match: 'ip4.dst == 198.51.101.0/24', action: 'drop' }];
    await learn('n2', { '198.51.100.0/24': 100, '198.51.100.0/23': 100 });
    await leadsTo('198.51.100.0/24', 'n2');
    await bed.kube.patch(vpcs, { name: 'ovn-cluster' }, 'merge', { spec: { staticRoutes, policyRoutes } });
    await eventually('the route of the user', () => hops('198.51.100.0/24').join() === firewall);
    // The port drops the packet, because it accepts only packets for its own address.
    assert.match(exitOf('198.51.100.9'), new RegExp(`eth.dst = ${macOf('firewall.default')};`));
    await eventually('the policy of the user', () => bed.policy('ip4.dst == 198.51.101.0/24'));
    assert.match(exitOf('198.51.101.9'), /^nowhere/);
    await bed.kube.patch(vpcs, { name: 'ovn-cluster' }, 'merge', { spec: { staticRoutes: [], policyRoutes: [] } });
    await leadsTo('198.51.100.0/24', 'n2');
    assert.equal(exitOf('198.51.101.9'), 'node-n2');
    await learn('n2', {});
  });

  test('of a subnet or another cluster is refused with an event until the prefix is free', async () => {
    const ts = { apiVersion: 'isthmus.network/v1alpha1', kind: 'TransitSwitch', metadata: { name: 'ts' } };
    const resource = { group: 'isthmus.network', version: 'v1alpha1', plural: 'transitswitches', namespaced: false };
    await bed.kube.create({ ...resource, kind: 'TransitSwitch' }, { ...ts, spec: {} });
    const transit = objectPath({ ...resource, kind: 'TransitSwitch' }, { name: 'ts' }, 'status');
    await bed.kube.request('PATCH', transit, { status: { cidr: '100.100.0.0/16', vpc: 'ovn-cluster' } }, merge);
    await bed.create(remoteClusters, 'west', {});
    const route = { prefix: '10.18.0.0/16', transitSwitch: 'ts', state: 'Active' as const, origin: 'connected' };
    await putRoutes(bed.kube, remoteRoutes, 'west', [route]);
    await bed.createSubnet('taken', { cidrBlock: '10.70.0.0/24' });
    await bed.untilCondition('taken', 'Ready', 'True');
    const lifelines = ['10.96.0.1/32', '10.96.0.0/17', '172.30.1.13/32', '100.100.7.0/24'];
    const taken = ['10.18.4.0/24', '10.70.0.0/25', '100.64.0.0/16', ...lifelines, '203.0.113.0/24'];
    await learn('n2', Object.fromEntries(taken.map((prefix) => [prefix, 100])));
    await leadsTo('203.0.113.0/24', 'n2');
    for (const [prefix, holder] of [
      ['10.18.4.0/24', /cluster west/],
      ['10.70.0.0/25', /subnet taken/],
      ['100.64.0.0/16', /subnet join/],
      ['10.96.0.1/32', /Services/],
      ['10.96.0.0/17', /Services/],
      ['172.30.1.13/32', /node n3/],
      ['100.100.7.0/24', /transit switch ts/],
    ] as const) {
      assert.deepEqual(hops(prefix), []);
      const message = await bed.event('LearnedRouteRefused', 'n2', new RegExp(`^${prefix} `));
      assert.match(message, holder);
    }
    assert.deepEqual(exempt(4), ['192.0.2.0/24', '203.0.113.0/24']);
    await bed.kube.delete(remoteClusters, { name: 'west' });
    await leadsTo('10.18.4.0/24', 'n2');
    await bed.kube.delete(subnets, { name: 'taken' });
    await leadsTo('10.70.0.0/25', 'n2');
    await learn('n2', { '192.0.2.0/24': 100, '203.0.113.0/24': 100 });
    await eventually('none of them', () => hops('10.18.4.0/24').length + hops('10.70.0.0/25').length === 0);
  });

  test('of another cluster is compared with a new Subnet, for all of 5,000 prefixes over four paths', async () => {
    const prefixes = manyPrefixes(5000);
    const last = prefixes.at(-1) ?? '';
    await bed.create(remoteClusters, 'west', {});
    await putRoutes(bed.kube, remoteRoutes, 'west', overFourPaths(prefixes));
    // The refusal of a learned prefix shows that the controller knows the prefixes.
    await learn('n2', { '192.0.2.0/24': 100, [last]: 100 });
    await bed.event('LearnedRouteRefused', 'n2', new RegExp(`^${last} .*cluster west`));
    await bed.createSubnet('late', { cidrBlock: last });
    assert.match(
      await bed.untilCondition('late', 'Ready', 'False', 'InterconnectOverlap'),
      new RegExp(`overlaps ${last} of cluster west`),
    );
    await putRoutes(bed.kube, remoteRoutes, 'west', overFourPaths(prefixes.slice(0, -1)));
    await bed.untilCondition('late', 'Ready', 'True');
    await bed.kube.delete(subnets, { name: 'late' });
    await bed.kube.delete(remoteClusters, { name: 'west' });
    await learn('n2', { '192.0.2.0/24': 100, '203.0.113.0/24': 100 });
    await leadsTo('203.0.113.0/24', 'n2');
  });

  test('is in the route tables of subnets too', async () => {
    await bed.createSubnet('red', { cidrBlock: '10.71.0.0/24', routeTable: 'red' });
    await eventually('the route in the table', () =>
      bed
        .rows('Logical_Router_Static_Route')
        .some((row) => row['route_table'] === 'red' && row['ip_prefix'] === '203.0.113.0/24'),
    );
    await bed.kube.delete(subnets, { name: 'red' });
    await eventually('none in the table', () =>
      bed.rows('Logical_Router_Static_Route').every((row) => row['route_table'] !== 'red'),
    );
  });

  test('is not rewritten by a restart, which removes routes that ended meanwhile', async () => {
    await learn('n1', { '192.0.2.0/24': 100, '2001:db8::/32': 100 });
    await leadsTo('192.0.2.0/24', 'n1', 'n2');
    await bed.quiet();
    const before = [await bed.versions(), bed.changes];
    await bed.kill();
    await bed.start();
    await bed.quiet();
    assert.deepEqual([await bed.versions(), bed.changes], before);
    await bed.kill();
    await learn('n1', {});
    await bed.kube.delete(nodes, { name: 'n2' });
    await bed.start();
    await eventually('nothing is left', () => hops('192.0.2.0/24').length === 0);
    assert.equal(exitOf('192.0.2.9'), 'node-n1');
  });
});
