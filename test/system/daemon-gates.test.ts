/**
 * Gates of VPCs on a real node: the daemon with an API server and OVN, and pods of two VPCs with the same addresses. The controller's part is played here.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { nodeMac, startCluster, type TestCluster } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation, gatePort, gateSwitch } from '../../lib/api/names.ts';
import { endpointSlices, services, vpcDnses } from '../../lib/kube/resources.ts';
import { gateMac, gateNetwork } from '../../lib/services/gate.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { addDefaultRoutes, ServiceBed } from './node-services-bed.ts';

const node = new TestNode();
const bed = new ServiceBed();
const nodeIp = '172.30.9.11';
const dnsIp = '10.96.0.10';
const otherIp = '10.96.0.99';
const apiPort = 6443;
/** Pods see connections of gates with it. */
const serviceAddress = '100.64.0.9';
/** The pods of both VPCs. */
const podIp = '10.16.0.21';
const vpcs = ['blue', 'green'] as const;
type Vpc = (typeof vpcs)[number];
const flags = ['--services', 'on'];
let cluster: TestCluster;
let apiIp = '';
const pods = new Map<Vpc, string>();

/** The namespace of the pod of a VPC. */
function podOf(vpc: Vpc): string {
  return pods.get(vpc) ?? '';
}

/** A VPC as the controller makes it, and a pod in it without port security. */
function makeVpc(vpc: Vpc): void {
  const net = `${vpc}-net`;
  const dns = gateSwitch(vpc);
  const join4 = gateNetwork[4];
  node.nbctl(`lr-add ${vpc}`);
  for (const [name, mac, address] of [
    [net, '06:00:00:00:00:01', '10.16.0.1/16'],
    [dns, '06:00:00:00:00:02', `${join4.router}/${join4.prefix}`],
  ])
    node.nbctl(
      `ls-add ${name}`,
      `lrp-add ${vpc} ${vpc}-${name} ${mac} ${address}`,
      `lsp-add ${name} ${name}-${vpc}`,
      `lsp-set-type ${name}-${vpc} router`,
      `lsp-set-addresses ${name}-${vpc} router`,
      `lsp-set-options ${name}-${vpc} router-port=${vpc}-${name}`,
    );
  const port = gatePort(vpc);
  node.nbctl(
    `lsp-add ${dns} ${port}`,
    `lsp-set-type ${port} localport`,
    ['lsp-set-addresses', port, `${gateMac} ${join4.gate}`],
    `lsp-add ${net} ${vpc}-pod`,
    ['lsp-set-addresses', `${vpc}-pod`, `02:00:00:00:00:21 ${podIp}`],
  );
  for (const [protocol, address, number] of [
    ['tcp', dnsIp, 53],
    ['udp', dnsIp, 53],
    ['tcp', apiIp, 443],
  ])
    node.nbctl(
      `--may-exist lb-add ${vpc}-${protocol} ${address}:${number} ${join4.gate}:${number} ${protocol}`,
      `--may-exist ls-lb-add ${net} ${vpc}-${protocol}`,
    );
  const namespace = node.addNamespace(vpc);
  pods.set(vpc, namespace);
  const device = `${vpc}_h`;
  exec('ip', 'link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  exec('ip', 'link', 'set', device, 'up');
  const inPod = (...args: readonly string[]): string => exec('ip', '-n', namespace, ...args);
  inPod('link', 'set', 'eth0', 'address', '02:00:00:00:00:21', 'mtu', '1400');
  exec('ip', 'netns', 'exec', namespace, 'ethtool', '-K', 'eth0', 'tx', 'off');
  inPod('link', 'set', 'eth0', 'up');
  inPod('addr', 'add', `${podIp}/16`, 'dev', 'eth0');
  inPod('route', 'add', 'default', 'via', '10.16.0.1');
  node.vsctl('add-port', 'br-int', device, '--', 'set', 'interface', device, `external_ids:iface-id=${vpc}-pod`);
}

/** A Service of the cluster with one endpoint. */
async function setService(
  key: { readonly namespace: string; readonly name: string },
  clusterIP: string,
  ports: readonly {
    readonly name: string;
    readonly protocol: string;
    readonly port: number;
    readonly target: number;
  }[],
  endpoint: string,
): Promise<void> {
  const spec = { clusterIP, ports: ports.map(({ target, ...port }) => ({ ...port, targetPort: target })) };
  const object = { apiVersion: 'v1', kind: 'Service', metadata: key, spec };
  const how = { fieldManager: 'test' };
  if (key.name !== 'kubernetes') await cluster.admin.patch(services, key, 'apply', object, how);
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...key, name: `${key.name}-test`, labels: { 'kubernetes.io/service-name': key.name } },
    addressType: 'IPv4',
    ports: ports.map(({ name, protocol, target }) => ({ name, protocol, port: target })),
    endpoints: [{ addresses: [endpoint], nodeName: 'n1', conditions: { ready: true } }],
  };
  await cluster.admin.patch(endpointSlices, { ...key, name: `${key.name}-test` }, 'apply', slice, how);
}

