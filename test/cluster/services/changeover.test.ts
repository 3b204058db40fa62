/**
 * From kube-proxy to the daemon and back, by the commands of the guide, while clients in pods, on nodes and behind a router send requests. Starts
 * and ends with the daemon alone.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { onMachine } from '../../lab/kubelet/machine.ts';
import { checkout } from '../../lab/layout.ts';
import { openLab } from '../../lab/lib/lab.ts';
import { managementAddress } from '../../lab/network.ts';
import { run, tryRun } from '../../lab/run.ts';
import { tool } from '../../lab/tools.ts';
import { namespace, User } from '../user.ts';
import { commandsOf } from './guide.ts';
import { kubeProxyManifest } from './kube-proxy.ts';
import { type Requests, startRequests, startServer, type Wrap } from './requests.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const home = 'east';
const port = 9000;
/** Time with requests before and after each step. */
const calmMs = 2000;
const guide = readFileSync(join(checkout, 'docs/guides/services-node.md'), 'utf8');
const rulesOfKubeProxy = /KUBE-SERVICES|table ip6? kube-proxy/;

for (const mode of ['iptables', 'nftables'] as const)
  describe(`the changeover beside kube-proxy in mode ${mode}`, () => {
    const user = new User(openLab());
    const { lab } = user;
    const cluster = lab.cluster(home);
    const [node] = cluster.nodes;
    const [router] = lab.layout.routers;
    assert.ok(node && router);
    const servers: ChildProcess[] = [];
    const requests = new Map<string, Requests>();
    const apply = (object: object): Promise<string> => lab.kubectl(home, ['apply', '-f', '-'], JSON.stringify(object));
    const inNetns =
      (netns: string): Wrap =>
      (argv) => ['ip', 'netns', 'exec', netns, ...argv];

    async function rulesetOf(machine: Parameters<typeof onMachine>[0]): Promise<string> {
      return await run(onMachine(machine, ['nft', 'list', 'chains']));
    }

    /** Runs command lines of the guide, those for nodes on each of them, and requires that no request fails meanwhile. */
    async function step(context: TestContext, name: string, act: () => Promise<unknown>): Promise<void> {
      await sleep(calmMs);
      await act();
      await sleep(calmMs);
      const failures: string[] = [];
      for (const [client, one] of requests) {
        const { asked, failed, longestMs, ended } = await one.take();
        const text = `${client}: ${asked} requests, failed ${JSON.stringify(failed)}, longest ${longestMs} ms, kept connection ended ${JSON.stringify(ended)}`;
        context.diagnostic(`${name}, ${text}`);
        assert.ok(asked > 100, text);
        if (Object.keys(failed).length + ended.length > 0) failures.push(text);
      }
      assert.deepEqual(failures, [], name);
    }

    async function type(command: string): Promise<string> {
      const argv = command.replaceAll('192.0.2.10', managementAddress(cluster)).split(/\s+/);
      const [program = '', ...args] = argv;
      if (['helm', 'kubectl', 'isthmus'].includes(program)) return await user.run(home, argv);
      const local = program === 'kube-proxy' ? tool(program) : program;
      const until = args.indexOf('|');
      const own = until < 0 ? args : args.slice(0, until);
      return (await Promise.all(cluster.nodes.map((one) => run(onMachine(one, [local, ...own]))))).join('\n');
    }

    const commands = commandsOf(guide, 'Replace kube-proxy');
    const stepOf = (program: RegExp): readonly string[] => {
      const found = commands.filter((one) => program.test(one));
      assert.ok(found.length > 0, String(program));
      return found;
    };
    const rollout = stepOf(/^kubectl .*rollout status/)[0] ?? '';
    const upgradeTo = (value: string): string => stepOf(new RegExp(`^helm .*services\\.nodes=${value}`))[0] ?? '';

    before(async () => {
      await apply(kubeProxyManifest(cluster, mode));
      await user.untilRolledOut(home, 'daemonset/kube-proxy');
      await user.helm(home, 'upgrade', ['services.nodes=off', 'apiServer.host=']);
      await user.untilRolledOut(home, 'daemonset/isthmus-daemon');
      const addresses = { addresses: ['198.51.100.0/28'] };
      await apply({
        apiVersion: 'isthmus.network/v1',
        kind: 'LoadBalancerPool',
        metadata: { name: 'public' },
        spec: addresses,
      });
      await apply({
        apiVersion: 'isthmus.network/v1alpha1',
        kind: 'BgpAdvertisement',
        metadata: { name: 'services' },
        spec: { source: 'Service' },
      });
      await apply({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'echo', namespace: 'demo' },
        spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port, targetPort: port }] },
      });
      for (const [at] of cluster.nodes.entries())
        servers.push(await startServer(inNetns(lab.ns(home, `demo/web-${at + 1}`)), port));
      const jsonpath = (path: string): Promise<string> =>
        lab.kubectl(home, ['-n', 'demo', 'get', 'service', 'echo', '-o', `jsonpath={${path}}`]);
      await eventually(
        'an address of the load balancer',
        async () => (await jsonpath('.status.loadBalancer.ingress[0].ip')) !== '' || notYet('none yet'),
      );
      const [clusterIp, nodePort, public_] = await Promise.all([
        jsonpath('.spec.clusterIP'),
        jsonpath('.spec.ports[0].nodePort'),
        jsonpath('.status.loadBalancer.ingress[0].ip'),
      ]);
      const onNode: Wrap = (argv) => onMachine(node, argv);
      const targets: readonly (readonly [string, Wrap, string, number])[] = [
        ['a pod at the ClusterIP', inNetns(lab.ns(home, 'demo/web-1')), clusterIp, port],
        ['a node at the ClusterIP', onNode, clusterIp, port],
        ['the router at a NodePort', inNetns(router.netns), node.address, Number(nodePort)],
        ['the router at the load balancer', inNetns(router.netns), public_, port],
      ];
      for (const [name, wrap, address, to] of targets) requests.set(name, startRequests(wrap, address, to));
      // The route to the load balancer's address may still be on its way.
      for (const [name, one] of requests)
        await eventually(`answers to ${name}`, async () => {
          await sleep(calmMs);
          const { failed, ended } = await one.take();
          return Object.keys(failed).length + ended.length === 0 || notYet(JSON.stringify({ failed, ended }));
        });
    });

    after(async () => {
      for (const one of requests.values()) one.stop();
      for (const server of servers) server.kill('SIGKILL');
      // As the scenario found the cluster.
      await user.tryRun(home, ['kubectl', '-n', namespace, 'delete', 'daemonset,configmap', 'kube-proxy', '--wait']);
      for (const each of cluster.nodes) await tryRun(onMachine(each, [tool('kube-proxy'), '--cleanup']));
    });

    it('kube-proxy serves', (context) => step(context, 'kube-proxy', () => Promise.resolve()));

    it('a dry run names the missing apiServer.host and nothing else, and writes no rule', async (context) => {
      await step(context, 'dry run', async () => {
        await type(upgradeTo('dry-run'));
        await type(rollout);
        const report = async (): Promise<string> => (await user.tryRun(home, ['isthmus', 'nodes', 'services'])).stdout;
        await eventually('reports of all nodes', async () => {
          const text = await report();
          return (text.match(/ obstacles$/gm) ?? []).length === cluster.nodes.length || notYet(text);
        });
        const codes = new Set([...(await report()).matchAll(/^ {2}([A-Za-z]+) \(/gm)].map(([, code]) => code));
        assert.deepEqual([...codes], ['ApiServerHostMissing']);
        await user.helm(home, 'upgrade', [`apiServer.host=${managementAddress(cluster)}`]);
        await type(rollout);
        await eventually('a report without obstacles', async () => {
          const { code, stdout } = await user.tryRun(home, ['isthmus', 'nodes', 'services']);
          return code === 0 || notYet(stdout);
        });
      });
      for (const each of cluster.nodes) {
        const chains = await rulesetOf(each);
        assert.match(chains, rulesOfKubeProxy);
        assert.doesNotMatch(chains, /isthmus-services/);
      }
    });

    it('the daemons serve beside kube-proxy', async (context) => {
      await step(context, 'on', async () => {
        await type(upgradeTo('on'));
        await type(rollout);
        for (const command of stepOf(/^(?:nft list map|curl) /)) assert.notEqual(await type(command), '');
      });
    });

    it('kube-proxy and its rules are removed', async (context) => {
      await step(context, 'kube-proxy removed', async () => {
        for (const command of stepOf(/^kubectl .*delete|^kube-proxy /)) await type(command);
      });
      for (const each of cluster.nodes) assert.doesNotMatch(await rulesetOf(each), rulesOfKubeProxy);
    });

    it('kube-proxy comes back, and the daemons stop to serve', async (context) => {
      await step(context, 'kube-proxy back', async () => {
        await apply(kubeProxyManifest(cluster, mode));
        for (const command of commandsOf(guide, 'Go back')) await type(command);
      });
      for (const each of cluster.nodes) {
        const chains = await rulesetOf(each);
        assert.match(chains, rulesOfKubeProxy);
        assert.doesNotMatch(chains, /isthmus-services/);
      }
    });

    it('and the daemons serve alone again', async (context) => {
      await step(context, 'again', async () => {
        await type(upgradeTo('on'));
        await type(rollout);
        for (const command of stepOf(/^kubectl .*delete|^kube-proxy /)) await type(command);
      });
    });
  });
