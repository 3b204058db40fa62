/**
 * A gateway dies in a cluster without a third node, which could show its successor that the successor itself is not cut off: a
 * separate lab of two clusters of two nodes, all of them gateways, with pods of two VPCs on the surviving nodes.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { loseGateway, whileHubIsFrozen } from '../bench/ic/faults.ts';
import { takeDown } from '../lab/down.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import {
  askForKeys,
  keysOf,
  packetsInTunnels,
  peersOf,
  requireEncryption,
  sendDatagram,
  sentBytes,
  streamBytes,
  translate,
  tunnelAddressOf,
  untilEncrypted,
  watchUnderlay,
  whileSending,
} from './encryption.ts';
import { drop, mend } from './diagnose-injections.ts';
import { startOwnLab } from './own-lab.ts';
import { addWorkload, applyObjects, conditionsOf, longestGapMs, subnetManifest, waitForPods } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const name = `g${process.pid.toString(36)}`;
const topology = join(import.meta.dirname, '../lab/topologies/pairs.yaml');
const clusters = ['east', 'west'] as const;
/** The namespace of each VPC; the custom VPC has pods on only one node of each cluster. */
const namespaces = ['plain', 'blue'] as const;
/** The node of the pods, and the gateway that dies. */
const [survivor, victim] = ['n2', 'n1'];
/** Detection takes 300 ms; without failover the gap lasts until the gateway is back. */
const longestMs = 2500;
/** Less than the time in which BFD finds that a tunnel is down. */
const goodMs = 200;
/** After a key was replaced: BFD finds within 300 ms that a tunnel is down. */
const settledMs = 1000;

function blueVpc(octet: number): object[] {
  return [
    { apiVersion: 'kubeovn.io/v1', kind: 'Vpc', metadata: { name: 'blue' }, spec: {} },
    subnetManifest('blue-pods', { vpc: 'blue', cidrBlock: `10.${octet}.0.0/24`, namespaces: ['blue'] }),
    {
      apiVersion: 'isthmus.network/v1alpha1',
      kind: 'TransitSwitch',
      metadata: { name: 'blue' },
      spec: { vpc: 'blue' },
    },
  ];
}