async function setDns(vpc: string, name = vpc): Promise<void> {
  const object = { apiVersion: 'kubeovn.io/v1', kind: 'VpcDns', metadata: { name }, spec: { vpc } };
  await cluster.admin.patch(vpcDnses, { name }, 'apply', object, { fieldManager: 'test' });
}

async function becomes(expected: RegExp | string, ask: () => Promise<string>): Promise<void> {
  let last = '';
  await eventually(`${expected}`, async () => {
    last = await ask();
    return typeof expected === 'string' ? last === expected : expected.test(last);
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; the last answer is ${last}\n${node.log('daemon')}`, { cause: error });
  });
}

/** What the kernel and Open vSwitch have of gates: namespaces with their rules and links, links of the node, ports. */
function state(): string {
  const inside = node.gates.map((file) => {
    const run = (...args: readonly string[]): string =>
      exec('nsenter', `--net=${join(node.gateFolder, file)}`, ...args);
    return [file, run('nft', 'list', 'ruleset'), run('ip', 'addr'), run('ip', 'route'), run('ip', '-6', 'route')].join(
      '\n',
    );
  });
  const links = exec('ip', '-o', 'link')
    .split('\n')
    .filter((line) => line.includes('isdns'));
  const ports = node.vsctl('--columns=name,external_ids,ofport', 'find', 'interface', 'external_ids:iface-id!=""');
  const gates = ports.split('\n\n').filter((row) => row.includes('dns-gate@'));
  // The kernel still checks for a second whether a fresh address is in use.
  return [...inside, ...links, ...gates].join('\n').replaceAll(/expires \d+sec| tentative/g, '');
}

before(async () => {
  cluster = await startCluster(node);
  addDefaultRoutes(node);
  node.nbctl(['lsp-set-addresses', 'node-n1', `${nodeMac} 100.64.0.2 ${serviceAddress}`]);
  await cluster.annotateNode({ [annotation.serviceAddress]: serviceAddress });
  await node.startDaemon(cluster.kubeconfig, ...flags);
  const pod = await cluster.makePod('dns');
  await cluster.allocate(pod, '10.16.0.30');
  const { status, json } = await node.cni('ADD', pod.env);
  assert.equal(status, 0, JSON.stringify(json));
  await bed.serve('dns', '0.0.0.0', 53, pod.netns);
  await bed.serve('metrics', '0.0.0.0', 9153, pod.netns);
  await bed.serve('api', nodeIp, apiPort, undefined);
  await bed.serve('node', nodeIp, 22, undefined);
  const { spec } = await cluster.admin.get(services, { namespace: 'default', name: 'kubernetes' });
  apiIp = (spec as { clusterIP: string }).clusterIP;
  const dnsPorts = [
    { name: 'dns', protocol: 'UDP', port: 53, target: 53 },
    { name: 'dns-tcp', protocol: 'TCP', port: 53, target: 53 },
    { name: 'metrics', protocol: 'TCP', port: 9153, target: 9153 },
  ];
  await setService({ namespace: 'kube-system', name: 'kube-dns' }, dnsIp, dnsPorts, '10.16.0.30');
  await setService({ namespace: 'default', name: 'other' }, otherIp, dnsPorts, '10.16.0.30');
  const https = { name: 'https', protocol: 'TCP', port: 443, target: apiPort };
  await setService({ namespace: 'default', name: 'kubernetes' }, apiIp, [https], nodeIp);
  for (const vpc of vpcs) makeVpc(vpc);
});

after(async () => {
  await bed.close();
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

test('pods of two VPCs with the same address reach DNS and the API server', async () => {
  assert.equal(await bed.ask(podOf('blue'), dnsIp, 53, 'udp'), 'silent', 'without a VpcDns');
  for (const vpc of vpcs) await setDns(vpc);
  for (const vpc of vpcs) {
    await becomes(/^dns 100\.64\.0\.9$/, () => bed.ask(podOf(vpc), dnsIp, 53, 'udp'));
    await becomes(/^dns 100\.64\.0\.9$/, () => bed.ask(podOf(vpc), dnsIp, 53));
    await becomes(/^api /, () => bed.ask(podOf(vpc), apiIp, 443));
  }
  assert.deepEqual(node.gates, ['blue.0', 'green.1']);
  const many = await Promise.all(vpcs.map((vpc) => bed.askTimes(10, podOf(vpc), dnsIp, 53, 'udp')));
  assert.deepEqual(new Set(many.flat().map((answer) => answer.split(' ')[0])), new Set(['dns']));
});

test('a daemon that starts again changes nothing, and pods are served while there is none', async () => {
  const before = state();
  assert.match(before, /blue\.0[^]*isdns0_n[^]*dns-gate@green/);
  await node.kill('daemon');
  assert.match(await bed.ask(podOf('blue'), dnsIp, 53, 'udp'), /^dns /);
  const answers = bed.askTimes(50, podOf('green'), dnsIp, 53, 'udp');
  await node.startDaemon(cluster.kubeconfig, ...flags);
  assert.deepEqual([...new Set((await answers).map((answer) => answer.split(' ')[0]))], ['dns']);
  assert.equal(state(), before);
});

describe('nothing but the two Services is reached', () => {
  /** Packets that leave the gate of `blue` for the node meanwhile. */
  async function leaving(meanwhile: () => Promise<unknown>): Promise<string> {
    const child = spawn('tcpdump', ['--immediate-mode', '-nlQ', 'in', '-i', 'isdns0_n', 'ip or ip6'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let seen = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (seen += text));
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk: Buffer) => chunk.includes('listening') && resolve());
    });
    await meanwhile();
    child.kill('SIGINT');
    await once(child, 'close');
    return seen.trim();
  }

  before(() => {
    // As the author of the Vpc could: everything goes to the gate.
    node.nbctl(`lr-route-add blue 0.0.0.0/0 ${gateNetwork[4].gate}`);
  });

  test('at the node, outside, in another VPC and at the gate', async () => {
    const places = [
      ['a port of the node', nodeIp, 22],
      ['the API server by the address of the node', nodeIp, apiPort],
      ['a host outside', '172.30.9.1', 22],
      ['a pod of the default VPC', '100.64.0.2', 53],
      ['another Service', otherIp, 53],
      ['the node by the link of the gate', '169.254.224.0', 22],
      ['the node by the link of another gate', '169.254.224.2', 22],
      ['another port of the gate', gateNetwork[4].gate, 22],
      ['the port of the API server at the gate', gateNetwork[4].gate, apiPort],
    ] as const;
    const attempts = places.flatMap(([what, address, port]) =>
      [[], ['udp']].map((more) => ({ what: `${what} ${more.join()}`, argv: [address, port, ...more] as const })),
    );
    const answers: string[] = [];
    // At once: each of them waits until nothing has come.
    const seen = await leaving(() =>
      Promise.all(
        attempts.map(async ({ what, argv }) => answers.push(`${what}: ${await bed.ask(podOf('blue'), ...argv)}`)),
      ),
    );
    assert.deepEqual(answers.toSorted(), attempts.map(({ what }) => `${what}: silent`).toSorted());
    assert.equal(seen, '');
  });

  test('with the source address of the node or of a Service', async () => {
    const pod = (verb: string, address: string): string =>
      exec('ip', '-n', podOf('blue'), 'addr', verb, `${address}/32`, 'dev', 'eth0');
    const seen = await leaving(async () => {
      pod('add', '169.254.224.0');
      assert.equal(await bed.ask(podOf('blue'), dnsIp, 53, 'udp', '169.254.224.0'), 'silent');
      pod('del', '169.254.224.0');
      pod('add', dnsIp);
      assert.equal(await bed.ask(podOf('blue'), apiIp, 443, dnsIp), 'silent');
      pod('del', dnsIp);
    });
    assert.equal(seen, '');
  });

  test('other ports of the Service of DNS', async () => {
    const seen = await leaving(async () => assert.equal(await bed.ask(podOf('green'), dnsIp, 9153), 'silent'));
    assert.equal(seen, '');
  });
});

test('nothing of the node reaches a VPC by its gate', async () => {
  exec('ip', 'route', 'add', '10.99.0.0/16', 'via', '169.254.224.1');
  assert.equal(await bed.ask(undefined, '10.99.0.1', 80), 'silent');
  exec('ip', 'route', 'del', '10.99.0.0/16');
  assert.equal(await bed.ask(undefined, '169.254.224.1', 53), 'silent');
});

test('a removed link, namespace or rule comes back', async () => {
  exec('ip', 'link', 'del', 'isdns0_p');
  await becomes(/^dns /, () => bed.ask(podOf('blue'), dnsIp, 53, 'udp'));
  exec('ip', 'link', 'del', 'isdns0_n');
  await becomes(/^dns /, () => bed.ask(podOf('blue'), dnsIp, 53, 'udp'));
  exec('nsenter', `--net=${join(node.gateFolder, 'blue.0')}`, 'nft', 'flush', 'ruleset');
  await node.kill('daemon');
  await node.startDaemon(cluster.kubeconfig, ...flags);
  await becomes(/^dns /, () => bed.ask(podOf('blue'), dnsIp, 53, 'udp'));
});

test('another address of the Service is followed', async () => {
  const key = { namespace: 'kube-system', name: 'kube-dns' };
  const { spec } = await cluster.admin.get(services, key);
  await cluster.admin.delete(services, key);
  await becomes('silent', () => bed.ask(podOf('green'), dnsIp, 53, 'udp'));
  const { ports } = spec as { ports: object[] };
  const again = { apiVersion: 'v1', kind: 'Service', metadata: key, spec: { clusterIP: '10.96.0.11', ports } };
  await cluster.admin.create(services, again);
  // By the gate's own address: the addresses of the load balancers are the controller's part.
  await becomes(/^dns /, () => bed.ask(podOf('green'), gateNetwork[4].gate, 53, 'udp'));
});

test('nothing stays of a VPC without a VpcDns, also if it went while there was no daemon', async () => {
  await setDns('green', 'second');
  await cluster.admin.delete(vpcDnses, { name: 'green' });
  await cluster.admin.delete(vpcDnses, { name: 'blue' });
  await eventually('the gate of blue is gone', () => !state().includes('isdns0') && !node.gates.includes('blue.0'));
  assert.match(await bed.ask(podOf('green'), gateNetwork[4].gate, 53, 'udp'), /^dns /, 'the second VpcDns of the VPC');
  await node.kill('daemon');
  await cluster.admin.delete(vpcDnses, { name: 'second' });
  await node.startDaemon(cluster.kubeconfig, ...flags);
  await eventually('no gate is left', () => state() === '' && node.gates.length === 0);
});
