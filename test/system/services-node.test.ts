/**
 * Services on a real node without kube-proxy: the daemon with an API server and OVN, clients on the node and outside, and faults of the daemon. The
 * controller's part is played here.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { nodeMac, startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation } from '../../lib/api/names.ts';
import { endpointSlices, nodes, services } from '../../lib/kube/resources.ts';
import { parseDryRun } from '../../lib/services/dry-run.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { KubeProxy } from '../bench/services/kube-proxy.ts';
import { addDefaultRoutes, ServiceBed } from './node-services-bed.ts';

const node = new TestNode();
const bed = new ServiceBed();
const nodeIp = '172.30.9.11';
const client = '172.30.9.1';
const [own, masquerade] = ['100.64.0.2', '100.64.0.9'];
const healthzPort = 10_256;
const flags = ['--services', 'on', '--external-ips', 'Allow', '--services-healthz-port', `${healthzPort}`];
let cluster: TestCluster;
const pods: TestPod[] = [];

before(async () => {
  cluster = await startCluster(node);
  addDefaultRoutes(node);
  node.nbctl(['lsp-set-addresses', 'node-n1', `${nodeMac} ${own} ${masquerade}`]);
  await cluster.annotateNode({ [annotation.serviceAddress]: masquerade });
  await node.startDaemon(cluster.kubeconfig, ...flags);
  for (const number of [1, 2]) {
    const pod = await cluster.makePod(`pod${number}`);
    await cluster.allocate(pod, `10.16.0.2${number}`);
    const { status, json } = await node.cni('ADD', pod.env);
    assert.equal(status, 0, JSON.stringify(json));
    await bed.serve(pod.name, '0.0.0.0', 8080, pod.netns);
    pods.push(pod);
  }
  await bed.serve('node', nodeIp, 8080, undefined);
});

after(async () => {
  await bed.close();
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

/** `pod1 elsewhere`: as if its node were another one. */
type Endpoint = 'pod1' | 'pod2' | 'node' | 'elsewhere' | 'pod1 elsewhere';
const addresses = {
  pod1: '10.16.0.21',
  pod2: '10.16.0.22',
  node: nodeIp,
  elsewhere: '172.30.9.99',
  'pod1 elsewhere': '10.16.0.21',
} as const;

/** Creates or changes a Service with its slice. */
async function setService(name: string, spec: object, endpoints: readonly Endpoint[], status?: object): Promise<void> {
  const ports = ['TCP', 'UDP'].map((protocol) => ({
    name: protocol.toLowerCase(),
    protocol,
    port: 80,
    targetPort: 8080,
  }));
  const key = { namespace: 'default', name };
  const object = { apiVersion: 'v1', kind: 'Service', metadata: key, spec: { ports, ...spec } };
  const body = { fieldManager: 'test' };
  await cluster.admin.patch(services, key, 'apply', object, body);
  if (status !== undefined) await cluster.admin.patch(services, key, 'merge', { status }, { subresource: 'status' });
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...key, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 8080 })),
    endpoints: endpoints.map((one) => ({
      addresses: [addresses[one]],
      nodeName: one.endsWith('elsewhere') ? 'n2' : 'n1',
      conditions: { ready: true },
    })),
  };
  await cluster.admin.patch(endpointSlices, key, 'apply', slice, body);
}

