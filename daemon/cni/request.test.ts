import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CniError } from './error.ts';
import { answerVersion, parseCniRequest } from './request.ts';

const environment = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: 'abc123',
  CNI_NETNS: '/var/run/netns/x',
  CNI_IFNAME: 'eth0',
  CNI_PATH: '/opt/cni/bin',
  CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=u1;OTHER=x',
};
const config = { cniVersion: '1.0.0', name: 'isthmus', type: 'isthmus' };

function parse(
  changes: Record<string, string | undefined> = {},
  configChanges: object | string = {},
): ReturnType<typeof parseCniRequest> {
  const merged = Object.entries<string | undefined>({ ...environment, ...changes }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const stdin = typeof configChanges === 'string' ? configChanges : JSON.stringify({ ...config, ...configChanges });
  return parseCniRequest({ environment: new Map(merged), stdin });
}

test('an ADD as containerd sends it', () => {
  assert.deepEqual(parse(), {
    command: 'ADD',
    cniVersion: '1.0.0',
    network: 'isthmus',
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

test('arguments that request no address are ignored, as runtimes expect; a refused request names the annotation', () => {
  const args = { cni: { labels: [{ key: 'app', value: 'x' }], ips: [], mac: null } };
  for (const more of [{}, { args }, { args: null }, { args: { cni: null } }, { args: 'x' }])
    assert.equal(parse({ CNI_ARGS: `${environment.CNI_ARGS};IP=;MAC=` }, more).command, 'ADD');
  const asked = { CNI_ARGS: `${environment.CNI_ARGS};IP=10.16.0.9` };
  const annotationOf = (provider?: string): unknown => {
    try {
      return parse(asked, { provider });
    } catch (error) {
      return error instanceof CniError && error.details;
    }
  };
  assert.equal(annotationOf(), 'give the pod the annotation ovn.kubernetes.io/ip_address');
  assert.equal(annotationOf('red.shop.ovn'), 'give the pod the annotation red.shop.ovn.kubernetes.io/ip_address');
  assert.equal(parse({ ...asked, CNI_COMMAND: 'DEL' }).command, 'DEL');
});

test('an attachment names its network; CHECK needs a namespace and the result of ADD, but no pod', () => {
  const attached = parse({ CNI_IFNAME: 'net1' }, { provider: 'red.shop.ovn', server_socket: '/run/x.sock' });
  assert.equal(attached.command === 'ADD' && attached.provider, 'red.shop.ovn');
  assert.deepEqual(parse({ CNI_COMMAND: 'CHECK', CNI_ARGS: undefined }, { prevResult: {} }), {
    command: 'CHECK',
    cniVersion: '1.0.0',
    containerId: 'abc123',
    ifname: 'eth0',
    netns: '/var/run/netns/x',
    prevResult: {},
  });
});

test('DEL needs neither netns nor pod, and nothing in its configuration but a version and a name', () => {
  const expected = {
    command: 'DEL',
    cniVersion: '0.4.0',
    containerId: 'abc123',
    ifname: 'eth0',
    netns: undefined,
    allowsOwnNetns: false,
  };
  const garbage = { ipam: { type: 'x' }, runtimeConfig: { mac: 'y' }, provider: 'z', prevResult: { ips: 'whatever' } };
  const changes = { CNI_COMMAND: 'DEL', CNI_NETNS: undefined, CNI_ARGS: undefined };
  assert.deepEqual(parse(changes, { cniVersion: '0.4.0', ...garbage }), expected);
  assert.deepEqual(
    parse({ ...changes, CNI_NETNS: '/proc/self/ns/net', CNI_NETNS_OVERRIDE: 'true' }, { cniVersion: '0.4.0' }),
    { ...expected, netns: '/proc/self/ns/net', allowsOwnNetns: true },
  );
});

test('keys of a list that are for the runtime are no error', () => {
  const keys = { cniVersions: ['1.0.0', '1.1.0'], disableCheck: true, disableGC: true, loadOnlyInlinedPlugins: true };
  assert.equal(parse({}, keys).command, 'ADD');
});

const bare = { CNI_CONTAINERID: undefined, CNI_NETNS: undefined, CNI_IFNAME: undefined, CNI_ARGS: undefined };

test('null in a result counts as absent', () => {
  const prevResult = { interfaces: [{ name: 'eth0', mac: null }], ips: null, routes: null, dns: null };
  const request = parse({ CNI_COMMAND: 'CHECK' }, { prevResult });
  assert.deepEqual(request.command === 'CHECK' && JSON.parse(JSON.stringify(request.prevResult)), {
    interfaces: [{ name: 'eth0' }],
  });
});

test('STATUS and GC need neither container nor namespace', () => {
  const config11 = { cniVersion: '1.1.0' };
  assert.deepEqual(parse({ ...bare, CNI_COMMAND: 'STATUS' }, config11), { command: 'STATUS', cniVersion: '1.1.0' });
  const collect = (more: object): unknown => {
    const request = parse({ ...bare, CNI_COMMAND: 'GC' }, { ...config11, ...more });
    assert.equal(request.command, 'GC');
    return 'valid' in request && request.valid;
  };
  const valid = [{ containerID: 'c1', ifname: 'eth0' }];
  const expected = [{ containerId: 'c1', ifname: 'eth0' }];
  assert.deepEqual(collect({ 'cni.dev/valid-attachments': valid }), expected);
  assert.deepEqual(collect({ 'cni.dev/attachments': valid }), expected, 'the other spelling');
  const both = { 'cni.dev/valid-attachments': null, 'cni.dev/attachments': valid };
  assert.deepEqual(collect(both), expected, 'what one of the two calls valid stays');
  assert.deepEqual(collect({ 'cni.dev/valid-attachments': [] }), []);
  assert.deepEqual(collect({ 'cni.dev/valid-attachments': null }), [], 'as libcni writes an empty list');
  assert.equal(collect({}), undefined);
});

test('VERSION needs no other field and keeps the version of the request', () => {
  assert.deepEqual(
    parseCniRequest({ environment: new Map([['CNI_COMMAND', 'VERSION']]), stdin: '{"cniVersion":"9.9"}' }),
    { command: 'VERSION', cniVersion: '9.9' },
  );
});

test('errors have the version of the configuration if it can be read', () => {
  assert.equal(answerVersion('{"prevResult":{"cniVersion":"0.4.0"},"cniVersion":"1.1.0"}'), '1.1.0');
  assert.equal(answerVersion('{"cniVersion": "0.3.1", broken'), '0.3.1');
  for (const unreadable of ['', 'null', '3', '{}', '{"cniVersion":7}', '{"cniVersion":"x\\"y"}'])
    assert.equal(answerVersion(unreadable), '1.0.0', unreadable);
});

/** A configuration in which a value has 100,000 levels. */
function nested(before: string, after: string): string {
  const value = '['.repeat(1e5) + ']'.repeat(1e5);
  return `{"cniVersion":"1.0.0","name":"isthmus","type":"isthmus",${before}${value}${after}}`;
}

const refused: readonly [
  what: string,
  code: number,
  message: RegExp,
  environment: Record<string, string | undefined>,
  config?: object | string,
][] = [
  ['no command', 4, /missing: CNI_COMMAND$/, { CNI_COMMAND: undefined }],
  ['an unknown command', 4, /CNI_COMMAND=UPDATE is not supported/, { CNI_COMMAND: 'UPDATE' }],
  ['CHECK without a namespace', 4, /missing: CNI_NETNS$/, { CNI_COMMAND: 'CHECK', CNI_NETNS: undefined }],
  ['CHECK without the result of ADD', 7, /CHECK needs prevResult/, { CNI_COMMAND: 'CHECK' }],
  ['CHECK before 0.4.0', 1, /CHECK requires CNI 0\.4\.0/, { CNI_COMMAND: 'CHECK' }, { cniVersion: '0.3.1' }],
  [
    'a provider of another plug-in',
    7,
    /"provider" of the network configuration is "macvlan\.default"/,
    {},
    { provider: 'macvlan.default' },
  ],
  ['GC before 1.1.0', 1, /GC requires CNI 1\.1\.0, .* cniVersion 1\.0\.0/, { CNI_COMMAND: 'GC' }],
  ['STATUS before 1.1.0', 1, /STATUS requires CNI 1\.1\.0/, { CNI_COMMAND: 'STATUS' }],
  ['STATUS without CNI_PATH', 4, /missing: CNI_PATH$/, { CNI_COMMAND: 'STATUS', CNI_PATH: undefined }],
  [
    'GC with something else than a list',
    7,
    /"cni.dev\/valid-attachments" .* is not a list/,
    { CNI_COMMAND: 'GC' },
    { cniVersion: '1.1.0', 'cni.dev/valid-attachments': [{ containerID: 3 }] },
  ],
  ['all that ADD needs', 4, /missing: CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME$/, bare],
  ['no container id', 4, /missing: CNI_CONTAINERID$/, { CNI_CONTAINERID: '' }],
  ['bad container id', 3, /is not a container id/, { CNI_CONTAINERID: '../x' }],
  ['no interface name', 4, /missing: CNI_IFNAME$/, { CNI_IFNAME: undefined }],
  ['interface name with a slash', 4, /is not an interface name/, { CNI_IFNAME: 'eth/0' }],
  [
    'interface name of 15 characters, 30 bytes',
    4,
    /is not an interface name: 1 to 15 bytes/,
    { CNI_IFNAME: 'é'.repeat(15) },
  ],
  ['interface name that the kernel would number', 4, /is not an interface name/, { CNI_IFNAME: 'eth%d' }],
  ['interface name with a control character', 4, /is not an interface name/, { CNI_IFNAME: 'a\u0001b' }],
  ['interface name of 16', 4, /is not an interface name/, { CNI_IFNAME: 'a'.repeat(16) }],
  ['ADD without netns', 4, /missing: CNI_NETNS$/, { CNI_NETNS: undefined }],
  ['ADD without pod', 4, /needs K8S_POD_NAMESPACE/, { CNI_ARGS: undefined }],
  ['pod name with a slash', 4, /needs K8S_POD_NAME/, { CNI_ARGS: 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=../x' }],
  ['unknown CNI_ARGS key', 4, /unknown keys OTHER/, { CNI_ARGS: 'K8S_POD_NAMESPACE=a;K8S_POD_NAME=b;OTHER=x' }],
  [
    'an address in CNI_ARGS',
    4,
    /IP=10.16.0.9, but isthmus takes no/,
    { CNI_ARGS: `${environment.CNI_ARGS};IP=10.16.0.9` },
  ],
  ['a MAC in CNI_ARGS', 4, /MAC=00:00:00:00:00:01/, { CNI_ARGS: `${environment.CNI_ARGS};MAC=00:00:00:00:00:01` }],
  [
    'addresses in the configuration',
    2,
    /unsupported field args.cni.ips=/,
    {},
    { args: { cni: { ips: ['10.16.0.9'] } } },
  ],
  [
    'a MAC in the configuration',
    2,
    /unsupported field args.cni.mac=/,
    {},
    { args: { cni: { mac: '0a:00:00:00:00:01' } } },
  ],
  ['CNI_ARGS without =', 4, /KEY=VALUE/, { CNI_ARGS: 'IgnoreUnknown' }],
  ['no JSON', 6, /not JSON/, {}, '{'],
  ['JSON without end, in a field of ours', 6, /nested deeper than 100 levels/, {}, nested('"ipam":{"a":', '}')],
  ['JSON without end, in a result', 6, /nested deeper/, {}, nested('"prevResult":{"interfaces":[{"a":', '}]}')],
  ['a long value, not told in full', 2, /^unsupported field ipam=.{200}… in/, {}, { ipam: { type: 'x'.repeat(1e6) } }],
  ['name of the wrong type', 6, /wrong type/, {}, { name: 3 }],
  ['no version', 1, /cniVersion 0.1.0 is not supported/, {}, { cniVersion: undefined }],
  ['an empty version', 1, /is not supported/, {}, { cniVersion: '' }],
  ['a version of the future', 1, /cniVersion 1.2.0 is not supported/, {}, { cniVersion: '1.2.0' }],
  ['no name', 7, /"name" .* is missing/, {}, { name: undefined }],
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
