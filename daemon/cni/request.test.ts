import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CniError } from './error.ts';
import { parseCniRequest } from './request.ts';

const environment = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: 'abc123',
  CNI_NETNS: '/var/run/netns/x',
  CNI_IFNAME: 'eth0',
  CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=u1;OTHER=x',
};
const config = { cniVersion: '1.0.0', name: 'isthmus', type: 'isthmus' };

function parse(
  changes: Record<string, string | undefined> = {},
  configChanges: object | string = {},
): ReturnType<typeof parseCniRequest> {
  const merged = Object.entries({ ...environment, ...changes }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const stdin = typeof configChanges === 'string' ? configChanges : JSON.stringify({ ...config, ...configChanges });
  return parseCniRequest({ environment: new Map(merged), stdin });
}

test('an ADD as containerd sends it', () => {
  assert.deepEqual(parse(), {
    command: 'ADD',
    cniVersion: '1.0.0',
    containerId: 'abc123',
    ifname: 'eth0',
    provider: 'ovn',
    netns: '/var/run/netns/x',
    podNamespace: 'default',
    podName: 'web',
    podUid: 'u1',
    prevResult: undefined,
  });
});

test('an attachment names its network; CHECK needs a namespace but no pod', () => {
  const attached = parse({ CNI_IFNAME: 'net1' }, { provider: 'red.shop.ovn', server_socket: '/run/x.sock' });
  assert.equal(attached.command === 'ADD' && attached.provider, 'red.shop.ovn');
  assert.deepEqual(parse({ CNI_COMMAND: 'CHECK', CNI_ARGS: undefined }, { prevResult: {} }), {
    command: 'CHECK',
    cniVersion: '1.0.0',
    containerId: 'abc123',
    ifname: 'eth0',
    netns: '/var/run/netns/x',
  });
});

test('DEL needs neither netns nor pod, and tolerates prevResult', () => {
  const del = parse(
    { CNI_COMMAND: 'DEL', CNI_NETNS: undefined, CNI_ARGS: undefined },
    { cniVersion: '0.4.0', prevResult: { ips: 'whatever' } },
  );
  assert.deepEqual(del, { command: 'DEL', cniVersion: '0.4.0', containerId: 'abc123', ifname: 'eth0' });
});

test('VERSION needs nothing else and keeps the version it was asked in', () => {
  assert.deepEqual(
    parseCniRequest({ environment: new Map([['CNI_COMMAND', 'VERSION']]), stdin: '{"cniVersion":"9.9"}' }),
    { command: 'VERSION', cniVersion: '9.9' },
  );
});

const refused: readonly [
  what: string,
  code: number,
  message: RegExp,
  environment: Record<string, string | undefined>,
  config?: object | string,
][] = [
  ['no command', 4, /CNI_COMMAND is missing/, { CNI_COMMAND: undefined }],
  ['GC', 4, /CNI_COMMAND=GC is not supported/, { CNI_COMMAND: 'GC' }],
  ['CHECK without a namespace', 4, /CNI_NETNS is missing/, { CNI_COMMAND: 'CHECK', CNI_NETNS: undefined }],
  [
    'a provider of another plug-in',
    7,
    /"provider" of the network configuration is "macvlan\.default"/,
    {},
    { provider: 'macvlan.default' },
  ],
  ['GC', 4, /CNI_COMMAND=GC is not supported/, { CNI_COMMAND: 'GC' }],
  ['STATUS', 4, /CNI_COMMAND=STATUS is not supported/, { CNI_COMMAND: 'STATUS' }],
  ['no container id', 4, /CNI_CONTAINERID is missing/, { CNI_CONTAINERID: '' }],
  ['bad container id', 3, /is not a container id/, { CNI_CONTAINERID: '../x' }],
  ['no interface name', 4, /CNI_IFNAME is missing/, { CNI_IFNAME: undefined }],
  ['interface name with a slash', 4, /is not an interface name/, { CNI_IFNAME: 'eth/0' }],
  ['interface name of 16', 4, /is not an interface name/, { CNI_IFNAME: 'a'.repeat(16) }],
  ['ADD without netns', 4, /CNI_NETNS is missing/, { CNI_NETNS: undefined }],
  ['ADD without pod', 4, /needs K8S_POD_NAMESPACE/, { CNI_ARGS: undefined }],
  ['pod name with a slash', 4, /needs K8S_POD_NAME/, { CNI_ARGS: 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=../x' }],
  ['unknown CNI_ARGS key', 4, /unknown keys OTHER/, { CNI_ARGS: 'K8S_POD_NAMESPACE=a;K8S_POD_NAME=b;OTHER=x' }],
  ['CNI_ARGS without =', 4, /KEY=VALUE/, { CNI_ARGS: 'IgnoreUnknown' }],
  ['no JSON', 6, /not JSON/, {}, '{'],
  ['name of the wrong type', 6, /wrong type/, {}, { name: 3 }],
  ['no version', 1, /cniVersion 0.1.0 is not supported/, {}, { cniVersion: undefined }],
  ['version 1.1.0', 1, /cniVersion 1.1.0 is not supported/, {}, { cniVersion: '1.1.0' }],
  ['no name', 7, /"name"/, {}, { name: undefined }],
  ['no type', 7, /"type"/, {}, { type: undefined }],
  ['ipam', 2, /ipam=\{"type":"host-local"\}/, {}, { ipam: { type: 'host-local' } }],
  ['capability', 2, /runtimeConfig.portMappings=/, {}, { runtimeConfig: { portMappings: [] } }],
  ['prevResult of the wrong type', 7, /prevResult/, {}, { prevResult: { ips: 'x' } }],
];

for (const [what, code, message, changes, configChanges] of refused) {
  test(`refused: ${what}`, () => {
    assert.throws(
      () => parse(changes, configChanges),
      (error) => error instanceof CniError && error.code === code && message.test(error.message),
    );
  });
}
