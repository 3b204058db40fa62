/** OVN's databases on control-plane nodes: growth from one to three members, loss of leaders, limits of a node's certificate, shrinking to one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { imageName } from '../lab/cri/image.ts';
import { openLab } from '../lab/lib/lab.ts';
import { loseNothing } from './flow.ts';
import { namespace, User } from './user.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const home = 'east';
const workload = 'isthmus-ovn-central';
const role = 'node-role.kubernetes.io/control-plane';
/** BURST=200 gives enough pods for a meaningful figure. */
const burst = Number(process.env['BURST'] ?? 30);
const burstName = 'burst';

describe('OVN’s databases', () => {
  const user = new User(openLab());
  const kubectl = (...argv: readonly string[]): Promise<string> => user.lab.kubectl(home, argv);
  const system = (...argv: readonly string[]): Promise<string> => kubectl('-n', namespace, ...argv);

  const untilServed = async (members: number): Promise<void> => {
    const wanted = `${members} of ${members} members serve`;
    await eventually(
      wanted,
      async () => {
        const status = await system('get', 'configmap', workload, '-o', 'jsonpath={.data.status}');
        return status === wanted || notYet(status);
      },
      120_000,
      200,
    );
  };
  /** The pod of a node. */
  const podOn = async (node: string, name: string): Promise<string> => {
    const which = ['-l', `app.kubernetes.io/name=${name}`, '--field-selector', `spec.nodeName=${node}`];
    return (await system('get', 'pods', ...which, '-o', 'jsonpath={.items[0].metadata.name}')).trim();
  };
  const leaderOf = async (database: 'nb' | 'sb'): Promise<string> => {
    const schema = { nb: 'OVN_Northbound', sb: 'OVN_Southbound' }[database];
    for (const { name } of user.lab.cluster(home).nodes) {
      const pod = await podOn(name, workload);
      const control = ['ovs-appctl', '-t', `/run/ovn/${database}.ctl`, 'cluster/status', schema];
      if (/Role: leader/.test(await system('exec', pod, '-c', database, '--', ...control))) return pod;
    }
    throw new Error(`no leader of ${schema}`);
  };

  it('grow to three members when three nodes are eligible, and nothing is lost', async (context) => {
    await untilServed(1);
    const sinceMs = performance.now();
    await loseNothing(context, user, async () => {
      await kubectl('label', 'node', 'n2', 'n3', `${role}=`);
      await untilServed(3);
      context.diagnostic(`three serve ${((performance.now() - sinceMs) / 1000).toFixed(1)} s after the label`);
    });
  });

  it('each member deleted in turn: nothing is lost', async (context) => {
    await loseNothing(context, user, async () => {
      for (const { name } of user.lab.cluster(home).nodes) {
        await system('delete', 'pod', await podOn(name, workload), '--wait');
        await user.untilRolledOut(home, `daemonset/${workload}`);
        await untilServed(3);
      }
    });
  });

  it(`leaders of both killed while ${burst} pods start: each pod gets an address of its own, and a port`, async (context) => {
    const leaders = new Set([await leaderOf('nb'), await leaderOf('sb')]);
    const labels = { app: burstName };
    const manifest = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: burstName, namespace: 'demo' },
      spec: {
        replicas: burst,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 0,
            containers: [{ name: 'pause', image: imageName, imagePullPolicy: 'Never', command: ['/bin/pause'] }],
          },
        },
      },
    };
    const pods = async (output: string): Promise<string> =>
      kubectl('-n', 'demo', 'get', 'pods', '-l', `app=${burstName}`, '-o', output);
    const sinceMs = performance.now();
    await user.lab.kubectl(home, ['apply', '-f', '-'], JSON.stringify(manifest));
    await eventually(
      'the first pods to have addresses',
      async () => (await pods('jsonpath={.items[*].status.podIP}')) !== '' || notYet('none'),
    );
    await Promise.all([...leaders].map((pod) => system('delete', 'pod', pod, '--force', '--grace-period=0')));
    const addresses = await waitForAddresses(pods);
    context.diagnostic(
      `${burst} pods have addresses after ${((performance.now() - sinceMs) / 1000).toFixed(1)} s, ${leaders.size} leaders killed`,
    );
    assert.equal(new Set(addresses).size, burst, addresses.join(' '));
    await untilServed(3);
    const list = ['ovn-nbctl', '--bare', '--columns=name', 'find', 'Logical_Switch_Port'];
    const ports = await system('exec', await podOn('n1', workload), '-c', 'nb', '--', ...list);
    assert.equal(
      ports.split('\n').filter((name) => name.startsWith(`demo.${burstName}`) || name.startsWith(burstName)).length,
      burst,
    );
    await kubectl('-n', 'demo', 'delete', 'deployment', burstName, '--wait');
  });

  it('a node’s certificate writes rows of its own chassis only, and opens no other port', async () => {
    const pod = await podOn('n3', 'isthmus-ovs');
    const { address } = user.lab.cluster(home).nodes[0] ?? { address: '' };
    const folder = '/run/openvswitch/tls';
    const asNode = (port: number, database: string, operation: object): Promise<string> => {
      const tls = [`--private-key=${folder}/tls.key`, `--certificate=${folder}/tls.crt`, `--ca-cert=${folder}/ca.crt`];
      const remote = `ssl:${address}:${port}`;
      const transact = ['transact', remote, JSON.stringify([database, operation])];
      const argv = ['exec', pod, '-c', 'ovn-controller', '--', 'ovsdb-client', '--timeout=5', ...tls, ...transact];
      return user.lab.kubectl(home, ['-n', namespace, ...argv]).catch((error: unknown) => String(error));
    };
    const chassis = { op: 'insert', table: 'Chassis', row: { name: 'another' } };
    assert.match(await asNode(16642, 'OVN_Southbound', chassis), /RBAC rules for client .* prohibit row insertion/);
    const globals = { op: 'select', table: 'SB_Global', where: [], columns: ['_uuid'] };
    assert.match(await asNode(16642, 'OVN_Southbound', globals), /rows/, 'it may read');
    for (const [port, database] of [
      [6641, 'OVN_Northbound'],
      [6642, 'OVN_Southbound'],
    ] as const)
      assert.doesNotMatch(await asNode(port, database, { ...globals, table: 'Connection' }), /"rows"/, String(port));
  });

  it('shrink to one member when two nodes leave the control plane, one after the other', async (context) => {
    await loseNothing(context, user, async () => {
      await kubectl('label', 'node', 'n3', `${role}-`);
      await untilServed(1);
      await kubectl('label', 'node', 'n2', `${role}-`);
      await untilServed(1);
    });
  });
});

async function waitForAddresses(pods: (output: string) => Promise<string>): Promise<readonly string[]> {
  let addresses: readonly string[] = [];
  await eventually(
    `${burst} addresses`,
    async () => {
      addresses = (await pods('jsonpath={.items[*].status.podIP}')).split(' ').filter((one) => one !== '');
      return addresses.length === burst || notYet(`${addresses.length} have one`);
    },
    240_000,
    500,
  );
  return addresses;
}
