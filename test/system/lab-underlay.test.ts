/** Pods in a physical network, with packets: a separate lab in which every node has an interface in that network. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { join } from 'node:path';
import { takeDown } from '../lab/down.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { run } from '../lab/run.ts';
import { startOwnLab } from './own-lab.ts';
import { addWorkload, applyObjects, eventsWith, removeWorkload, waitForPods } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const name = `u${process.pid.toString(36)}`;
const topology = join(import.meta.dirname, '../lab/topologies/underlay.yaml');

function object(kind: string, objectName: string, spec: object): object {
  return { apiVersion: 'kubeovn.io/v1', kind, metadata: { name: objectName }, spec };
}

function subnet(subnetName: string, spec: object): object {
  return object('Subnet', subnetName, { vlan: subnetName, namespaces: [subnetName], ...spec });
}

describe('underlay', () => {
  let lab: LabHandle;
  const lan = `${name}-lan`;
  const address = (pod: string): Promise<string> => lab.addressOf('east', pod);

  before(async () => {
    lab = await startOwnLab(name, topology);
    await applyObjects(lab, 'east', [
      object('ProviderNetwork', 'net1', { defaultInterface: 'eth1' }),
      object('Vlan', 'flat', { id: 0, provider: 'net1' }),
      object('Vlan', 'ten', { id: 10, provider: 'net1' }),
      subnet('flat', {
        cidrBlock: '10.20.0.0/24',
        gateway: '10.20.0.1',
        excludeIps: ['10.20.0.1..10.20.0.99'],
        u2oInterconnection: true,
      }),
      subnet('ten', {
        cidrBlock: '10.30.0.0/24,fd00:30::/64',
        gateway: '10.30.0.1,fd00:30::1',
        mtu: 1300,
        enableDHCP: true,
      }),
    ]);
    const pods = [
      { name: 'a', node: 'n1' },
      { name: 'b', node: 'n2' },
    ];
    await Promise.all(['flat', 'ten', 'over'].map((namespace) => addWorkload(lab, 'east', { namespace, pods })));
    await Promise.all(['flat', 'ten', 'over'].map((namespace) => waitForPods(lab, 'east', namespace, 2)));
  });
  after(() => takeDown(name));

  it('is ready on every node according to the ProviderNetwork', async () => {
    await eventually('the ProviderNetwork to be ready', async () => {
      const status = await lab.kubectl('east', ['get', 'pn', 'net1', '-o', 'jsonpath={.status}']);
      const { ready, readyNodes } = JSON.parse(status) as { ready?: boolean; readyNodes?: string[] };
      return (ready === true && readyNodes?.join() === 'n1,n2') || notYet(status);
    });
  });

  for (const [namespace, gateway] of [
    ['flat', '10.20.0.1'],
    ['ten', '10.30.0.1'],
  ] as const)
    it(`connects pods of ${namespace} to the physical gateway and to each other across nodes, by ping and TCP`, async () => {
      const [a, b] = [lab.ns('east', `${namespace}/a`), lab.ns('east', `${namespace}/b`)];
      for (const pod of [a, b]) await lab.ping(pod, gateway);
      await lab.ping(lan, await address(`${namespace}/a`));
      await lab.ping(a, await address(`${namespace}/b`));
      assert.equal(await lab.fetchName(a, await address(`${namespace}/b`)), 'b');
      assert.equal(await lab.fetchName(lan, await address(`${namespace}/a`)), 'a');
    });

  it('connects VLANs through the physical gateway', async () => {
    assert.equal(await lab.fetchName(lab.ns('east', 'ten/a'), await address('flat/b')), 'b');
  });

  it('connects pods of a joined subnet to overlay pods in both directions', async () => {
    assert.equal(await lab.fetchName(lab.ns('east', 'flat/a'), await address('over/b')), 'b');
    assert.equal(await lab.fetchName(lab.ns('east', 'over/b'), await address('flat/a')), 'a');
  });

  it('shows the physical switch a separate router MAC address for each node', async () => {
    const router = (await lab.nbctl('east', ['get', 'logical_router_port', 'ovn-cluster-flat', 'mac'])).replaceAll(
      '"',
      '',
    );
    const shown = await lab.kubectl('east', ['get', 'nodes', '-o', 'name']);
    const own = await Promise.all(
      shown
        .trim()
        .split('\n')
        .map(async (node) => {
          const args = ['get', 'open', '.', 'external_ids:ovn-chassis-mac-mappings'];
          return (await lab.vsctl('east', node.slice('node/'.length), args))
            .replaceAll('"', '')
            .trim()
            .slice('net1:'.length);
        }),
    );
    assert.equal(new Set(own).size, 2, own.join());
    for (const node of ['a', 'b'])
      assert.equal(await lab.fetchName(lab.ns('east', `over/${node}`), await address('flat/a')), 'a');
    const learned = await run([
      'ovs-appctl',
      '-t',
      `${lab.layout.lans[0]?.dir ?? ''}/ovs-vswitchd.ctl`,
      'fdb/show',
      'br-lan',
    ]);
    assert.ok(!learned.includes(router.trim()), `${router} in ${learned}`);
    assert.ok(
      own.some((mac) => learned.includes(mac)),
      `${own.join()} not in ${learned}`,
    );
  });

  it('gives pods the MTU of the interface, or the smaller MTU of their subnet', async () => {
    const mtu = async (pod: string): Promise<string> =>
      /mtu (\d+)/.exec(await run(['ip', '-n', lab.ns('east', pod), 'link', 'show', 'eth0']))?.[1] ?? '';
    assert.deepEqual([await mtu('flat/a'), await mtu('ten/a')], ['1500', '1300']);
  });

  for (const { namespace, device, taken } of [
    { namespace: 'flat', device: 'gw', taken: '10.20.0.120/24' },
    { namespace: 'ten', device: 'gw10', taken: '10.30.0.120/24' },
    { namespace: 'ten', device: 'gw10', taken: 'fd00:30::121/64' },
  ])
    it(`lets a pod of ${namespace} wait while another host uses ${taken}`, async () => {
      const isV4 = taken.includes('.');
      const address = taken.slice(0, taken.indexOf('/'));
      const ip = namespace === 'flat' ? address : isV4 ? `${address},fd00:30::120` : `10.30.0.121,${address}`;
      const pod = isV4 ? 'late4' : 'late6';
      await run(['ip', '-n', lan, 'addr', 'add', taken, 'dev', device, ...(isV4 ? [] : ['nodad'])]);
      const pods = [{ name: pod, node: 'n1', annotations: { 'ovn.kubernetes.io/ip_address': ip } }];
      await addWorkload(lab, 'east', { namespace, pods });
      await eventually('the daemon to say so', () => {
        const log = lab.log('east/n1', 'daemon');
        return (
          log.includes(`address ${address} of the pod is in use in the physical network`) || notYet(log.slice(-500))
        );
      });
      await run(['ip', '-n', lan, 'addr', 'del', taken, 'dev', device]);
      await eventually('it to run', async () => {
        const shown = await lab.kubectl('east', ['-n', namespace, 'get', 'pod', pod]);
        return shown.includes('1/1') || notYet(shown);
      });
      await lab.ping(lan, address);
    });

  it('gives overlay pods of the default VPC addresses in a VLAN, by the gateway node and by their own', async () => {
    await lab.kubectl('east', ['label', 'node', 'n1', 'ovn.kubernetes.io/external-gw=true']);
    const vpc = (spec: object): Promise<string> =>
      lab.kubectl('east', ['patch', 'vpc', 'ovn-cluster', '--type=merge', '-p', JSON.stringify({ spec })]);
    await vpc({ enableExternal: true, extraExternalSubnets: ['ten'] });
    for (const [type, pod, v4Ip] of [
      ['centralized', 'b', '10.30.0.201'],
      ['distributed', 'b', '10.30.0.202'],
    ] as const) {
      await applyObjects(lab, 'east', [
        object('OvnEip', type, { externalSubnet: 'ten', v4Ip }),
        object('OvnFip', type, { ovnEip: type, ipName: `${pod}.over`, type }),
      ]);
      await eventually(`an answer from ${v4Ip}`, async () => (await lab.fetchName(lan, v4Ip)) === pod);
      assert.equal(await lab.fetchName(lab.ns('east', `over/${pod}`), await address('over/a')), 'a');
      await lab.kubectl('east', ['delete', 'ovn-fip,ovn-eip', type, '--timeout=60s']);
    }
    await vpc({ enableExternal: false, extraExternalSubnets: [] });
    await eventually('no port', async () => {
      const ports = await lab.nbctl('east', ['lrp-list', 'ovn-cluster']);
      const nat = await lab.nbctl('east', ['lr-nat-list', 'ovn-cluster']);
      return (!ports.includes('ovn-cluster-ten') && nat.trim() === '') || notYet(`${ports} ${nat}`);
    });
  });

  it('reports a removed interface to pods, refuses new pods with the reason, and is deleted without a trace', async () => {
    await lab.kubectl('east', ['patch', 'pn', 'net1', '--type=merge', '-p', '{"spec":{"excludeNodes":["n2"]}}']);
    const ports = (): Promise<string> => lab.vsctl('east', 'n2', ['list-br']);
    await eventually(
      'n2 to be without the bridge',
      async () => !(await ports()).includes('br-net1') || notYet(await ports()),
    );
    await eventually('the event of its pod', async () => {
      const fields = 'involvedObject.namespace=flat,reason=ProviderNetworkLeft';
      const shown = await eventsWith(lab, 'east', fields);
      const expected =
        /pod\/b +interface eth0 has no connection: spec.excludeNodes of ProviderNetwork net1 names node n2; /;
      return (expected.test(shown) && !shown.includes('pod/a ')) || notYet(shown);
    });
    await addWorkload(lab, 'east', { namespace: 'ten', pods: [{ name: 'late', node: 'n2' }] });
    await eventually('the daemon to say so', () => {
      const log = lab.log('east/n2', 'daemon');
      return /underlay subnet ten is not ready/.test(log) || notYet(log.slice(-500));
    });
    await Promise.all(['flat', 'ten', 'over'].map((namespace) => removeWorkload(lab, 'east', namespace)));
    await lab.kubectl('east', ['delete', 'vlan', 'flat', 'ten', '--timeout=60s']);
    await lab.kubectl('east', ['delete', 'pn', 'net1', '--timeout=60s']);
    for (const node of ['n1', 'n2'])
      await eventually(`${node} to be as before`, async () => {
        const bridges = await lab.vsctl('east', node, ['list-br']);
        const marks = await lab.kubectl('east', ['get', 'node', node, '-o', 'jsonpath={.metadata}']);
        return (!bridges.includes('br-net1') && !marks.includes('provider-network')) || notYet(`${bridges} ${marks}`);
      });
  });
});
