/** Services of three clusters with real OVN: clients of one get the endpoints of the nearest of the others. */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import {
  endpointSlices,
  interconnectGateways,
  namespaces,
  remoteClusters,
  serviceExports,
  serviceImports,
  services,
} from '../../lib/kube/resources.ts';
import { eventually, eventuallyPasses, notYet } from '../../lib/testing-eventually.ts';
import { Bed } from './interconnect-bed.ts';
import { lookAt } from './interconnect-view.ts';

const run = promisify(execFile);
const echo = join(import.meta.dirname, 'echo.ts');
const clusters = { east: 16, west: 17, north: 18 } as const;
type Cluster = keyof typeof clusters;
const names = Object.keys(clusters) as Cluster[];
const others = ['west', 'north'] as const;
const gatewayOf = { east: 'a1', west: 'b1', north: 'c1' } as const;
const key = { namespace: 'shop', name: 'web' };
const ports = [{ name: 'web', protocol: 'TCP', port: 80 }];

describe('Services of the nearest cluster with real OVN', () => {
  const bed = new Bed();
  const { allSettled } = lookAt(bed);
  const servers: ChildProcess[] = [];
  let probes = 0;
  let address = '';

  const serve = async (cluster: Cluster): Promise<void> => {
    const argv = ['netns', 'exec', bed.netns(`p${cluster}`), process.execPath, echo, 'serve', '::', '8080', cluster];
    const server = spawn('ip', argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    servers.push(server);
    await once(server.stdout, 'data');
  };
  /** The clusters that answer a pod of east, each once. */
  const ask = async (times: number): Promise<string> => {
    const argv = ['netns', 'exec', bed.netns('peast'), process.execPath, echo, 'ask', address, '80', String(times)];
    const { stdout } = await run('ip', argv);
    const found = stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')[0] ?? '']));
    return [...new Set(found)].sort().join();
  };
  const untilAnswered = (wanted: string): Promise<unknown> =>
    eventually(
      `answers of ${wanted}`,
      async () => {
        const found = await ask(12);
        return found === wanted || notYet(found);
      },
      30_000,
    );
  const makeService = async (cluster: Cluster, annotations: Readonly<Record<string, string>>): Promise<void> => {
    const metadata = { ...key, annotations };
    await bed.kube(cluster).create(services, { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } });
  };
  const exportIn = async (cluster: Cluster): Promise<void> => {
    await makeService(cluster, {});
    await bed.kube(cluster).create(endpointSlices, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...key, labels: { 'kubernetes.io/service-name': key.name } },
      addressType: 'IPv4',
      ports: [{ ...ports[0], port: 8080 }],
      endpoints: [{ addresses: [`10.${clusters[cluster]}.0.11`], conditions: { ready: true } }],
    });
    const apiVersion = 'multicluster.x-k8s.io/v1beta1';
    await bed.kube(cluster).create(serviceExports, { apiVersion, kind: 'ServiceExport', metadata: key });
  };
  /** What the daemon of east's gateway writes. */
  const measure = async (times: Readonly<Record<(typeof others)[number], number>>): Promise<void> => {
    probes += 1;
    const at = new Date(Date.UTC(2026, 0, 1) + probes * 30_000).toISOString();
    const status = {
      probes: others.map((cluster) => ({
        chassis: gatewayOf[cluster],
        address: `192.0.2.${clusters[cluster]}`,
        rttMs: { min: times[cluster], avg: times[cluster], max: times[cluster] },
        lossPercent: probes,
        mtu: 1500,
        at,
      })),
    };
    await bed
      .kube('east')
      .patch(interconnectGateways, { name: gatewayOf.east }, 'merge', { status }, { subresource: 'status' });
    // The loss tells one measurement from the next; a time that says the same as the last is not published.
    await eventually('the agent has seen the measurement', async () => {
      const [path] = (await remoteOf('west')).paths ?? [];
      return path?.lossPercent === probes || notYet(JSON.stringify(path));
    });
  };
  const remoteOf = async (cluster: Cluster): Promise<{ rttMs?: number; paths?: readonly { lossPercent?: number }[] }> =>
    (await bed.kube('east').get(remoteClusters, { name: cluster }))['status'] as { rttMs?: number };
  const untilTimes = (west: number, north: number): Promise<unknown> =>
    eventuallyPasses(async () => {
      const [toWest, toNorth] = [(await remoteOf('west')).rttMs, (await remoteOf('north')).rttMs];
      assert.deepEqual([toWest, toNorth], [west, north]);
    });

  before(async () => {
    await bed.up(
      names.map((name) => {
        const node = gatewayOf[name];
        return { name, octet: clusters[name], nodes: [node], gateways: [node], podNode: node };
      }),
    );
    for (const name of names) {
      // As the controller has it for the VPC and its Subnets.
      const group = ['--id=@group', 'create', 'Load_Balancer_Group', 'name=isthmus.lb.ovn-cluster'];
      bed.nb(name, ...group, '--', 'add', 'Logical_Switch', 'ovn-default', 'load_balancer_group', '@group');
      const metadata = { name: key.namespace };
      await bed.kube(name).create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
    }
    for (const name of names) await bed.join(name, await bed.token(name));
    for (const name of names) bed.reportTunnels(name, [gatewayOf[name]]);
    await Promise.all(others.map(serve));
    await allSettled();
    await measure({ west: 40, north: 5 });
    await makeService('east', { 'isthmus.network/affinity': 'nearest' });
    for (const name of others) await exportIn(name);
    await eventually('east has the import', async () => {
      const [found] = await bed.kube('east').list(serviceImports, { namespace: key.namespace });
      address = ((found?.['spec'] ?? {}) as { ips?: readonly string[] }).ips?.[0] ?? '';
      return address !== '';
    });
  });
  after(async () => {
    for (const server of servers) server.kill('SIGKILL');
    await bed.down();
  });
  afterEach((context) => {
    if ('passed' in context && !context.passed) process.stderr.write(`${bed.logs()}\n`);
  });

  it('are those of the cluster with the shorter round-trip time', async () => {
    await untilAnswered('north');
    await untilTimes(40, 5);
  });

  it('stay there until three measurements in a row say otherwise', async () => {
    await measure({ west: 2, north: 50 });
    await measure({ west: 2.1, north: 50 });
    await measure({ west: 41, north: 5 });
    await measure({ west: 2, north: 50 });
    await untilTimes(40, 5);
    assert.equal(await ask(12), 'north');
    await measure({ west: 2.1, north: 50 });
    await measure({ west: 2, north: 50 });
    await untilTimes(2, 50);
    await untilAnswered('west');
  });

  it('are the same after a restart, whatever is measured first then', async () => {
    const balancers = (): string => bed.nb('east', '--columns=name,vips', 'list', 'Load_Balancer');
    const known = balancers();
    await bed.kill('agent-east');
    bed.startAgent('east');
    await measure({ west: 90, north: 5 });
    await untilTimes(2, 50);
    assert.equal(await ask(12), 'west');
    assert.equal(balancers(), known);
  });

  it('are those of the farther cluster while the nearest one has none', async () => {
    const slice = { endpoints: [{ addresses: ['10.17.0.11'], conditions: { ready: false } }] };
    await bed.kube('west').patch(endpointSlices, key, 'merge', slice);
    await untilAnswered('north');
  });

  it('are those of all clusters without the annotation', async () => {
    const ready = { endpoints: [{ addresses: ['10.17.0.11'], conditions: { ready: true } }] };
    await bed.kube('west').patch(endpointSlices, key, 'merge', ready);
    await bed
      .kube('east')
      .patch(services, key, 'merge', { metadata: { annotations: { 'isthmus.network/affinity': null } } });
    await untilAnswered('north,west');
  });
});
