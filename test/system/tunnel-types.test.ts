/**
 * Nodes change from Geneve to VXLAN one after the other, with the values of `networking.encapType` as the daemon gives them to
 * ovn-controller, while pods on both exchange packets.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, test } from 'node:test';
import type { EncapType, TunnelType } from '../../lib/net/tunnel-overhead.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';
import { words } from './ovn-bed.ts';
import { SwitchBed, podAddress, type NodeName } from './switch-bed.ts';
import { sendFlows, startEcho } from './udp-flows.ts';

const bed = new SwitchBed();
const traffic = { address: podAddress.b, port: 7000, flows: 1, intervalMs: 10 };
/** Two programs change a port each, one after the other. On a busy machine that takes a while, but no timer of OVN passes. */
const mostMs = 5000;

let echo: ChildProcess | undefined;
before(async () => {
  await bed.start();
  echo = await startEcho(bed.space('pb'), traffic.port);
});
after(async () => {
  echo?.kill('SIGKILL');
  await bed.stop();
});

const typesOf = (node: NodeName): string =>
  bed.vsctl(node, '--bare', '--columns=type', 'find', 'interface', 'options:key=flow').trim();

const southbound = (...argv: string[]): string => words(`ovn-sbctl --db=unix:${bed.dir}/sb.sock`, ...argv).trim();

/** Sets the types of a node, and waits until both nodes have tunnels of the type that they have in common. */
async function change(node: NodeName, types: EncapType, expected: TunnelType, isReached = true): Promise<void> {
  bed.vsctl(node, 'set', 'open', '.', `external_ids:ovn-encap-type="${types}"`);
  await eventually(`${node} to offer ${types}`, () => {
    const offered = southbound('--bare', '--columns=type', 'find', 'Encap', `chassis_name=${node}`).split(/\s+/).sort();
    return offered.join() === types || notYet(offered.join());
  });
  for (const end of ['a', 'b'] as const)
    await eventually(`a tunnel of type ${expected} on ${end}`, () => typesOf(end) === expected || notYet(typesOf(end)));
  if (isReached) await eventually('the pods to reach each other', () => bed.reaches());
}

test('pods reach each other while their nodes change from Geneve to VXLAN, and back', async () => {
  const steps: readonly (readonly [NodeName, EncapType, TunnelType])[] = [
    ['a', 'geneve,vxlan', 'geneve'],
    ['b', 'geneve,vxlan', 'geneve'],
    ['a', 'vxlan', 'vxlan'],
    ['b', 'vxlan', 'vxlan'],
    ['b', 'geneve,vxlan', 'vxlan'],
    ['a', 'geneve,vxlan', 'geneve'],
    ['b', 'geneve', 'geneve'],
    ['a', 'geneve', 'geneve'],
  ];
  const stop = sendFlows(bed.space('pa'), traffic);
  for (const [node, types, expected] of steps) {
    await change(node, types, expected);
  }
  const { received, gapsMs } = await stop();
  assert.ok(received > 0 && (gapsMs[0] ?? mostMs) < mostMs, `no packet came for ${gapsMs[0]} ms`);
});

test('VXLAN does not reach a port with a longer key, until the port is created again', async () => {
  const keyOf = (): number =>
    Number(southbound('--bare', '--columns=tunnel_key', 'find', 'Port_Binding', 'logical_port=pb'));
  // A port that was created after 2999 others.
  bed.nbctl('set', 'Logical_Switch_Port', 'pb', 'options:requested-tnl-key=3000');
  await eventually('the long key', () => keyOf() === 3000 || notYet(`${keyOf()}`));
  bed.nbctl('remove', 'Logical_Switch_Port', 'pb', 'options', 'requested-tnl-key');
  await change('a', 'geneve,vxlan', 'geneve');
  await change('b', 'geneve,vxlan', 'geneve');
  assert.equal(keyOf(), 3000, 'OVN keeps the key');
  await change('b', 'vxlan', 'vxlan', false);
  await eventually('the pods not to reach each other', () => !bed.reaches());
  const address = `00:00:00:00:09:0b ${podAddress.b}`;
  bed.nbctl('lsp-del', 'pb');
  bed.nbctl('lsp-add', 'net', 'pb', '--', 'lsp-set-addresses', 'pb', address);
  await eventually('the pods to reach each other', () => bed.reaches());
  assert.ok(keyOf() < 2048, `the key is ${keyOf()}`);
});
