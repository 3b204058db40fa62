import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { northboundMonitor } from '../../interconnect/watch/databases.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import {
  endpointSlices,
  interconnects,
  namespaces,
  serviceCidrs,
  serviceExports,
  serviceImports,
  secrets,
  services,
  subnets,
} from '../../lib/kube/resources.ts';
import { toolsFolder } from '../../lib/kube/testing.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { eventually, eventuallyPasses, notYet } from '../../lib/testing-eventually.ts';
import { freePorts } from '../../lib/testing-ports.ts';
import type { Mesh } from '../../cli/plan/mesh/mesh.ts';
import { runProgram } from './cli-bed.ts';
import { Bed } from './interconnect-bed.ts';
import { lookAt } from './interconnect-view.ts';
import { words } from './ovn-bed.ts';

const run = promisify(execFile);
const echo = join(import.meta.dirname, 'echo.ts');
/** Built for the lab with kubelets. */
const coredns = join(toolsFolder(), 'coredns');
const clusters = ['east', 'west'] as const;
type Cluster = (typeof clusters)[number];
const pods = { east: '10.16.0.11', west: '10.17.0.11' };
const [namespace, name] = ['shop', 'web'];
const key = { namespace, name };

describe('Services of two clusters with real OVN', () => {
  const bed = new Bed();
  const { allSettled, condition } = lookAt(bed);
  const servers: ChildProcess[] = [];
  let northbound: OvsdbClient;
  let writes = 0;

  const serve = async (cluster: Cluster): Promise<void> => {
    const argv = ['netns', 'exec', bed.netns(`p${cluster}`), process.execPath, echo, 'serve', '::', '8080', cluster];
    const server = spawn('ip', argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    servers.push(server);
    await once(server.stdout, 'data');
  };
  /** The clusters that answered a client, `refused` or `silent`, each once. */
  const ask = async (from: Cluster, address: string, times = 12, protocol = ''): Promise<string> => {
    const argv = ['netns', 'exec', bed.netns(`p${from}`), process.execPath, echo, 'ask', address, '80', String(times)];
    const { stdout } = await run('ip', protocol === '' ? argv : [...argv, protocol]);
    const names = stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')[0] ?? '']));
    return [...new Set(names)].sort().join();
  };
  const makeService = async (cluster: Cluster, ready = true): Promise<void> => {
    const client = bed.kube(cluster);
    const ports = ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 80 }));
    await client.create(services, { apiVersion: 'v1', kind: 'Service', metadata: key, spec: { ports } });
    await client.create(endpointSlices, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...key, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: ports.map((port) => ({ ...port, port: 8080 })),
      endpoints: [{ addresses: [pods[cluster]], conditions: { ready } }],
    });
  };
  const setReady = (cluster: Cluster, ready: boolean) =>
    bed.kube(cluster).patch(endpointSlices, key, 'merge', {
      endpoints: [{ addresses: [pods[cluster]], conditions: { ready } }],
    });
  const exportIn = (cluster: Cluster) =>
    bed.kube(cluster).create(serviceExports, {
      apiVersion: 'multicluster.x-k8s.io/v1beta1',
      kind: 'ServiceExport',
      metadata: key,
    });
  const unexport = (cluster: Cluster) => bed.kube(cluster).delete(serviceExports, key);
  const importIn = async (cluster: Cluster): Promise<RawObject | undefined> =>
    (await bed.kube(cluster).list(serviceImports, { namespace })).find(({ metadata }) => metadata.name === name);
  const ipIn = async (cluster: Cluster): Promise<string> => {
    const spec = (await importIn(cluster))?.['spec'] as { ips?: string[] } | undefined;
    return spec?.ips?.[0] ?? '';
  };
  const slicesIn = async (cluster: Cluster): Promise<readonly RawObject[]> =>
    await bed.kube(cluster).list(endpointSlices, {
      namespace,
      labelSelector: 'endpointslice.kubernetes.io/managed-by=isthmus.network',
    });
  const exportCondition = async (cluster: Cluster, type: string): Promise<Condition | undefined> => {
    const { status } = (await bed.kube(cluster).get(serviceExports, key)) as { status?: { conditions?: Condition[] } };
    return status?.conditions?.find((one) => one.type === type);
  };
  const backends = (cluster: Cluster): string =>
    bed.nb(cluster, '--bare', '--columns=vips', 'find', 'Load_Balancer', 'protocol=tcp').trim();
  const versions = async (): Promise<string> => {
    const lists = clusters.flatMap((cluster) =>
      [serviceExports, serviceImports, endpointSlices].map((resource) => bed.kube(cluster).list(resource)),
    );
    const objects = (await Promise.all(lists)).flat();
    return objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).join('\n');
  };

  const isthmus = (cluster: Cluster, ...argv: string[]) =>
    runProgram(argv, { HOME: '/nonexistent', KUBECONFIG: bed.kubeconfig(cluster) });

  before(async () => {
    await bed.up([
      { name: 'east', octet: 16, nodes: ['a1'], gateways: ['a1'], podNode: 'a1' },
      { name: 'west', octet: 17, nodes: ['b1'], gateways: ['b1'], podNode: 'b1' },
    ]);
    for (const cluster of clusters) {
      // As the controller has it for the VPC and its Subnets.
      const group = ['--id=@group', 'create', 'Load_Balancer_Group', 'name=isthmus.lb.ovn-cluster'];
      bed.nb(cluster, ...group, '--', 'add', 'Logical_Switch', 'ovn-default', 'load_balancer_group', '@group');
      await bed
        .kube(cluster)
        .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    }
    await bed.join('east', await bed.token('east'));
    await bed.join('west', await bed.token('west'));
    bed.reportTunnels('east', ['a1']);
    bed.reportTunnels('west', ['b1']);
    northbound = await openOvsdb({
      remotes: [bed.socket('west', 'nb')],
      database: 'OVN_Northbound',
      monitor: northboundMonitor,
    });
    northbound.subscribe(() => (writes += 1));
    await Promise.all(clusters.map(serve));
    await allSettled();
  });
  after(async () => {
    for (const server of servers) server.kill('SIGKILL');
    await (northbound as OvsdbClient | undefined)?.close();
    await bed.down();
  });
  afterEach((context) => {
    if ('passed' in context && !context.passed) process.stderr.write(`${bed.logs()}\n`);
  });

  it('reach pods of another cluster by one address, as soon as one exports them', async (context) => {
    await makeService('east');
    const start = performance.now();
    await exportIn('east');
    await eventually('west has the import', async () => (await ipIn('west')).startsWith('100.127.'));
    const address = await ipIn('west');
    await eventually('west reaches east', async () => (await ask('west', address, 1)) === 'east');
    context.diagnostic(`reached ${Math.round(performance.now() - start)} ms after the export`);
    assert.equal(await ask('west', address, 3, 'udp'), 'east');
    await eventually('east has an import, too', async () => (await ask('east', await ipIn('east'), 2)) === 'east');
    // The load balancers change before the objects are written.
    const [slice] = await eventually('west has the EndpointSlice', async () => {
      const slices = await slicesIn('west');
      return slices.length > 0 && slices;
    });
    assert.equal(slice?.metadata.labels?.['multicluster.kubernetes.io/source-cluster'], 'east');
    assert.equal(slice.metadata.ownerReferences?.[0]?.kind, 'ServiceImport');
    for (const type of ['Valid', 'Ready'])
      await eventually(`the export is ${type}`, async () => (await exportCondition('east', type))?.status === 'True');
    await eventuallyPasses(async () => {
      const { status } = (await importIn('west')) as { status?: { clusters?: object[] } };
      assert.deepEqual(status?.clusters, [{ cluster: 'east' }]);
    });
  });

  it('are served by all clusters that export them, and decided by the oldest export', async () => {
    const address = await ipIn('west');
    await makeService('west');
    await bed.kube('west').patch(services, key, 'merge', { spec: { sessionAffinity: 'ClientIP' } });
    await exportIn('west');
    for (const cluster of clusters)
      await eventually(`${cluster} reports the conflict`, async () => {
        const found = await exportCondition(cluster, 'Conflict');
        return found?.status === 'True' && found.reason === 'SessionAffinityConflict';
      });
    await eventually('both serve', async () => (await ask('west', address)) === 'east,west');
    assert.equal(await ipIn('west'), address, 'the address stays');
    await bed.kube('west').patch(services, key, 'merge', { spec: { sessionAffinity: 'None' } });
    await eventually(
      'the conflict is over',
      async () => (await exportCondition('east', 'Conflict'))?.status === 'False',
    );
  });

  it('leave endpoints that are not ready, and reject connections if none is', async () => {
    const address = await ipIn('west');
    await setReady('west', false);
    await eventually('only east serves', async () => (await ask('west', address)) === 'east');
    await setReady('east', false);
    await eventually('nobody serves', async () => (await ask('west', address, 2)) === 'refused');
    await setReady('east', true);
    await setReady('west', true);
    await eventually('both serve', async () => (await ask('west', address)) === 'east,west');
  });

  const skip = existsSync(coredns) ? false : 'CoreDNS is not built: run test/setup/setup.sh cluster';
  it('have names in CoreDNS, headless ones too, as the guide configures it', { skip }, async () => {
    const [port = 0] = await freePorts(1);
    const corefile = join(bed.dir, 'Corefile');
    const plugin = `kubernetes cluster.local clusterset.local {\n multicluster clusterset.local\n kubeconfig ${bed.kubeconfig('west')}\n }`;
    writeFileSync(corefile, `.:${port} {\n ${plugin}\n}\n`);
    servers.push(spawn(coredns, ['-conf', corefile], { stdio: 'ignore' }));
    const db = { namespace, name: 'db' };
    const client = bed.kube('east');
    const ports = [{ name: 'sql', protocol: 'TCP', port: 5432 }];
    const spec = { clusterIP: 'None', ports };
    await client.create(services, { apiVersion: 'v1', kind: 'Service', metadata: db, spec });
    await client.create(endpointSlices, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...db, labels: { 'kubernetes.io/service-name': 'db', 'service.kubernetes.io/headless': '' } },
      addressType: 'IPv4',
      ports,
      endpoints: [{ addresses: [pods.east], hostname: 'db-0', conditions: { ready: true } }],
    });
    const exported = { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport', metadata: db };
    await client.create(serviceExports, exported);
    const resolver = new Resolver({ timeout: 1000, tries: 1 });
    resolver.setServers([`127.0.0.1:${port}`]);
    for (const [question, answer] of [
      ['web.shop.svc.clusterset.local', await ipIn('west')],
      ['db.shop.svc.clusterset.local', pods.east],
      ['db-0.east.db.shop.svc.clusterset.local', pods.east],
    ] as const)
      await eventually(`${question} is ${answer}`, async () => (await resolver.resolve4(question)).join() === answer);
    await client.delete(serviceExports, db);
    await eventually('the name is gone', async () => {
      const error: unknown = await resolver.resolve4('db.shop.svc.clusterset.local').catch((reason: unknown) => reason);
      return (error as { code?: string }).code === 'ENOTFOUND';
    });
  });

  it('are listed, explained, exported and unexported by isthmus, and hub and members report the mesh', async () => {
    await eventually('both report their paths', async () => {
      const { code, out } = await isthmus('east', 'ic', 'status', '--all', '-o', 'json');
      const mesh = JSON.parse(out) as Mesh;
      assert.deepEqual([code, mesh.pairs[0]?.state], [0, 'up'], out);
      assert.deepEqual(
        mesh.pairs[0]?.sides.map(({ up, paths }) => `${up}/${paths}`),
        ['2/2', '2/2'],
      );
      assert.deepEqual(
        mesh.members.map((one) => [one.name, one.prefixes, one.exports]),
        [
          ['east', 1, 1],
          ['west', 1, 1],
        ],
      );
      return true;
    });
    assert.match((await isthmus('east', 'ic', 'status', '--all')).out, /east +west +up +2\/2 up/);
    assert.match((await isthmus('west', 'ic', 'status', '--all')).err, /^NoMembers: no cluster has joined a hub in/);
    await eventuallyPasses(async () => {
      const { out } = await isthmus('west', 'ic', 'services');
      assert.match(out, /shop\/web +ClusterSetIP +100\.127\..* yes +east +1\/1 ready +2\/2 +web\.shop\.svc/);
    });
    await eventuallyPasses(async () => assert.equal((await isthmus('west', 'why', 'import', 'shop/web')).code, 0));
    const unknown = await isthmus('west', 'why', 'import', 'nowhere/web');
    assert.deepEqual([unknown.code, /NoNamespace/.test(unknown.out)], [1, true], unknown.out);
    assert.match(
      (await isthmus('west', 'ic', 'export', 'shop/none')).err,
      /^NoService: there is no Service shop\/none/,
    );
    assert.equal((await isthmus('west', 'ic', 'unexport', 'shop/web')).code, 0);
    await eventually('only east serves', async () => (await ask('west', await ipIn('west'))) === 'east');
    const again = await isthmus('west', 'ic', 'export', 'shop/web');
    assert.match(again.out, /^shop\/web is exported after /, again.err);
    assert.match((await isthmus('west', 'ic', 'export', 'shop/web')).out, /is exported already/);
    await eventually('both serve', async () => (await ask('west', await ipIn('west'))) === 'east,west');
  });

  it('lose the endpoints of a cluster with the last path to it, and get them back', async (context) => {
    const address = await ipIn('west');
    const [seen, routes]: [string[], string[]] = [[], []];
    const unsubscribe = northbound.subscribe(() => {
      const balancers = [...northbound.cache.table('Load_Balancer').rows.values()];
      const hasBackend = balancers.some((row) => JSON.stringify(row['vips']).includes(pods.east));
      const all = [...northbound.cache.table('Logical_Router_Static_Route').rows.values()];
      const hasRoute = all.some((row) => row['ip_prefix'] === '10.16.0.0/16');
      if (hasBackend !== hasRoute) seen.push(`backend ${String(hasBackend)}, route ${String(hasRoute)}`);
      routes.push(String(hasRoute));
    });
    bed.killOvs('a1');
    const start = performance.now();
    await eventually('the backend is gone', () => !backends('west').includes(pods.east));
    context.diagnostic(`gone after ${Math.round(performance.now() - start)} ms`);
    await eventually('only west serves', async () => (await ask('west', address)) === 'west');
    await eventually('its EndpointSlice says so', async () => {
      const ofEast = (await slicesIn('west')).filter((one) => one.metadata.name.startsWith('web-east-'));
      return ofEast.every((one) => JSON.stringify(one['endpoints']).includes('"ready":false'));
    });
    bed.startOvs('a1');
    await eventually('both serve', async () => (await ask('west', address)) === 'east,west');
    unsubscribe();
    assert.ok(routes.includes('false'));
    assert.deepEqual(seen, [], 'in the transactions of the routes');
    await allSettled();
  });

  it('stay as they are while the hub is away, and when agents and hub restart', async () => {
    const address = await ipIn('west');
    let before = '';
    await eventually('the objects are at rest', async () => before === (before = await versions()), 120_000, 1000);
    await bed.kill('hub-serve');
    await eventually('the hub is missed', async () => (await condition('west', 'HubReachable'))?.status === 'False');
    writes = 0;
    const silences = clusters.map((cluster) => bed.count(`agent-${cluster}`, 'did not answer'));
    for (const cluster of clusters) await bed.kill(`agent-${cluster}`);
    for (const cluster of clusters) bed.startAgent(cluster);
    await eventually('the agents are there', () =>
      clusters.every((cluster, at) => bed.count(`agent-${cluster}`, 'did not answer') > (silences[at] ?? 0)),
    );
    await sleep(500);
    assert.equal(writes, 0);
    assert.equal(await ask('west', address), 'east,west');
    await bed.serveHub();
    for (const cluster of clusters)
      await eventually(`${cluster} is back`, async () => (await condition(cluster, 'HubReachable'))?.status === 'True');
    await sleep(1500);
    assert.equal(writes, 0);
    assert.equal(await versions(), before);
    await setReady('west', false);
    await eventually('what changes is followed again', async () => (await ask('west', address)) === 'east');
    await setReady('west', true);
  });

  it('are gone without a trace once nobody exports them', async () => {
    await unexport('west');
    await eventually('only east serves', async () => (await ask('west', await ipIn('west'))) === 'east');
    await eventually('its EndpointSlice is gone', async () => (await slicesIn('west')).length === 1);
    await unexport('east');
    for (const cluster of clusters) {
      await eventually(`${cluster} has no import`, async () => (await importIn(cluster)) === undefined);
      await eventually(`${cluster} has no slices`, async () => (await slicesIn(cluster)).length === 0);
      await eventually(`${cluster} has no load balancers`, () => backends(cluster) === '');
    }
  });

  it('are exported by annotations of Cilium, too, and served by the preferred side', async () => {
    const annotate = (cluster: Cluster, marks: Readonly<Record<string, string | null>>) => {
      const entries = Object.entries(marks).map(([mark, value]) => [`service.cilium.io/${mark}`, value]);
      return bed
        .kube(cluster)
        .patch(services, key, 'merge', { metadata: { annotations: Object.fromEntries(entries) } });
    };
    await annotate('east', { global: 'true' });
    await eventually('west has the import', async () => (await ipIn('west')).startsWith('100.127.'));
    const address = await ipIn('west');
    await eventually('west reaches east', async () => (await ask('west', address)) === 'east');
    const uid = (await importIn('west'))?.metadata.uid;
    await bed.kill('agent-east');
    await setReady('east', false);
    bed.startAgent('east');
    await eventually('its agent is back', async () => (await ask('west', address, 2)) === 'refused');
    assert.equal((await importIn('west'))?.metadata.uid, uid, 'it was not withdrawn meanwhile');
    await setReady('east', true);
    await eventually('west reaches east again', async () => (await ask('west', address, 2)) === 'east');
    await annotate('west', { global: 'true', shared: 'false' });
    await eventually('west has its own, too', async () => (await ask('west', address)) === 'east,west');
    assert.equal(await ask('east', await ipIn('east')), 'east', 'and shares them with nobody');
    await annotate('west', { affinity: 'local' });
    await eventually('west prefers its own', async () => (await ask('west', address)) === 'west');
    await setReady('west', false);
    await eventually('east serves in their place', async () => (await ask('west', address)) === 'east');
    await setReady('west', true);
    await annotate('west', { affinity: 'remote', shared: null });
    await eventually('west prefers the others', async () => (await ask('west', address)) === 'east');
    await eventually('east has those of west', async () => (await ask('east', await ipIn('east'))) === 'east,west');
    for (const cluster of clusters) await annotate(cluster, { global: null, affinity: null });
    for (const cluster of clusters)
      await eventually(`${cluster} has no import`, async () => (await importIn(cluster)) === undefined);
  });

  it('get no address of a network that Services of the cluster have', async () => {
    const clusterSetCIDR = async (text: string | null) =>
      bed.kube('west').patch(interconnects, { name: 'default' }, 'merge', { spec: { clusterSetCIDR: text } });
    const cidrs = await bed.kube('west').list(serviceCidrs);
    const [taken = ''] = (cidrs[0]?.['spec'] as { cidrs?: string[] } | undefined)?.cidrs ?? [];
    await clusterSetCIDR(taken);
    const reason = async () => (await condition('west', 'ClusterSetIPsAvailable'))?.reason;
    await eventually('the Interconnect says so', async () => (await reason()) === 'ClusterSetCIDROverlap');
    await exportIn('east');
    await eventually('the import says so', async () => {
      const { status } = (await importIn('west')) as { status?: { conditions?: Condition[] } };
      return status?.conditions?.[0]?.reason === 'ClusterSetCIDROverlap';
    });
    assert.equal(await ipIn('west'), '');
    await clusterSetCIDR(null);
    await eventually('it has an address', async () => (await ipIn('west')).startsWith('100.127.'));
    await eventually('the Interconnect is well', async () => (await reason()) === 'Available');
    await unexport('east');
    for (const cluster of clusters)
      await eventually(`${cluster} has no import`, async () => (await importIn(cluster)) === undefined);
  });

  it('of another program are left alone, and imports exist only where the namespace does', async () => {
    const theirs = {
      apiVersion: 'multicluster.x-k8s.io/v1beta1',
      kind: 'ServiceImport',
      metadata: key,
      spec: { type: 'ClusterSetIP', ports: [{ port: 1 }], ips: ['192.0.2.1'] },
    };
    const { metadata } = await bed.kube('west').create(serviceImports, theirs);
    await exportIn('east');
    await eventually('east has the import', async () => (await ipIn('east')) !== '');
    const events = async () =>
      (await bed.kube('west').list({ ...services, plural: 'events' }, { namespace })) as RawObject[];
    await eventually('west says so', async () => (await events()).some((one) => one['reason'] === 'ImportedByAnother'));
    assert.equal((await importIn('west'))?.metadata.resourceVersion, metadata.resourceVersion);
    assert.equal(backends('west'), '');
    assert.equal(await ipIn('west'), '192.0.2.1');
    await bed.kube('west').delete(serviceImports, key);
    await eventually('its own takes the place', async () => (await ipIn('west')).startsWith('100.127.'));
    await eventually('west reaches east', async () => (await ask('west', await ipIn('west'), 1)) === 'east');
    await bed.kube('west').delete(namespaces, { name: namespace });
    await eventually('it goes with its namespace', async () => (await importIn('west')) === undefined);
    await eventually('and its load balancers too', () => backends('west') === '');
    assert.equal(await ask('east', await ipIn('east'), 2), 'east', 'east keeps its own');
  });

  it('go with a member that died, which isthmus removes, checks and connects again', async () => {
    const asEast = ['--peer-kubeconfig', bed.kubeconfig('east')];
    assert.match((await isthmus('east', 'ic', 'remove', 'west', '--yes')).err, /^StillConnected: west has a session/);
    assert.match((await isthmus('east', 'ic', 'remove', 'north', '--yes')).err, /^UnknownMember: .* has east, west/);
    await bed.kill('agent-west');
    await eventually('the hub misses west', async () => {
      const { code, out } = await isthmus('east', 'ic', 'status', '--all');
      return code === 1 && / west +away /.test(out);
    });
    assert.match(
      (await isthmus('east', 'ic', 'remove', 'west')).err,
      /^NotConfirmed: nothing is removed; there is no term/,
    );
    const removed = await isthmus('east', 'ic', 'remove', 'west', '--yes');
    assert.match(removed.out, /^west is removed after /, removed.err);
    const zones = () => words(`ovn-ic-sbctl --db=${bed.socket('hub', 'icsb')}`, 'show');
    await eventually('its rows are gone', () => !zones().includes('availability-zone west') || notYet(zones()));
    await eventually(
      'its tunnels too',
      () => !bed.sb('east', '--bare', '--columns=name', 'list', 'Chassis').includes('b1'),
    );
    await eventually('its routes', () => !bed.nb('east', 'list', 'Logical_Router_Static_Route').includes('10.17.'));
    bed.startAgent('west');
    await eventually('its certificate is refused', async () => {
      const found = await condition('west', 'Joined');
      return found?.status === 'False' && found.reason === 'NotAMember';
    });
    const left = await isthmus('west', 'ic', 'leave', '--force');
    assert.equal(left.code, 0, left.err);
    await bed.kube('west').delete(secrets, { namespace: 'kube-system', name: 'isthmus-interconnect-identity' });

    const make = (...more: string[]) =>
      isthmus('east', 'ic', 'token', '--cluster', 'west', '--hub', `127.0.0.1:${bed.hubPort}`, ...more);
    const token = (await make()).out.trim();
    const checked = await isthmus('west', 'ic', 'check', token, ...asEast);
    assert.match(checked.out, /networks of pods +ok +1 network here/, checked.out + checked.err);
    assert.match(checked.out, /hub +ok +127\.0\.0\.1:\d+ answers in/);
    const expired = (await make('--ttl', '1ms')).out.trim();
    assert.match((await isthmus('west', 'ic', 'check', expired, ...asEast)).out, /TokenExpired/);
    const astray = await isthmus('west', 'ic', 'check', token, '--hub', '127.0.0.1:1', ...asEast);
    assert.deepEqual([astray.code, /HubRefused/.test(astray.out)], [1, true], astray.out);
    assert.equal((await isthmus('west', 'ic', 'check', token, '--context', 'nowhere')).code, 3);
    await bed.subnet('west', 'clash', '10.16.7.0/24');
    const clash = await isthmus('west', 'ic', 'check', token, ...asEast);
    assert.deepEqual([clash.code, /NetworksOverlap: Subnet clash/.test(clash.out)], [1, true], clash.out);
    const asWest = ['--peer-kubeconfig', bed.kubeconfig('west'), '--peer-cluster', 'west'];
    const refused = await isthmus('east', 'ic', 'connect', ...asWest);
    assert.deepEqual([refused.code, /CannotJoin.*nothing was changed/.test(refused.err)], [1, true], refused.err);
    await bed.kube('west').delete(subnets, { name: 'clash' });
    assert.match((await isthmus('west', 'ic', 'connect', ...asEast)).err, /^NoHub: there is no hub in/);
    for (const outcome of [
      /west is ready after .*east and west are connected/s,
      /west is a member .* already\neast and west are/,
    ]) {
      const connected = await isthmus('east', 'ic', 'connect', ...asWest);
      assert.equal(connected.code, 0, connected.err);
      assert.match(connected.out, outcome);
    }
    await allSettled();
  });

  it('are gone when the cluster leaves', async () => {
    await bed.kube('east').delete(interconnects, { name: 'default' });
    await eventually('the import is gone', async () => (await importIn('east')) === undefined);
    await eventually('its slices too', async () => (await slicesIn('east')).length === 0);
    await eventually('its load balancers too', () => backends('east') === '');
    await eventually('the export says so', async () => (await exportCondition('east', 'Ready'))?.reason === 'Pending');
  });
});