/** The answer, once it is the expected one. */
async function becomes(expected: RegExp | string, ask: () => Promise<string>): Promise<string> {
  let last = '';
  await eventually(`${expected}`, async () => {
    last = await ask();
    return typeof expected === 'string' ? last === expected : expected.test(last);
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; the last answer is ${last}\n${node.log('daemon')}`, { cause: error });
  });
  return last;
}

const fromNode = (ip: string, port: number): Promise<string> => bed.ask(undefined, ip, port);
const fromOutside = (ip: string, port: number): Promise<string> => bed.ask(node.outside, ip, port);

test('a process of the node reaches a ClusterIP with a pod, and one with the node itself', async () => {
  await setService('web', { clusterIP: '10.96.0.100' }, ['pod1']);
  await becomes(`pod1 ${own}`, () => fromNode('10.96.0.100', 80));
  await setService('web', {}, ['node']);
  await becomes(/^node /, () => fromNode('10.96.0.100', 80));
  await setService('web', {}, []);
  await becomes('refused', () => fromNode('10.96.0.100', 80));
  assert.equal(await fromNode('10.96.0.100', 81), 'refused');
  assert.equal(await fromNode('10.96.0.222', 80), 'silent', 'an unallocated address');
});

describe('clients outside', () => {
  const nodePort = 30_180;
  const type = 'LoadBalancer';
  const ports = [{ name: 'tcp', protocol: 'TCP', port: 80, targetPort: 8080, nodePort }];
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.8', ipMode: 'VIP' }] } };
  const healthCheckNodePort = 30_190;
  const health = async (): Promise<string> => {
    const response = await fetch(`http://${nodeIp}:${healthCheckNodePort}/healthz`);
    const { localEndpoints } = (await response.json()) as { localEndpoints: number };
    return `${response.status} ${localEndpoints} ${response.headers.get('X-Load-Balancing-Endpoint-Weight')}`;
  };

  test('policy Cluster: pods see the service address of the node', async () => {
    await setService('lb', { type, ports, externalIPs: ['192.0.2.7'] }, ['pod1'], status);
    await becomes(`pod1 ${masquerade}`, () => fromOutside(nodeIp, nodePort));
    for (const ip of ['192.0.2.8', '192.0.2.7']) await becomes(`pod1 ${masquerade}`, () => fromOutside(ip, 80));
  });

  test('policy Local: pods see the client, and the health check follows the endpoints of the node', async () => {
    const spec = { type, ports, externalTrafficPolicy: 'Local', healthCheckNodePort };
    await setService('lb', spec, ['pod2', 'elsewhere'], status);
    await becomes(`pod2 ${client}`, () => fromOutside(nodeIp, nodePort));
    await becomes(`pod2 ${client}`, () => fromOutside('192.0.2.8', 80));
    await becomes('200 1 1', health);
    await setService('lb', spec, ['elsewhere'], status);
    await becomes('503 0 0', health);
    await becomes('silent', () => fromOutside('192.0.2.8', 80));
  });

  test('source ranges, and affinity from the first connection on', async () => {
    const spec = { type, ports, loadBalancerSourceRanges: ['203.0.113.0/24'], sessionAffinity: 'ClientIP' };
    await setService('lb', { ...spec, externalTrafficPolicy: 'Cluster' }, ['pod1', 'pod2'], status);
    const first = await becomes(/^pod/, () => fromOutside(nodeIp, nodePort));
    await becomes('silent', () => fromOutside('192.0.2.8', 80));
    const answers = await bed.askTimes(12, node.outside, nodeIp, nodePort);
    assert.deepEqual(new Set(answers), new Set([first]), answers.join());
    const [kept = ''] = first.split(' ');
    const other = kept === 'pod1' ? 'pod2' : 'pod1';
    await setService('lb', { ...spec, externalTrafficPolicy: 'Cluster' }, [other], status);
    await becomes(`${other} ${masquerade}`, () => fromOutside(nodeIp, nodePort));
  });

  test('a client with affinity leaves an endpoint elsewhere under policy Local, also after a time without one here', async () => {
    const spec = { type, ports, sessionAffinity: 'ClientIP' };
    const ask = (): Promise<string> => fromOutside('192.0.2.8', 80);
    await setService('lb', { ...spec, externalTrafficPolicy: 'Cluster' }, ['pod1 elsewhere'], status);
    await becomes(`pod1 ${masquerade}`, ask);
    const local = { ...spec, externalTrafficPolicy: 'Local', healthCheckNodePort };
    await setService('lb', local, ['pod1 elsewhere'], status);
    await becomes('silent', ask);
    await setService('lb', local, ['pod1 elsewhere', 'pod2'], status);
    await becomes(`pod2 ${client}`, ask);
  });

  test('a health check port that another program has is an event on the Service', async () => {
    await bed.serve('squatter', '0.0.0.0', 30_191, undefined);
    const spec = { type, ports, externalTrafficPolicy: 'Local', healthCheckNodePort: 30_191 };
    await cluster.admin.delete(services, { namespace: 'default', name: 'lb' });
    await setService('lb', spec, ['pod1'], status);
    await eventually('the event', async () => 'HealthCheckPortRefused' in (await cluster.eventsOn('Service', 'lb')));
    await bed.stop('squatter');
  });
});