describe('two clusters of two nodes', () => {
  let lab: LabHandle;
  const pods = new Map<string, string>();

  /** The longest gap of each VPC from east to west and back, while `action` runs and for a while after it. */
  const gapsDuring = (action: () => Promise<unknown>, settleMs = 2 * longestMs): Promise<number[]> => {
    let acted: Promise<unknown> | undefined;
    const once = (): Promise<unknown> => (acted ??= action());
    return Promise.all(
      namespaces.map((namespace) =>
        longestGapMs(lab.ns('east', `${namespace}/one`), pods.get(namespace) ?? '', once, settleMs),
      ),
    );
  };

  before(async () => {
    lab = await startOwnLab(name, topology);
    for (const [index, cluster] of clusters.entries()) {
      await applyObjects(lab, cluster, blueVpc(50 + index));
      for (const namespace of namespaces)
        await addWorkload(lab, cluster, { namespace, pods: [{ name: 'one', node: survivor }] });
    }
    for (const cluster of clusters) for (const namespace of namespaces) await waitForPods(lab, cluster, namespace, 1);
    for (const namespace of namespaces) {
      pods.set(namespace, await lab.addressOf('west', `${namespace}/one`));
      await lab.ping(lab.ns('east', `${namespace}/one`), pods.get(namespace) ?? '');
    }
  });
  after(() => takeDown(name));
  afterEach(() => lab.heal());

  /** Waits until a cluster's agent reports for both networks whether a dead gateway would be replaced. */
  const untilSaid = async (status: 'True' | 'False', cluster: string): Promise<void> => {
    for (const network of ['ts', 'blue'])
      await eventually(`Protected of ${network} in ${cluster} to be ${status}`, async () => {
        const conditions = await conditionsOf(lab, cluster, 'transitswitch', network);
        const found = conditions.find(({ type }) => type === 'Protected');
        return found?.status === status || notYet(JSON.stringify(conditions));
      });
  };
  const untilProtected = async (): Promise<void> => {
    for (const cluster of clusters) {
      await untilSaid('True', cluster);
      await eventually(`${cluster} to say so`, async () => {
        const conditions = await conditionsOf(lab, cluster, 'interconnect', 'default');
        return conditions.every(({ status }) => status === 'True') || notYet(JSON.stringify(conditions));
      });
    }
  };

  const cases = [
    { cluster: 'east', fault: 'frozen', isHubFrozen: true },
    { cluster: 'west', fault: 'killed', isHubFrozen: false },
  ] as const;
  for (const { cluster, fault, isHubFrozen } of cases)
    it(`traffic of both VPCs continues when ${cluster}/${victim} is ${fault}${isHubFrozen ? ' and the hub is frozen' : ''}`, async () => {
      await untilProtected();
      const measure = (): Promise<number[]> => gapsDuring(() => loseGateway(lab, `${cluster}/${victim}`, fault));
      const gaps = await (isHubFrozen ? whileHubIsFrozen(lab, measure) : measure());
      const text = gaps.map((gap, index) => `${namespaces[index]}: ${gap.toFixed(0)} ms`).join(', ');
      assert.ok(
        gaps.every((gap) => gap < longestMs),
        text,
      );
      await untilSaid('False', cluster);
    });

  it(`east/${victim} forwards without ovn-controller, and its cluster is reported as not protected`, async () => {
    await untilProtected();
    const [gap = 0] = await gapsDuring(() => lab.kill(`east/${victim}`, 'ovn-controller'));
    assert.ok(gap < longestMs, `${gap.toFixed(0)} ms`);
    await untilSaid('False', 'east');
  });

  it('nothing between them is in the clear once they require encryption, whatever dies', async () => {
    await untilProtected();
    const before = await watchUnderlay(lab);
    await lab.ping(lab.ns('east', 'plain/one'), pods.get('plain') ?? '');
    assert.ok((await before.packets()).clear.length > 0, 'the capture sees tunnels');
    for (const cluster of clusters) await requireEncryption(lab, cluster);
    for (const cluster of clusters) await untilEncrypted(lab, cluster);
    const capture = await watchUnderlay(lab);
    const faults = {
      'the daemon is killed': () => lab.kill(`east/${victim}`, 'daemon'),
      'Open vSwitch is killed': () => lab.kill(`east/${victim}`, 'ovs-vswitchd'),
      'WireGuard is killed': () => lab.kill(`east/${victim}`, 'wireguard'),
      'the gateway is frozen': () => loseGateway(lab, `west/${victim}`, 'frozen'),
    };
    for (const [what, act] of Object.entries(faults)) {
      const gaps = await gapsDuring(act);
      assert.ok(
        gaps.every((gap) => gap < longestMs),
        `${what}: ${gaps.map((gap) => gap.toFixed(0)).join(', ')} ms`,
      );
      await lab.heal();
      await untilProtected();
    }
    assert.equal(await sentBytes(lab, pods.get('plain') ?? ''), streamBytes);
    const { clear, encrypted } = await capture.packets();
    assert.deepEqual(clear, []);
    assert.ok(encrypted.length > 1000, `${encrypted.length} packets of WireGuard`);
  });

  it('all keys are replaced at once, without loss', async (t) => {
    await untilProtected();
    const rotate = async (request: string): Promise<void> => {
      const before = await Promise.all(clusters.map((cluster) => keysOf(lab, cluster)));
      await Promise.all(clusters.map((cluster) => askForKeys(lab, cluster, request)));
      for (const [index, cluster] of clusters.entries())
        await eventually(`all gateways of ${cluster} to have new keys`, async () => {
          const now = await keysOf(lab, cluster);
          const isDone = [...now].every(
            ([node, { publicKey, nextKey }]) =>
              nextKey === undefined && publicKey !== before[index]?.get(node)?.publicKey,
          );
          return isDone || notYet(JSON.stringify([...now]));
        });
    };
    const longest: number[] = [];
    for (let time = 1; time <= 3 && Math.min(Infinity, ...longest) >= goodMs; time += 1) {
      const counts = await whileSending(lab, pods.get('plain') ?? '', async () => {
        longest.push(Math.max(...(await gapsDuring(() => rotate(`time ${time}`), settledMs))));
      });
      assert.ok(counts.sent > 100);
      assert.equal(counts.received, counts.sent, 'lines of TCP');
    }
    const text = longest.map((gap) => `${gap.toFixed(0)} ms`).join(', ');
    t.diagnostic(`longest gaps: ${text}`);
    // Without the overlap, BFD would find that a tunnel is down, and the gap would last at least so long.
    assert.ok(Math.min(...longest) < goodMs, text);
    for (const cluster of clusters) await untilEncrypted(lab, cluster);
  });

  it('a rotation waits for the hub, and a daemon that is killed meanwhile goes on with it', async () => {
    const old = (await keysOf(lab, 'east')).get(victim);
    let next: string | undefined;
    await whileHubIsFrozen(lab, async () => {
      await askForKeys(lab, 'east', 'while the hub is away');
      await eventually('a next key', async () => {
        next = (await keysOf(lab, 'east')).get(victim)?.nextKey?.publicKey;
        return next !== undefined || notYet('there is none');
      });
      // `heal` would let the hub go on.
      const pid = lab.pid(`east/${victim}`, 'daemon');
      await lab.kill(`east/${victim}`, 'daemon');
      await lab.waitForRestart(`east/${victim}`, 'daemon', pid);
      assert.equal((await keysOf(lab, 'east')).get(victim)?.publicKey, old?.publicKey);
    });
    // Not another one, which the daemon would have made if it had forgotten this one.
    await eventually('the next key to be in use', async () => {
      const { publicKey, nextKey } = (await keysOf(lab, 'east')).get(victim) ?? {};
      return (publicKey === next && nextKey === undefined) || notYet(JSON.stringify([publicKey, nextKey, next]));
    });
    for (const cluster of clusters) await untilEncrypted(lab, cluster);
    await lab.ping(lab.ns('east', 'plain/one'), pods.get('plain') ?? '');
  });

  it('a gateway behind address translation is followed by the others, also when their WireGuard was started again', async () => {
    for (const cluster of clusters) await requireEncryption(lab, cluster);
    for (const cluster of clusters) await untilEncrypted(lab, cluster);
    await untilProtected();
    const [node] = lab.cluster('east').nodes;
    assert.ok(node);
    const outside = node.address.replace(/\d+$/, '99');
    // Nothing passes to or from the address that the gateway announces.
    await drop(lab, [`ip daddr ${node.address} udp dport 51820`, `ip saddr ${node.address} udp sport 51820`]);
    try {
      const to = `${outside}:45000`;
      await translate(lab, node, to);
      await eventually(`the gateways of west to send to ${to}`, async () => {
        const peers = [...(await keysOf(lab, 'west')).values()].flatMap((report) => report.peers ?? []);
        return peers.filter(({ endpoint }) => endpoint === to).length === 2 || notYet(JSON.stringify(peers));
      });
      await untilProtected();
      await lab.kill('west/n1', 'wireguard');
      // In WireGuard itself: the object may still have what was reported before.
      await eventually('west/n1 to have a session with it again', async () => {
        const peers = await peersOf(lab, 'west/n1');
        const isThere = peers.some(({ endpoint, handshakeMs }) => endpoint === to && handshakeMs > 0);
        return isThere || notYet(JSON.stringify(peers));
      });
      await untilProtected();
    } finally {
      await lab.exec(node.netns, [
        'sh',
        '-c',
        `nft delete table ip translated; ip addr del ${outside}/32 dev lo; conntrack -F`,
      ]);
      await mend(lab);
    }
    await untilProtected();
  });

  it('a pod reaches nothing at addresses within tunnels, not even with a packet that looks like a tunnel', async () => {
    const address = await tunnelAddressOf(lab, 'west', 'n1');
    // Tunnels are longer: each packet in them has a frame and its headers.
    const sent = await packetsInTunnels(lab, 'west/n1', 'not udp port 6081 or less 80', async () => {
      assert.equal(await lab.answers(lab.ns('east', 'plain/one'), address), false);
      for (const port of ['6081', '22']) await sendDatagram(lab, lab.ns('east', 'plain/one'), `${address}:${port}`);
    });
    assert.deepEqual(sent, []);
  });
});
