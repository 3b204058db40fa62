/** Daemons and speakers of a lab, each with a token of its own node, whose permissions suffice, and which serve a recreated Node again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { annotation } from '../../lib/api/names.ts';
import { bgpNodeStates, interconnectGateways, nodes } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { accountKubeconfig, nodeAccounts } from '../lab/chart.ts';
import { registerNodes } from '../lab/cluster-objects.ts';
import { isGateway, isSpeaker, type NodeLayout } from '../lab/layout.ts';
import { openLab } from '../lab/lib/lab.ts';
import { tool } from '../lab/tools.ts';
import { tryRun } from '../lab/run.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

interface NodeStatus {
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}

describe('daemons and speakers with tokens of their nodes', () => {
  const lab = openLab();
  const east = lab.cluster('east');
  let kube: KubeClient;
  before(() => {
    kube = lab.kube('east');
  });
  after(() => kube.close());

  const untilServed = (node: NodeLayout): Promise<true> =>
    eventually(`${node.name} to be in the network`, async () => {
      const { metadata, status } = await kube.get(nodes, { name: node.name });
      const { conditions = [] } = (status ?? {}) as Partial<NodeStatus>;
      const unavailable = conditions.find(({ type }) => type === 'NetworkUnavailable');
      const isReady = unavailable?.status === 'False' && unavailable.reason === 'NetworkReady';
      return (
        (isReady && metadata.annotations?.[annotation.chassis] !== undefined) || notYet(JSON.stringify(unavailable))
      );
    });
  const untilAnnouncing = (node: NodeLayout): Promise<true> =>
    eventually(`the speaker of ${node.name} to tell of its sessions`, async () => {
      const [state] = await kube.list(bgpNodeStates, { fieldSelector: `metadata.name=${node.name}` });
      const { peers = [] } = (state?.['status'] ?? {}) as { peers?: { state: string }[] };
      return peers.some((peer) => peer.state === 'Established') || notYet(JSON.stringify(peers));
    });
  const asNode = (node: NodeLayout, account: string, argv: readonly string[]) =>
    tryRun([tool('kubectl'), `--kubeconfig=${accountKubeconfig(node, account)}`, ...argv], { netns: east.netns });

  it('serve their nodes', async () => {
    for (const node of east.nodes) await untilServed(node);
    for (const node of east.nodes.filter(isSpeaker)) await untilAnnouncing(node);
    if (lab.layout.hub === undefined) return;
    for (const { name } of east.nodes.filter(isGateway))
      await eventually(`the daemon of ${name} to tell of its tunnels`, async () => {
        const { status } = await kube.get(interconnectGateways, { name });
        const { tunnels = [] } = (status ?? {}) as { tunnels?: unknown[] };
        return tunnels.length > 0 || notYet('no tunnels');
      });
  });

  it('are refused none of their own requests', () => {
    for (const cluster of lab.layout.clusters)
      for (const node of cluster.nodes)
        for (const program of ['daemon', ...(isSpeaker(node) ? ['speaker'] : [])]) {
          const log = readFileSync(join(node.dir, `${program}.log`), 'utf8');
          const refused = log.split('\n').filter((line) => line.includes('ValidatingAdmissionPolicy'));
          assert.deepEqual(refused, [], `${cluster.name}/${node.name}/${program}`);
        }
  });

  it('cannot write another Node with their tokens', async () => {
    const [first, second] = east.nodes;
    assert.ok(first && second);
    const patch = JSON.stringify({ metadata: { annotations: { [annotation.chassis]: 'stolen' } } });
    const argv = ['patch', 'node', second.name, '--type=merge', `--patch=${patch}`];
    const daemon = await asNode(first, 'isthmus-daemon', argv);
    assert.equal(daemon.code, 1);
    assert.match(daemon.stderr, /isthmus-daemon of node n1 may not change Node n2, only its own/);
    const speaker = await asNode(first, 'isthmus-speaker', argv);
    assert.match(speaker.stderr, /cannot get resource "nodes"/);
  });

  it('lose access with their Node, and serve a Node that is created in its place', async () => {
    const node = east.nodes.at(-1);
    assert.ok(node);
    const whoAmI = ['auth', 'whoami', '-o', 'name'];
    await kube.delete(nodes, { name: node.name });
    for (const account of nodeAccounts)
      await eventually(`the token of ${account} to end`, async () => {
        const { code, stderr } = await asNode(node, account, whoAmI);
        return (
          (code !== 0 && /Unauthorized|must be logged in/.test(stderr)) || notYet(`exit ${String(code)} ${stderr}`)
        );
      });
    await registerNodes(kube, { ...east, nodes: [node] });
    await untilServed(node);
    for (const account of nodeAccounts) assert.equal((await asNode(node, account, whoAmI)).code, 0, account);
  });
});