test('datagrams of one socket move when their endpoint is gone, and reach the first one of a Service', async () => {
  await setService('dns', { clusterIP: '10.96.0.53' }, []);
  await becomes('refused', () => fromNode('10.96.0.53', 80));
  const socket = createSocket('udp4');
  let last = '';
  socket.on('message', (message) => (last = message.toString().split(' ')[0] ?? ''));
  socket.on('error', () => undefined);
  socket.bind();
  await once(socket, 'listening');
  const answeredBy = (name: string): Promise<void> =>
    eventually(`an answer of ${name}`, async () => {
      // A datagram that the node rejects is an error of the call.
      socket.send('?', 80, '10.96.0.53', () => undefined);
      await pause(20);
      return last === name;
    }).then(() => undefined);
  await setService('dns', {}, ['pod1']);
  await answeredBy('pod1');
  await setService('dns', {}, ['pod2']);
  await answeredBy('pod2');
  socket.close();
});

test('datagrams from one port of a pod move as well, although OVN leaves their connection', async () => {
  const vip = '10.96.0.54:80';
  node.nbctl(`lb-add switched ${vip} 10.16.0.22:8080 udp`, 'ls-lb-add ovn-default switched');
  await setService('switched', { clusterIP: '10.96.0.54' }, ['pod2']);
  const script = `
    const socket = require('node:dgram').createSocket('udp4');
    const end = (text) => { console.log(text); process.exit(); };
    socket.on('message', (message) => end(String(message)));
    socket.bind(40000, () => socket.send('?', 80, '10.96.0.54'));
    setTimeout(end, 3000, 'silent');`;
  const ask = (): string => exec('ip', 'netns', 'exec', pods[0]?.netns ?? '', process.execPath, '-e', script).trim();
  await becomes(/^pod2 /, async () => ask());
  node.nbctl(['set', 'Load_Balancer', 'switched', `vips:"${vip}"="${nodeIp}:8080"`]);
  await pause(1000);
  assert.match(ask(), /^pod2 /, 'its connection is tracked');
  await setService('switched', {}, ['node']);
  await becomes(/^node /, async () => ask());
  node.nbctl('lb-del switched');
});

/** As a load balancer of a cloud does. */
async function get(path: string, host = nodeIp) {
  const response = await fetch(`http://${host}:${healthzPort}${path}`);
  const body = (await response.json()) as { readonly nodeEligible?: boolean; readonly healthy: boolean };
  return { status: response.status, headers: response.headers, body };
}

