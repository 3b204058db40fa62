/** Services in a cluster without kube-proxy, as its users reach them: from pods, from nodes, and from a router by BGP. */
import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { onMachine } from '../../lab/kubelet/machine.ts';
import type { NodeLayout } from '../../lab/layout.ts';
import { openLab } from '../../lab/lib/lab.ts';
import { run, tryRun } from '../../lab/run.ts';
import { namespace, User } from '../user.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const home = 'east';
const pods = ['web-1', 'web-2', 'web-3'];
const pool = '198.51.100.0/28';
/** Long enough for an answer, and short enough to tell a refusal from silence. */
const patienceS = '3';
const refused = 7;
const timedOut = 28;

/** Prints the IPv4 addresses of a name as a server answers. Arguments: the server, the name. */
const lookup = `
  const [server, name] = process.argv.slice(1);
  const resolver = new (require('node:dns').promises.Resolver)({ timeout: 2000, tries: 2 });
  resolver.setServers([server]);
  resolver.resolve4(name).then((addresses) => console.log(addresses.join()));
`;

/** The command line that runs a program at the client's place. */
type Client = (argv: readonly string[]) => readonly string[];

interface ServiceObject {
  readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly nodePort?: number }[] };
  readonly status: { readonly loadBalancer: { readonly ingress?: readonly { readonly ip: string }[] } };
}

