import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostOf, namespaceOf, podOf } from '../testing-policies.ts';
import type { OvnTools, ToolAnswer } from './ovn-tools.ts';
import { readTrace, type TracedConnection } from './ovn-trace.ts';
import { nodeHost } from './network-policy.ts';

/** Rows of Port_Binding by name: MAC address and switch. */
const rows: Readonly<Record<string, readonly [mac: string, ls: string]>> = {
  'client.shop': ['0a:00:00:00:00:01 10.16.0.3', 'ovn-default'],
  'web.shop': ['0a:00:00:00:00:02 10.16.0.2', 'ovn-default'],
  'far.shop': ['0a:00:00:00:00:03 10.17.0.2', 'far'],
  'odd.shop': ['dynamic', 'ovn-default'],
  'node-n1': ['0a:00:00:00:00:04 100.64.0.2', ''],
  'ovn-cluster-ovn-default': ['0a:00:00:00:00:05 10.16.0.1/16', ''],
  'ovn-cluster-join': ['0a:00:00:00:00:06 100.64.0.1/16', ''],
};

/** Answers as ovn-sbctl does; keeps the packets of ovn-trace. */
function toolsOf(packets: string[], trace: ToolAnswer = { text: 'traced' }): OvnTools {
  return {
    where: 'here',
    run(program, argv) {
      if (program === 'ovn-trace') {
        packets.push(argv.at(-1) ?? '');
        return Promise.resolve(trace);
      }
      const names = argv.flatMap((word) => /^logical_port="([\w.-]+)"$/.exec(word)?.[1] ?? []);
      const lines = names.map((name) => {
        const [mac, ls] = rows[name] ?? [];
        return JSON.stringify({ data: mac === undefined ? [] : [[name, mac, ['map', ls === '' ? [] : [['ls', ls]]]]] });
      });
      return Promise.resolve({ text: lines.join('\n') });
    },
  };
}

function connection(from: string, to: string, more: Partial<TracedConnection> = {}): TracedConnection {
  const ips: Readonly<Record<string, readonly string[]>> = {
    client: ['10.16.0.3', 'fd00::3'],
    web: ['10.16.0.2', 'fd00::2'],
    far: ['10.17.0.2'],
    odd: ['10.16.0.9'],
  };
  const pods = [from, to].map((name) => podOf(name, { ips: ips[name] ?? ['10.16.0.8'] }));
  const [source, destination] = namespaceOf(pods, []).pods.map(hostOf);
  assert.ok(source && destination);
  return { from: source, to: destination, port: { protocol: 'udp', number: 53 }, ...more };
}

test('a packet of each family goes to the pod itself in one switch', async () => {
  const packets: string[] = [];
  const read = await readTrace(toolsOf(packets), connection('client', 'web'));
  const packet = (ip: string, source: string, destination: string) =>
    `inport == "client.shop" && eth.src == 0a:00:00:00:00:01 && eth.dst == 0a:00:00:00:00:02 && ${ip}.src == ${source} && ${ip}.dst == ${destination} && ip.ttl == 64 && udp.src == 40000 && udp.dst == 53`;
  const wanted = [packet('ip4', '10.16.0.3', '10.16.0.2'), packet('ip6', 'fd00::3', 'fd00::2')];
  assert.deepEqual(packets, wanted);
  assert.deepEqual(read, {
    trace: {
      where: 'here',
      ports: { from: 'client.shop', to: 'web.shop' },
      families: wanted.map((one, index) => ({ family: index === 0 ? 4 : 6, packet: one, text: 'traced' })),
    },
  });
});

test('to another switch it goes through the router', async () => {
  const packets: string[] = [];
  await readTrace(toolsOf(packets), connection('client', 'far'));
  assert.match(packets.join('\n'), /^inport == "client\.shop" .* eth\.dst == 0a:00:00:00:00:05 && ip4/);
});

test('a node, and an address outside, come in through the port of a node', async () => {
  const node = { name: 'n1', joinAddresses: ['100.64.0.2'], addresses: [] };
  const packets: string[] = [];
  const { to } = connection('client', 'web');
  const outside = { text: '192.0.2.1', pod: undefined, node: undefined, sources: ['192.0.2.1'], destinations: [] };
  for (const from of [nodeHost(node), outside])
    await readTrace(toolsOf(packets), connection('client', 'web', { from, to: { ...to, node } }));
  assert.deepEqual(
    packets.map((one) => one.replace(/ && ip\.ttl.*/, '')),
    ['100.64.0.2', '192.0.2.1'].map(
      (source) =>
        `inport == "node-n1" && eth.src == 0a:00:00:00:00:04 && eth.dst == 0a:00:00:00:00:06 && ip4.src == ${source} && ip4.dst == 10.16.0.2`,
    ),
  );
});

test('why there is no answer is a value', async () => {
  const why = async (asked: TracedConnection, trace?: ToolAnswer) => {
    const read = await readTrace(toolsOf([], trace), asked);
    return 'untraced' in read ? read.untraced.message : '';
  };
  assert.match(await why(connection('client', 'web', { port: undefined })), /PORT is not given/);
  assert.match(await why(connection('client', 'none')), /no port none\.shop/);
  assert.match(await why(connection('odd', 'web')), /no port odd\.shop/);
  const { to } = connection('client', 'web');
  const outside = { text: '192.0.2.1', pod: undefined, node: undefined, sources: ['192.0.2.1'], destinations: [] };
  assert.match(await why(connection('client', 'web', { from: outside })), /no known way/);
  const evil = 'web" || ip || "';
  const pod = to.pod && { ...to.pod, name: evil };
  assert.match(await why(connection('client', 'web', { to: { ...to, pod } })), /is not the name of a port/);
  const refused = { problem: { code: 'OvnNotAsked', message: 'ovn-trace ended with exit code 1: x' } };
  assert.equal(await why(connection('client', 'web'), refused), refused.problem.message);
});