describe('load balancers of a cloud', () => {
  const health = async (path: string, host = nodeIp): Promise<string> => {
    const { status, body } = await get(path, host);
    return `${status} eligible=${body.nodeEligible} healthy=${body.healthy}`;
  };
  const taint = async (...keys: readonly string[]): Promise<void> => {
    const taints = keys.map((key) => ({ key, effect: 'NoSchedule' }));
    await cluster.admin.patch(nodes, { name: 'n1' }, 'merge', { spec: { taints } });
  };

  test('the node takes traffic, until the autoscaler is about to delete it', async () => {
    for (const host of [nodeIp, '127.0.0.1', '[::1]'])
      await becomes('200 eligible=true healthy=true', () => health('/healthz', host));
    await taint('other', 'ToBeDeletedByClusterAutoscaler');
    await becomes('503 eligible=false healthy=true', () => health('/healthz'));
    await becomes('200 eligible=undefined healthy=true', () => health('/livez'));
    await taint('other');
    await becomes('200 eligible=true healthy=true', () => health('/healthz'));
  });

  test('a node whose kernel refuses the table takes none', async () => {
    // A table with an owner can be changed by this process only, and ends with it.
    const owner = spawn('nft', ['-i'], { stdio: ['pipe', 'ignore', 'inherit'] });
    const table = 'table inet isthmus-services';
    owner.stdin.write(`delete ${table}; add ${table} { flags owner; }\n`);
    await becomes('503 eligible=true healthy=false', () => health('/healthz'));
    await becomes('503 eligible=undefined healthy=false', () => health('/livez'));
    owner.stdin.end();
    await once(owner, 'exit');
    await becomes('200 eligible=true healthy=true', () => health('/healthz'));
  });

  test('a port that another program has is an event on the Node, and the daemon takes it once it is free', async () => {
    await node.kill('daemon');
    await bed.serve('squatter', '0.0.0.0', healthzPort, undefined);
    await node.startDaemon(cluster.kubeconfig, ...flags);
    const refusal = async (): Promise<string | undefined> =>
      (await cluster.eventsOn('Node', 'n1'))['HealthzPortRefused'];
    await eventually('the event', async () => (await refusal()) !== undefined);
    assert.match((await refusal()) ?? '', /port 10256: listen EADDRINUSE.*ss -ltnp.*services\.healthzPort/);
    await pause(2500);
    assert.equal(node.log('daemon').split('HealthzPortRefused').length, 2, 'one line for several attempts');
    await bed.stop('squatter');
    await eventually('the answer of the daemon', async () => {
      const answer = await health('/healthz').catch(() => undefined);
      return answer === '200 eligible=true healthy=true';
    });
  });
});

/** An answer to a load balancer without its times. */
async function shapeOf(path: string): Promise<object> {
  const { status, headers, body } = await get(path);
  const withoutTimes = JSON.stringify(body).replaceAll(/"\d{4}-[^"]*"/g, '"<time>"');
  return { status, type: headers.get('Content-Type'), options: headers.get('X-Content-Type-Options'), withoutTimes };
}

