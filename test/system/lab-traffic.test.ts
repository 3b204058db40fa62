/** Packets between all kinds of endpoints, on the shared lab. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { apiVersionOf, networkPolicies } from '../../lib/kube/resources.ts';
import { openLab } from '../lab/lib/lab.ts';
import { run, tryRun } from '../lab/run.ts';
import { addWorkload, removeWorkload, waitForPods, outsideOf } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('traffic', () => {
  const lab = openLab();
  const pods = [
    { name: 'a', node: 'n1' },
    { name: 'b', node: 'n1' },
    { name: 'c', node: 'n3' },
  ];
  const address = (cluster: string, pod: string, family?: 4 | 6): Promise<string> =>
    lab.addressOf(cluster, `traffic/${pod}`, family);

  before(async () => {
    await Promise.all(['east', 'west'].map((cluster) => addWorkload(lab, cluster, { namespace: 'traffic', pods })));
    await Promise.all(['east', 'west'].map((cluster) => waitForPods(lab, cluster, 'traffic', 3)));
  });
  after(() => Promise.all(['east', 'west'].map((cluster) => removeWorkload(lab, cluster, 'traffic'))));

  const pairs = [
    ['on one node', 'east', 'a', 'east', 'b'],
    ['across nodes', 'east', 'a', 'east', 'c'],
    ['from east to west', 'east', 'c', 'west', 'a'],
    ['from west to east', 'west', 'c', 'east', 'b'],
  ] as const;
  for (const [where, fromCluster, from, toCluster, to] of pairs) {
    it(`passes ${where}, by ping and TCP, over IPv4 and IPv6`, async () => {
      const netns = lab.ns(fromCluster, `traffic/${from}`);
      for (const family of [4, 6] as const) {
        const target = await address(toCluster, to, family);
        await lab.ping(netns, target);
        assert.equal(await lab.fetchName(netns, target), to);
      }
    });
  }

  it('passes between pod and node in both directions', async () => {
    for (const node of lab.cluster('east').nodes) {
      await lab.ping(lab.ns('east', 'traffic/a'), node.address);
      await lab.ping(lab.ns('east', node.name), await address('east', 'c'));
    }
  });

  it('leaves the cluster with the address of the pod’s own node', async () => {
    const router = lab.router('tor');
    await lab.ping(lab.ns('east', 'traffic/c'), outsideOf(lab));
    const seen = await lab.firstPacket(router.netns, 'any', 'icmp[icmptype] == icmp-echo', () =>
      lab.ping(lab.ns('east', 'traffic/c'), outsideOf(lab)),
    );
    const node = lab.cluster('east').nodes.find(({ name }) => name === 'n3');
    assert.match(seen, new RegExp(`${node?.address ?? 'no node'} > ${outsideOf(lab)}`));
  });

  it('enters the cluster through the routes of speakers, without NAT', async () => {
    const router = lab.router('tor');
    for (const cluster of ['east', 'west']) {
      const { podCidr, nodes } = lab.cluster(cluster);
      const speakers = nodes.filter(({ labels }) => labels['ovn.kubernetes.io/bgp'] === 'true');
      await eventually(`${podCidr} to lead to each speaker`, async () => {
        const route = await lab.vtysh('tor', `show ip route ${podCidr}`);
        return speakers.every(({ address: nextHop }) => route.includes(nextHop)) || notYet(route);
      });
      for (const pod of ['a', 'c']) await lab.ping(router.netns, await address(cluster, pod));
      assert.equal(await lab.fetchName(router.netns, await address(cluster, 'c')), 'c');
    }
  });

  it('enters through another node than the pod’s although nodes drop invalid conntrack states like kube-proxy', async () => {
    const router = lab.router('tor');
    const nodes = lab.cluster('east').nodes.map(({ name }) => lab.ns('east', name));
    const drop = 'add rule inet proxy forward ct state invalid drop';
    const chain = 'add chain inet proxy forward { type filter hook forward priority filter; policy accept; }';
    await Promise.all(
      nodes.map((netns) => run(['nft', '-f', '-'], { netns, input: `add table inet proxy\n${chain}\n${drop}\n` })),
    );
    try {
      for (const pod of ['a', 'c']) {
        const target = await address('east', pod);
        await lab.ping(router.netns, target);
        // Each connection takes one of the two paths.
        for (let round = 0; round < 6; round += 1) assert.equal(await lab.fetchName(router.netns, target), pod);
      }
    } finally {
      await Promise.all(nodes.map((netns) => run(['nft', 'delete', 'table', 'inet', 'proxy'], { netns })));
    }
  });

  it('is counted by the daemon of the node, by rule of a policy', async () => {
    const kube = lab.kube('east');
    const policy = { namespace: 'traffic', name: 'counted' };
    await kube.create(networkPolicies, {
      apiVersion: apiVersionOf(networkPolicies),
      kind: networkPolicies.kind,
      metadata: policy,
      spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }] },
    });
    const [from, node] = [lab.ns('east', 'traffic/a'), lab.ns('east', 'n3')];
    const [four, six] = [await address('east', 'c', 4), await address('east', 'c', 6)];
    const scrape = "fetch('http://127.0.0.1:10665/metrics').then((r) => r.text()).then((t) => process.stdout.write(t))";
    try {
      await eventually('metrics of the policy', async () => {
        await lab.fetchName(from, four);
        await tryRun(['ping', '-c1', '-W1', six], { netns: from });
        const metrics = await run([process.execPath, '-e', scrape], { netns: node });
        const valueOf = (name: string, labels: string): number =>
          Number(new RegExp(`^${name}\\{.*${labels}.*\\} (\\d+)$`, 'm').exec(metrics)?.[1] ?? 0);
        const allowed =
          'kind="NetworkPolicy",namespace="traffic",policy="counted",direction="ingress",rule="0",verdict="allow"';
        const dropped = 'namespace="traffic",policy="counted",direction="ingress"';
        return (
          (valueOf('isthmus_daemon_policy_packets_total', allowed) > 0 &&
            valueOf('isthmus_daemon_policy_isolation_drops_total', dropped) > 0 &&
            /^isthmus_daemon_policy_counters_up\{.*\} 1$/m.test(metrics)) ||
          notYet(
            metrics
              .split('\n')
              .filter((line) => line.startsWith('isthmus_daemon_policy'))
              .join('\n'),
          )
        );
      });
    } finally {
      await kube.delete(networkPolicies, policy);
    }
  });

  it('keeps the source address between clusters', async () => {
    const netns = lab.ns('west', 'traffic/a');
    const target = await address('west', 'a');
    const seen = await lab.firstPacket(netns, 'eth0', 'icmp[icmptype] == icmp-echo', () =>
      lab.ping(lab.ns('east', 'traffic/a'), target),
    );
    assert.match(seen, new RegExp(`${await address('east', 'a')} > `));
  });
});