describe('Services without kube-proxy', () => {
  const user = new User(openLab());
  const { lab } = user;
  const { nodes } = lab.cluster(home);
  const [router] = lab.layout.routers;
  assert.ok(router);

  const apply = (object: object): Promise<string> => lab.kubectl(home, ['apply', '-f', '-'], JSON.stringify(object));
  const read = async (name: string): Promise<ServiceObject> =>
    JSON.parse(await lab.kubectl(home, ['-n', 'demo', 'get', 'service', name, '-o', 'json'])) as ServiceObject;
  const create = async (name: string, spec: object): Promise<ServiceObject> => {
    const ports = [{ port: 80, targetPort: 8080 }];
    const metadata = { name, namespace: 'demo' };
    await apply({ apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app: 'web' }, ports, ...spec } });
    return read(name);
  };

  const inNetns = (netns: string, argv: readonly string[]): readonly string[] => [
    'ip',
    'netns',
    'exec',
    netns,
    ...argv,
  ];
  const onRouter: Client = (argv) => inNetns(router.netns, argv);
  const clients: Readonly<Record<string, Client>> = {
    ...Object.fromEntries(
      pods.map((pod): [string, Client] => [`pod ${pod}`, (argv) => inNetns(lab.ns(home, `demo/${pod}`), argv)]),
    ),
    ...Object.fromEntries(
      nodes.map((node): [string, Client] => [`node ${node.name}`, (argv) => onMachine(node, argv)]),
    ),
  };
  const curl = (url: string): readonly string[] => ['curl', '-sS', '--max-time', patienceS, url];

  async function untilAllAnswer(client: Client, url: string, wanted = pods): Promise<void> {
    const names = new Set<string>();
    await eventually(`answers of ${wanted.join(', ')} at ${url}`, async () => {
      names.add((await run(client(curl(url))).catch((error: unknown) => (error as Error).message)).trim());
      return wanted.every((name) => names.has(name)) || notYet([...names].join(', '));
    });
  }

  async function exitCodeOf(client: Client, url: string): Promise<number | null> {
    return (await tryRun(client(curl(url)))).code;
  }

  before(async () => {
    for (const node of nodes)
      assert.doesNotMatch(await run(onMachine(node, ['nft', 'list', 'ruleset'])), /kube-proxy|KUBE-SERVICES/);
    await apply({
      apiVersion: 'isthmus.network/v1',
      kind: 'LoadBalancerPool',
      metadata: { name: 'public' },
      spec: { addresses: [pool] },
    });
    await apply({
      apiVersion: 'isthmus.network/v1alpha1',
      kind: 'BgpAdvertisement',
      metadata: { name: 'services' },
      spec: { source: 'Service' },
    });
  });

  for (const [name, client] of Object.entries(clients))
    it(`${name} reaches all endpoints of a ClusterIP`, async () => {
      const { spec } = await create('web', {});
      await untilAllAnswer(client, `http://${spec.clusterIP}/`);
    });

  it('a name is resolved in pods and on nodes over the Service of CoreDNS', async () => {
    const { spec } = await create('web', {});
    const dns = await addressOfService('kube-system', 'kube-dns');
    const argv = [process.execPath, '-e', lookup, dns, 'web.demo.svc.cluster.local'];
    for (const client of [clients['pod web-1'], clients['node n2']]) {
      assert.ok(client);
      assert.match(await run(client(argv)), new RegExp(spec.clusterIP.replaceAll('.', String.raw`\.`)));
    }
  });

  it('a router reaches a NodePort at every node, and all its endpoints', async () => {
    const { spec } = await create('web-nodes', { type: 'NodePort' });
    for (const { address } of nodes) await untilAllAnswer(onRouter, `http://${address}:${spec.ports[0]?.nodePort}/`);
  });

  it('under policy Local a node answers at its NodePort with its own endpoints, and a node without one does not', async () => {
    const { spec } = await create('web-local', {
      type: 'NodePort',
      externalTrafficPolicy: 'Local',
      selector: { app: 'web', only: 'here' },
    });
    const url = (node: NodeLayout | undefined): string => `http://${node?.address}:${spec.ports[0]?.nodePort}/`;
    await lab.kubectl(home, ['-n', 'demo', 'label', 'pod', 'web-2', 'only=here']);
    await untilAllAnswer(onRouter, url(nodes[1]), ['web-2']);
    assert.equal(await exitCodeOf(onRouter, url(nodes[0])), timedOut);
    await lab.kubectl(home, ['-n', 'demo', 'label', 'pod', 'web-2', 'only-']);
  });

  it('a Service of type LoadBalancer gets an address that the router learns by BGP and reaches', async () => {
    await create('web-public', { type: 'LoadBalancer' });
    const address = await addressOf('web-public');
    await eventually('the route', async () => {
      const route = await lab.vtysh('tor', `show ip route ${address}`);
      return route.includes('bgp') || notYet(route);
    });
    await untilAllAnswer(onRouter, `http://${address}/`);
    for (const [name, client] of Object.entries(clients))
      await untilAllAnswer(client, `http://${address}/`).catch((cause: unknown) => {
        throw new Error(`${name} does not reach ${address}`, { cause });
      });
  });

  it('a Service without endpoints, and an unknown port, refuse connections at once', async () => {
    const { spec } = await create('nothing', { selector: { app: 'nothing' } });
    const { spec: web } = await create('web', {});
    for (const [name, client] of Object.entries(clients)) {
      assert.equal(await exitCodeOf(client, `http://${spec.clusterIP}/`), refused, `${name}, no endpoints`);
      assert.equal(await exitCodeOf(client, `http://${web.clusterIP}:81/`), refused, `${name}, unknown port`);
    }
  });

  it('pods of a VPC with a VpcDns resolve names and reach the API server, and no other Service', async () => {
    const of = (kind: string, name: string, spec: object): Promise<string> =>
      apply({ apiVersion: 'kubeovn.io/v1', kind, metadata: { name }, spec });
    await of('Vpc', 'blue', { namespaces: ['blue'], defaultSubnet: 'blue-pods' });
    await of('Subnet', 'blue-pods', { vpc: 'blue', cidrBlock: '10.100.0.0/24' });
    await of('VpcDns', 'blue', { vpc: 'blue' });
    await user.runPods(home, 'blue', false);
    const { spec } = await create('web', {});
    const dns = await addressOfService('kube-system', 'kube-dns');
    const api = await addressOfService('default', 'kubernetes');
    for (const pod of pods) {
      const client: Client = (argv) => inNetns(lab.ns(home, `blue/${pod}`), argv);
      await eventually(`${pod} of the VPC to resolve a name`, async () => {
        const { stdout, stderr } = await tryRun(
          client([process.execPath, '-e', lookup, dns, 'web.demo.svc.cluster.local']),
        );
        return stdout.trim() === spec.clusterIP || notYet(`${stdout}${stderr}`);
      });
      assert.match(await run(client([...curl(`https://${api}/version`), '--insecure'])), /"gitVersion"/);
      assert.notEqual(await exitCodeOf(client, `http://${spec.clusterIP}/`), 0);
    }
    await lab.kubectl(home, [
      'delete',
      'namespace/blue',
      'vpc-dns/blue',
      'subnet/blue-pods',
      'vpc/blue',
      '--timeout=60s',
    ]);
    for (const node of nodes)
      await eventually(`no gate on ${node.name}`, async () => {
        const left = await run(onMachine(node, ['ls', '/run/isthmus/gates']));
        return left === '' || notYet(left);
      });
  });

  it('Services go on while the daemon, the controller and their pods are replaced', async (context: TestContext) => {
    const { spec } = await create('web', {});
    const url = `http://${spec.clusterIP}/`;
    let [asked, failed] = [0, 0];
    const done = new AbortController();
    const asking = Object.values(clients).map(async (client) => {
      while (!done.signal.aborted) {
        asked += 1;
        if ((await exitCodeOf(client, url)) !== 0) failed += 1;
      }
    });
    for (const workload of ['daemonset/isthmus-daemon', 'deployment/isthmus-controller']) {
      const name = workload.split('/')[1] ?? '';
      await lab.kubectl(home, ['-n', namespace, 'delete', 'pod', '-l', `app.kubernetes.io/name=${name}`, '--wait']);
      await user.untilRolledOut(home, workload);
    }
    done.abort();
    await Promise.all(asking);
    context.diagnostic(`${failed} of ${asked} requests failed`);
    assert.ok(asked > 50);
    assert.equal(failed, 0);
  });

  async function addressOfService(space: string, name: string): Promise<string> {
    return lab.kubectl(home, ['-n', space, 'get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}']);
  }

  async function addressOf(name: string): Promise<string> {
    let address = '';
    await eventually(`an address of ${name}`, async () => {
      address = (await read(name)).status.loadBalancer.ingress?.[0]?.ip ?? '';
      return address !== '' || notYet('none yet');
    });
    return address;
  }
});