describe('without the daemon', () => {
  const monitor = async (work: () => Promise<void>): Promise<string> => {
    const child = spawn('nft', ['monitor'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (bytes: Buffer) => (text += bytes.toString()));
    // A change of ours shows that it listens.
    await eventually('nft monitor', () => {
      exec('nft', 'add', 'table', 'ip', 'probe');
      exec('nft', 'delete', 'table', 'ip', 'probe');
      return text.includes('probe');
    });
    await work();
    exec('nft', 'add', 'table', 'ip', 'finished');
    await eventually('the end', () => text.includes('finished'));
    exec('nft', 'delete', 'table', 'ip', 'finished');
    child.kill();
    return text
      .split('\n')
      .filter((line) => line.includes('isthmus-services'))
      .join('\n');
  };

  test('Services go on, and neither a restart nor a kill changes the table', async () => {
    await setService('web', {}, ['pod1', 'pod2']);
    await becomes(/^pod[12] /, () => fromNode('10.96.0.100', 80));
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const changes = await monitor(async () => {
        await node.kill('daemon', signal);
        assert.match(await fromNode('10.96.0.100', 80), /^pod[12] /, signal);
        await node.startDaemon(cluster.kubeconfig, ...flags);
        await pause(500);
      });
      assert.equal(changes, '', signal);
    }
  });

  test('what changed meanwhile is written at the next start, and edits of others are undone while it runs', async () => {
    await node.kill('daemon');
    await setService('web', {}, ['pod2']);
    exec('nft', 'flush', 'map', 'inet', 'isthmus-services', 'refused4');
    await node.startDaemon(cluster.kubeconfig, ...flags);
    await becomes(`pod2 ${own}`, () => fromNode('10.96.0.100', 80));
    assert.equal(new Set(await bed.askTimes(10, undefined, '10.96.0.100', 80)).size, 1);
    exec('nft', 'delete', 'element', 'inet', 'isthmus-services', 'services4', '{ 10.96.0.100 . 6 . 80 }');
    await becomes(`pod2 ${own}`, () => fromNode('10.96.0.100', 80));
    exec('nft', 'delete', 'table', 'inet', 'isthmus-services');
    await becomes(`pod2 ${own}`, () => fromNode('10.96.0.100', 80));
  });

  test('rules of kube-proxy are an event on the Node, and a node that does not serve Services has no table', async () => {
    await node.kill('daemon');
    const { dir } = node;
    const kubeProxy = await KubeProxy.start({
      dir,
      kubeconfig: cluster.kubeconfig,
      node: 'n1',
      health: `0.0.0.0:${healthzPort}`,
    });
    const shapes = async (): Promise<string> => JSON.stringify([await shapeOf('/healthz'), await shapeOf('/livez')]);
    let answers = '';
    try {
      await kubeProxy.untilRounds(1);
      await node.startDaemon(cluster.kubeconfig, ...flags);
      await eventually('the event', async () => 'KubeProxyPresent' in (await cluster.eventsOn('Node', 'n1')));
      answers = await shapes();
      assert.ok(!node.hasDaemonLogged('HealthzPortRefused'), 'kube-proxy has its port until it is removed');
    } finally {
      await kubeProxy.stop();
    }
    await becomes(answers, () => shapes().catch(String));
    await node.kill('daemon');
    await node.startDaemon(cluster.kubeconfig);
    await eventually('no table', () => !exec('nft', 'list', 'tables').includes('isthmus-services'));
    await eventually(
      'ovn0 without the service address',
      () => !exec('ip', 'addr', 'show', 'ovn0').includes(masquerade),
    );
  });

  test('a dry run leaves the rules of kube-proxy and writes none, and reports on the Node', async () => {
    await setService('external', { clusterIP: '10.96.0.60', externalIPs: ['192.0.2.60'] }, ['pod1']);
    const report = async () => {
      const { metadata } = await cluster.admin.get(nodes, { name: 'n1' });
      return parseDryRun(metadata.annotations?.[annotation.servicesDryRun] ?? '');
    };
    await node.kill('daemon');
    exec('nft', 'add', 'table', 'ip', 'kube-proxy');
    const before = exec('nft', 'list', 'ruleset');
    const changes = await monitor(async () => {
      await node.startDaemon(cluster.kubeconfig, '--services', 'dry-run');
      await eventually('the report', async () => (await report()) !== undefined);
      await eventually('the event', async () => 'ServicesDryRun' in (await cluster.eventsOn('Node', 'n1')));
    });
    assert.equal(changes, '');
    assert.equal(exec('nft', 'list', 'ruleset'), before);
    assert.equal(await fromNode('10.96.0.60', 80), 'silent');
    const found = await report();
    assert.equal(found?.kubeProxy, 'nftables table ip kube-proxy');
    assert.ok(found.services > 0 && found.frontends >= found.services && found.endpoints > 0, JSON.stringify(found));
    assert.deepEqual(
      found.problems.map(({ code, service = 'node' }) => `${service} ${code}`),
      ['default/external ExternalIPsDenied'],
    );
    const isReported = async (code: string): Promise<boolean> =>
      (await report())?.problems.some((problem) => problem.code === code) ?? false;
    await cluster.annotateNode({ [annotation.serviceAddress]: null });
    await eventually('the missing address', () => isReported('ServiceAddressMissing'));
    await cluster.annotateNode({ [annotation.serviceAddress]: masquerade });
    await eventually('its return', async () => !(await isReported('ServiceAddressMissing')));
    await node.kill('daemon');
    await node.startDaemon(cluster.kubeconfig);
    await eventually('the end of the report', async () => (await report()) === undefined);
  });
});
