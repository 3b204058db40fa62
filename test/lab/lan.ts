/**
 * Physical networks of a lab. Each is a switch that knows VLANs and a gateway, both in the namespace `<lab>-<lan>`; every
 * node has an interface in it, without an address: `eth1` in the first, `eth2` in the second. The switch is an Open vSwitch
 * of its own, because the kernel need not have VLANs.
 */
import { installation, ovnProgram } from 'ovsdb-client/testing';
import { startAndWait } from './component.ts';
import type { Lab, LanLayout } from './layout.ts';
import { startLocalDatabase, vswitchd } from './ovn.ts';
import { run, tryRun } from './run.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const bridge = 'br-lan';

/** The gateway's interface in a VLAN; 0: without a tag. */
export function gatewayInterface(vlan: number): string {
  return vlan === 0 ? 'gw' : `gw${String(vlan)}`;
}

function gatewayMac(vlan: number): string {
  return `02:00:00:01:${[vlan >> 8, vlan & 255].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;
}

/** Starts the switch, and gives nodes and gateway their ports. The nodes' namespaces must be there. */
export async function startLan(lab: Lab, lan: LanLayout): Promise<void> {
  const { dir, netns } = lan;
  const nodes = lab.clusters.flatMap((cluster) => cluster.nodes);
  const port = (at: number): string => `p${String(at)}`;
  await run(['ip', '-batch', '-'], {
    input: nodes
      .map((node, at) => `link add ${lan.interface} netns ${node.netns} type veth peer name ${port(at)} netns ${netns}`)
      .join('\n'),
  });
  for (const [at, node] of nodes.entries()) {
    await run(['ip', '-n', netns, 'link', 'set', port(at), 'up']);
    await run(['ip', '-n', node.netns, 'link', 'set', lan.interface, 'up']);
    // A userspace Open vSwitch reads frames as they are.
    await run(['ethtool', '-K', lan.interface, 'tx', 'off'], { netns: node.netns });
  }
  await startLocalDatabase({ dir, netns, ovn: '' });
  const gateways = lan.gateways.map(({ vlan }) => ({ vlan, name: gatewayInterface(vlan) }));
  const commands = [
    ['init'],
    ['add-br', bridge],
    ['set', 'bridge', bridge, 'datapath_type=netdev'],
    ...nodes.map((_, at) => ['add-port', bridge, port(at)]),
    ...gateways.flatMap(({ vlan, name }) => [
      vlan === 0 ? ['add-port', bridge, name] : ['add-port', bridge, name, `tag=${String(vlan)}`],
      // Otherwise it has another MAC address after each start of the switch, and OVN keeps the former one.
      ['set', 'interface', name, 'type=internal', `mac="${gatewayMac(vlan)}"`],
    ]),
  ];
  const program = ovnProgram('ovs-vsctl', installation(''));
  await run([program, `--db=unix:${dir}/db.sock`, '--no-wait', ...commands.flatMap((command) => ['--', ...command])]);
  await startAndWait(vswitchd({ dir, netns, ovn: '' }), () => true);
  for (const { name } of gateways)
    await eventually(
      `${name} of ${netns}`,
      async () => (await tryRun(['ip', '-n', netns, 'link', 'show', name])).code === 0 || notYet('no such device'),
      15_000,
      60,
    );
  await configureGateway(lan);
}

/** The gateway's interfaces are ports of its Open vSwitch: their addresses must be set again after each start of it. */
export async function configureGateway(lan: LanLayout): Promise<void> {
  const lines = lan.gateways.flatMap(({ vlan, addresses }) => [
    `link set ${gatewayInterface(vlan)} up`,
    ...addresses.map(
      (address) => `addr replace ${address} dev ${gatewayInterface(vlan)}${address.includes(':') ? ' nodad' : ''}`,
    ),
  ]);
  await run(['ip', '-n', lan.netns, '-batch', '-'], { input: lines.join('\n') });
  await run(['sysctl', '-q', '-w', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1'], { netns: lan.netns });
  for (const { vlan } of lan.gateways)
    await run(['ethtool', '-K', gatewayInterface(vlan), 'tx', 'off'], { netns: lan.netns });
}
