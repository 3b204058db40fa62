/**
 * The permissions of the tokens of a node's daemon and speaker: real requests to a real API server that has the chart's accounts,
 * roles and policies.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { annotation, type ProviderNetworkKey, providerNetworkKey } from '../../lib/api/names.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { apiVersion, IdentityBed, ours, podOf, serviceAccounts, time, type Try, verdict } from './node-identity-bed.ts';

const bed = await IdentityBed.start();
const { admin } = bed;
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'b' };
let daemon: KubeClient;
let speaker: KubeClient;

before(async () => {
  daemon = await bed.inPod('isthmus-daemon', 'n1');
  speaker = await bed.inPod('isthmus-speaker', 'n1');
});
after(() => bed.stop());

describe('the daemon of n1', () => {
  const own = '/api/v1/nodes/n1';
  const metadata = (labels: object, annotations: object = {}) => ({ metadata: { labels, annotations } });
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: 'Test',
    message: 'a test',
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  });
  const statusOf = (name: string, status: object): Partial<Try> => ({
    path: `/api/v1/nodes/${name}/status?fieldManager=isthmus-daemon&force=true`,
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name }, status },
    format: 'apply-patch+yaml',
  });
  const gateway = (name: string, status: object): Try => ({
    what: `InterconnectGateway ${name}: status.${Object.keys(status).join()}`,
    path: `${ours}/interconnectgateways/${name}/status`,
    body: { status },
  });

  const asked = (name: string): Try => ({
    what: `AskedDomains ${name}`,
    path: `${ours}/askeddomains/${name}?fieldManager=isthmus-daemon&force=true`,
    body: {
      apiVersion,
      kind: 'AskedDomains',
      metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: 'u' }] },
      spec: { names: [{ name: 'www.example.com', namespace: 'shop', since: 1 }] },
    },
    format: 'apply-patch+yaml',
  });
  const network = (key: ProviderNetworkKey) => providerNetworkKey('net1', key);
  const ofNetwork = (value: string | null) => {
    const each = (keys: readonly ProviderNetworkKey[]) => Object.fromEntries(keys.map((key) => [network(key), value]));
    return metadata(each(['ready', 'interface', 'mtu', 'vlan_interfaces', 'exclude']), each(['err_mesg', 'plan']));
  };
  const allowed: readonly Try[] = [
    { what: 'its chassis', path: own, body: metadata({}, { [annotation.chassis]: 'c1' }) },
    { what: 'its labels and annotations of a provider network', path: own, body: ofNetwork('x') },
    { what: 'other values of these labels and annotations', path: own, body: ofNetwork('y') },
    { what: 'the removal of these labels and annotations', path: own, body: ofNetwork(null) },
    {
      what: 'NetworkUnavailable',
      path: '',
      ...statusOf('n1', { conditions: [condition('NetworkUnavailable', 'True')] }),
    },
    { what: 'a new status', path: '', ...statusOf('n1', { conditions: [condition('NetworkUnavailable', 'False')] }) },
    gateway('n1', { tunnels: [], probes: [], siblingTunnels: [], silentPrograms: [], checkedAt: time }),
    asked('n1'),
    {
      what: 'an event about a pod',
      ...bed.eventOf('isthmus-daemon', 'n1', { kind: 'Pod', namespace: 'default', name: 'web' }),
    },
    { what: 'an event about its Node', ...bed.eventOf('isthmus-daemon', 'n1', { kind: 'Node', name: 'n1' }) },
    {
      what: 'an event about a Subnet',
      ...bed.eventOf('isthmus-daemon', 'n1', { kind: 'Subnet', name: 'ovn-default' }),
    },
  ];
  for (const each of allowed)
    it(`may write ${each.what ?? ''}`, async () => assert.equal(await verdict(daemon, each), 'done'));

  const refused: readonly (readonly [each: Try, why: RegExp])[] = [
    [
      { what: "another node's chassis", path: '/api/v1/nodes/n2', body: metadata({}, { [annotation.chassis]: 'c1' }) },
      /isthmus-daemon of node n1 may not change Node n2, only its own/,
    ],
    [
      { what: "another node's labels", path: '/api/v1/nodes/n2', body: metadata({ [network('ready')]: 'true' }) },
      /may not change Node n2/,
    ],
    [
      { what: "another node's taints", path: '/api/v1/nodes/n2', body: { spec: { taints: [] } } },
      /may not change Node n2/,
    ],
    [
      {
        what: "another node's status",
        path: '',
        ...statusOf('n2', { conditions: [condition('NetworkUnavailable', 'True')] }),
      },
      /may not change Node n2/,
    ],
    [
      { what: 'the role of its node', path: own, body: metadata({ 'node-role.kubernetes.io/control-plane': '' }) },
      /may not change the label node-role\.kubernetes\.io\/control-plane of its Node, only those that tell of provider networks/,
    ],
    [
      { what: 'the zone of its node', path: own, body: metadata({ 'topology.kubernetes.io/zone': 'elsewhere' }) },
      /may not change the label topology\.kubernetes\.io\/zone/,
    ],
    [{ what: 'the removal of a label', path: own, body: metadata({ rack: null }) }, /may not change the label rack/],
    [
      {
        what: 'a label that resembles those of provider networks',
        path: own,
        body: metadata({ [`${network('ready')}.x`]: 'a' }),
      },
      /may not change the label/,
    ],
    [
      { what: 'the BGP label of its node', path: own, body: metadata({ 'ovn.kubernetes.io/bgp': 'true' }) },
      /may not change the label ovn\.kubernetes\.io\/bgp/,
    ],
    [
      { what: 'an address of its join port', path: own, body: metadata({}, { [annotation.ipAddress]: '100.64.0.9' }) },
      /may not change the annotation ovn\.kubernetes\.io\/ip_address of its Node, only ovn\.kubernetes\.io\/chassis/,
    ],
    [
      { what: 'a finalizer', path: own, body: { metadata: { finalizers: ['a.b/c'] } } },
      /may not change metadata\.finalizers/,
    ],
    [
      { what: 'an owner of its Node', path: own, body: { metadata: { ownerReferences: [owner] } } },
      /may not change metadata\.ownerReferences/,
    ],
    [
      { what: 'the taints of its node', path: own, body: { spec: { taints: [] } } },
      /may not change the spec of its Node/,
    ],
    [{ what: 'cordons', path: own, body: { spec: { unschedulable: true } } }, /may not change the spec of its Node/],
    [
      { what: 'Ready', path: '', ...statusOf('n1', { conditions: [condition('Ready', 'False')] }) },
      /may not change conditions of its Node other than NetworkUnavailable/,
    ],
    [
      {
        what: 'a condition of another type',
        path: '',
        ...statusOf('n1', { conditions: [condition('Fine', 'True')] }),
      },
      /may not change conditions/,
    ],
    [
      {
        what: 'addresses',
        path: '',
        ...statusOf('n1', { addresses: [{ type: 'InternalIP', address: '192.0.2.99' }] }),
      },
      /may not change status\.addresses of its Node, only the condition NetworkUnavailable/,
    ],
    [
      { what: 'capacity', path: '', ...statusOf('n1', { capacity: { cpu: '999' } }) },
      /may not change status\.capacity/,
    ],
    [
      { what: 'labels through the status subresource', path: `${own}/status`, body: metadata({ rack: 'r2' }) },
      /may not change the label rack/,
    ],
    [gateway('n2', { tunnels: [] }), /may not write InterconnectGateway n2, only the one of its own name/],
    [asked('n2'), /may not write AskedDomains n2, only the one of its own name/],
    [gateway('n1', { peers: [] }), /may not change status\.peers of its InterconnectGateway, which the agent writes/],
    [gateway('n1', { chassis: 'c2' }), /may not change status\.chassis/],
    [
      {
        what: 'an event in the name of n2',
        ...bed.eventOf('isthmus-daemon', 'n2', { kind: 'Pod', namespace: 'default', name: 'web' }),
      },
      /isthmus-daemon of node n1 may not write events in the name of others/,
    ],
    [
      {
        what: 'an event as the controller',
        ...bed.eventOf('isthmus-controller', 'n1', { kind: 'Subnet', name: 'ovn-default' }),
      },
      /may not write events in the name of others/,
    ],
    [
      { what: 'an event about Node n2', ...bed.eventOf('isthmus-daemon', 'n1', { kind: 'Node', name: 'n2' }) },
      /may not write events about Node n2, only about its own/,
    ],
    [
      { what: "another's event", path: '/api/v1/namespaces/default/events/kubelets', body: { message: 'all is well' } },
      /may not write events in the name of others/,
    ],
  ];
  for (const [each, why] of refused)
    it(`may not write ${each.what ?? ''}`, async () => assert.match(await verdict(daemon, each), why));

  // The RBAC roles already refuse these, independent of the policies.
  const denied: readonly Try[] = [
    { what: 'patch pods', path: '/api/v1/namespaces/default/pods/web', body: metadata({ a: 'b' }) },
    { what: "patch pods' status", path: '/api/v1/namespaces/default/pods/web/status', body: { status: {} } },
    { what: 'delete pods', method: 'DELETE', path: '/api/v1/namespaces/default/pods/web' },
    { what: 'exec into pods', method: 'POST', path: '/api/v1/namespaces/default/pods/web/exec?command=id' },
    { what: 'add pods', method: 'POST', path: '/api/v1/namespaces/default/pods', body: podOf('default', 'new', 'n1') },
    { what: 'read secrets', method: 'GET', path: '/api/v1/namespaces/kube-system/secrets' },
    { what: 'read config maps', method: 'GET', path: '/api/v1/namespaces/kube-system/configmaps' },
    { what: 'write subnets', path: '/apis/kubeovn.io/v1/subnets/ovn-default', body: { spec: { natOutgoing: true } } },
    { what: 'write IPs', method: 'POST', path: '/apis/kubeovn.io/v1/ips', body: {} },
    { what: 'delete nodes', method: 'DELETE', path: own },
    { what: 'create nodes', method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: 'n9' } } },
    { what: 'reach kubelets through the API server', method: 'GET', path: `${own}/proxy/pods` },
    { what: 'create gateways', method: 'POST', path: `${ours}/interconnectgateways`, body: {} },
    { what: 'delete gateways', method: 'DELETE', path: `${ours}/interconnectgateways/n1` },
    { what: "write its speaker's state", path: `${ours}/bgpnodestates/n1/status`, body: { status: {} } },
    { what: 'create tokens', method: 'POST', path: `${serviceAccounts}/isthmus-controller/token`, body: { spec: {} } },
    {
      what: 'write roles',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterroles/isthmus-daemon',
      body: { rules: [] },
    },
    {
      what: 'remove the policies',
      method: 'DELETE',
      path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/isthmus-node',
    },
  ];
  for (const each of denied)
    it(`may not ${each.what ?? ''}`, async () => assert.match(await verdict(daemon, each), /^403: .*cannot /));

  it('may not impersonate another user', async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const options = { method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews', body } as const;
    assert.equal(await verdict(daemon, options), 'done');
    assert.match(
      await verdict(await bed.inPod('isthmus-daemon', 'n1', 'system:admin'), options),
      /^403: .*cannot impersonate/,
    );
  });

  it('may not create a Node with a server-side apply', async () => {
    const made = { path: '', ...statusOf('n9', {}) };
    const whole = { ...made, path: '/api/v1/nodes/n9?fieldManager=isthmus-daemon&force=true' };
    assert.match(await verdict(daemon, whole), /^403: .*cannot create/);
  });

  it('may write a Node that is as large as a kubelet makes it', async () => {
    const text = 'x'.repeat(200);
    const many = (count: number) => Array.from({ length: count }, (_, index) => `${text}${String(index)}`);
    const images = many(50).map((name) => ({ names: [`${name}@sha256`, `${name}:tag`], sizeBytes: 1 }));
    const volumesAttached = many(200).map((name) => ({ name, devicePath: name }));
    const volumesInUse = many(200);
    await bed.write('PATCH', `${own}/status`, { status: { images, volumesAttached, volumesInUse } });
    const entries = Object.fromEntries(many(200).map((value, index) => [`example.org/key-${String(index)}`, value]));
    const short = Object.fromEntries(Object.keys(entries).map((key) => [key, 'value']));
    await bed.write('PATCH', own, metadata(short, entries));
    const written = statusOf('n1', { conditions: [condition('NetworkUnavailable', 'True')] });
    assert.equal(await verdict(daemon, { path: '', ...written }), 'done');
    assert.equal(await verdict(daemon, { path: own, body: ofNetwork('z') }), 'done');
    const moved = { path: `${own}/status`, body: { status: { volumesInUse: [] } } };
    assert.match(await verdict(daemon, moved), /may not change status\.volumesInUse/);
  });

  it('has the same rights with a token that is bound to the Node itself', async () => {
    const ref = { apiVersion: 'v1', kind: 'Node', name: 'n2' };
    const second = await bed.boundTo('isthmus-daemon', ref);
    const chassis = metadata({}, { [annotation.chassis]: 'c2' });
    assert.equal(await verdict(second, { path: '/api/v1/nodes/n2', body: chassis }), 'done');
    assert.match(
      await verdict(second, { path: own, body: chassis }),
      /isthmus-daemon of node n2 may not change Node n1/,
    );
  });
});

describe('an unbound token', () => {
  for (const account of ['isthmus-daemon', 'isthmus-speaker'] as const)
    it(`of ${account} may write nothing`, async () => {
      const unbound = await bed.boundTo(account, undefined);
      const tries: readonly Try[] =
        account === 'isthmus-daemon'
          ? [
              { path: '/api/v1/nodes/n1', body: { metadata: { annotations: { [annotation.chassis]: 'c' } } } },
              { path: `${ours}/interconnectgateways/n1/status`, body: { status: { tunnels: [] } } },
              { ...bed.eventOf(account, 'n1', { kind: 'Node', name: 'n1' }) },
              { ...bed.eventOf(account, '', { kind: 'Pod', namespace: 'default', name: 'web' }) },
            ]
          : [
              { path: `${ours}/bgpnodestates/n2/status`, body: { status: {} } },
              { path: `${ours}/bgppeers/tor/status`, body: { status: { established: '9/9' } } },
            ];
      for (const each of tries)
        assert.match(
          await verdict(unbound, each),
          /a token of isthmus-\w+ that is bound to no pod was used/,
          each.path,
        );
    });
});

describe('the speaker of n1', () => {
  const state = (name: string, more: object = {}): Try => ({
    what: `BgpNodeState ${name}`,
    path: `${ours}/bgpnodestates/${name}${'status' in more ? '/status' : ''}?fieldManager=isthmus-speaker&force=true`,
    body: { apiVersion, kind: 'BgpNodeState', metadata: { name }, ...more },
    format: 'apply-patch+yaml',
  });
  const entry = (node: string, ready = true) => ({ node, ready });
  const instance = (what: string, body: object, format: Try['format'] = 'apply-patch+yaml'): Try => ({
    what,
    path: `${ours}/bgpinstances/default/status?fieldManager=isthmus-speaker-n1${Array.isArray(body) ? '' : '&force=true'}`,
    body: Array.isArray(body) ? body : { apiVersion, kind: 'BgpInstance', metadata: { name: 'default' }, status: body },
    format,
  });
  const at = (index: number, node: string) => [
    { op: 'test', path: `/status/nodes/${String(index)}/node`, value: node },
    { op: 'remove', path: `/status/nodes/${String(index)}` },
  ];

  it('creates, updates and deletes only its own BgpNodeState', async () => {
    assert.equal(await verdict(speaker, state('n1')), 'done');
    assert.equal(await verdict(speaker, state('n1', { status: { drain: 'Leaving' } })), 'done');
    const remove = (name: string): Try => ({ method: 'DELETE', path: `${ours}/bgpnodestates/${name}` });
    for (const each of [state('n2', { status: {} }), state('n2'), state('n3'), remove('n2')])
      assert.match(
        await verdict(speaker, each),
        /isthmus-speaker of node n1 may not write BgpNodeState n[23], only the one of its own name/,
      );
    assert.equal(await verdict(speaker, remove('n1')), 'done');
  });

  it('creates, updates and deletes only slices of its own BgpNodeState', async () => {
    const routes = [{ prefix: '192.0.2.0/24', peer: 'tor', nextHop: '192.0.2.1', preference: 100 }];
    const slice = (name: string, owner = 'n1', label = 'n1', more: object = {}) => {
      const ownerReferences = [{ apiVersion, kind: 'BgpNodeState', name: owner, uid: 'u' }];
      const metadata = { name, labels: { 'isthmus.network/bgp-node-state': label }, ownerReferences, ...more };
      return { apiVersion, kind: 'BgpRouteSlice', metadata, routes };
    };
    const path = `${ours}/bgprouteslices`;
    const make = (body: ReturnType<typeof slice>): Try => ({ method: 'POST', path, body });
    const patch = (name: string, body: object): Try => ({ path: `${path}/${name}`, body });
    assert.equal(await verdict(speaker, make(slice('n1.0'))), 'done');
    assert.equal(await verdict(speaker, patch('n1.0', slice('n1.0'))), 'done');
    await bed.write('POST', path, slice('n2.0', 'n2', 'n2'));
    const stranger = /isthmus-speaker of node n1 may not write BgpRouteSlice \S+, only those called n1\. and a number/;
    for (const each of [
      make(slice('n2.1', 'n2', 'n2')),
      make(slice('n2.1')),
      make(slice('n1')),
      make(slice('n1.x.0')),
      make(slice('n11.0')),
      patch('n2.0', slice('n2.0')),
      patch('n2.0', { routes: [] }),
      { method: 'DELETE', path: `${path}/n2.0` } as const,
    ])
      assert.match(await verdict(speaker, each), stranger);
    const owners = /isthmus-speaker of node n1 may not write BgpRouteSlices of another owner than BgpNodeState n1/;
    for (const each of [
      make(slice('n1.1', 'n2')),
      make(slice('n1.1', 'n1', 'n1', { ownerReferences: [] })),
      patch('n1.0', slice('n1.0', 'n2')),
      patch('n1.0', {
        metadata: {
          ownerReferences: ['n1', 'n2'].map((name) => ({ apiVersion, kind: 'BgpNodeState', name, uid: 'u' })),
        },
      }),
      patch('n1.0', { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' }] } }),
    ])
      assert.match(await verdict(speaker, each), owners);
    const labels = /isthmus-speaker of node n1 may not label BgpRouteSlices as those of another node than n1/;
    for (const each of [
      make(slice('n1.1', 'n1', 'n2')),
      make(slice('n1.1', 'n1', 'n')),
      patch('n1.0', slice('n1.0', 'n1', '')),
    ])
      assert.match(await verdict(speaker, each), labels);
    assert.match(await verdict(await bed.inPod('isthmus-daemon', 'n1'), make(slice('n1.1'))), /^403: .*cannot create/);
    assert.equal(await verdict(speaker, { method: 'DELETE', path: `${path}/n1.0` }), 'done');
  });

  it('writes no slice with duplicate routes, too many routes, or an invalid prefix', async () => {
    const ownerReferences = [{ apiVersion, kind: 'BgpNodeState', name: 'n1', uid: 'u' }];
    const metadata = { name: 'n1.0', labels: { 'isthmus.network/bgp-node-state': 'n1' }, ownerReferences };
    const slice = (count: number, prefixOf: (at: number) => string): Try => {
      const routes = Array.from({ length: count }, (_, at) => {
        return { prefix: prefixOf(at), peer: 'tor', nextHop: '192.0.2.1', preference: 100 };
      });
      const body = { apiVersion, kind: 'BgpRouteSlice', metadata, routes };
      return { method: 'POST', path: `${ours}/bgprouteslices`, body };
    };
    assert.match(
      await verdict(
        speaker,
        slice(2, () => '10.0.0.0/8'),
      ),
      /Duplicate value/,
    );
    assert.match(
      await verdict(
        speaker,
        slice(1, () => '10.0.0.0/33'),
      ),
      /prefix must be a CIDR/,
    );
    const long = (at: number): string => `fd00:1234:5678:9abc:def0:1234:5678:${(at + 4096).toString(16)}/128`;
    assert.match(await verdict(speaker, slice(501, long)), /must have at most 500 items/);
    assert.equal(await verdict(speaker, slice(500, long)), 'done');
    assert.equal(await verdict(speaker, { method: 'DELETE', path: `${ours}/bgprouteslices/n1.0` }), 'done');
  });

  it('writes and removes only its own entry in status.nodes', async () => {
    assert.equal(await verdict(speaker, instance('', { nodes: [entry('n1')] })), 'done');
    assert.equal(await verdict(speaker, instance('', { nodes: [entry('n1', false)] })), 'done');
    for (const nodes of [[entry('n1'), entry('n2', false)], [entry('n3')]])
      assert.match(
        await verdict(speaker, instance('', { nodes })),
        /isthmus-speaker of node n1 may not change entries of other nodes in status\.nodes of BgpInstance default/,
      );
    assert.equal(await verdict(speaker, instance('', {})), 'done');
    assert.deepEqual(await nodesOfInstance(), ['n2', 'gone']);
  });

  it('writes conditions, and removes the entry of a deleted node', async () => {
    const ready = { type: 'Ready', status: 'True', reason: 'Test', message: '', lastTransitionTime: time };
    assert.equal(await verdict(speaker, instance('', { conditions: [ready] })), 'done');
    assert.equal(await verdict(speaker, instance('', at(1, 'gone'), 'json-patch+json')), 'done');
    assert.deepEqual(await nodesOfInstance(), ['n2']);
  });

  it('writes no Nodes, no specs of BGP objects, and no events in the name of others', async () => {
    const nodes: Try = { path: '/api/v1/nodes/n1', body: { metadata: { labels: { a: 'b' } } } };
    const peer: Try = { path: `${ours}/bgppeers/tor`, body: { spec: { asn: 65009 } } };
    for (const each of [nodes, peer]) assert.match(await verdict(speaker, each), /^403: .*cannot patch/);
    const about = { kind: 'BgpPeer', name: 'tor' };
    assert.equal(await verdict(speaker, { ...bed.eventOf('isthmus-speaker', 'n1', about) }), 'done');
    assert.match(
      await verdict(speaker, { ...bed.eventOf('isthmus-speaker', 'n2', about) }),
      /isthmus-speaker of node n1 may not write events in the name of others/,
    );
  });

  it('writes its own entry in a cluster with hundreds of speakers', async () => {
    const names = Array.from({ length: 600 }, (_, index) => `m${String(index)}`);
    await bed.write('PATCH', `${ours}/bgpinstances/default/status`, {
      status: { nodes: names.map((name) => entry(name)) },
    });
    assert.equal(await verdict(speaker, instance('', { nodes: [entry('n1')] })), 'done');
    assert.match(await verdict(speaker, instance('', { nodes: [entry('m5', false)] })), /may not change entries/);
    assert.equal(await verdict(speaker, instance('', at(300, 'm300'), 'json-patch+json')), 'done');
  });
});

describe('the policies for node identities', () => {
  it('do not restrict an administrator', async () => {
    const labels = {
      metadata: { labels: { rack: 'r9' }, annotations: { note: 'moved' } },
      spec: { unschedulable: true },
    };
    for (const each of [
      { path: '/api/v1/nodes/n2', body: labels },
      { path: '/api/v1/nodes/n2/status', body: { status: { capacity: { cpu: '8' } } } },
      { path: `${ours}/bgpnodestates/n2/status`, body: { status: {} } },
      { ...bed.eventOf('kubelet', 'n2', { kind: 'Node', name: 'n2' }) },
    ])
      assert.equal(await verdict(admin, each), 'done', each.path);
  });

  it('grant nothing to an account with the same name in another namespace', async () => {
    const stranger = bed.actingAs('system:serviceaccount:default:isthmus-daemon');
    const label: Try = { path: '/api/v1/nodes/n2', body: { metadata: { labels: { rack: 'r3' } } } };
    assert.match(await verdict(stranger, label), /^403: .*cannot patch resource "nodes"/);
  });
});

async function nodesOfInstance(): Promise<string[]> {
  const { status } = (await admin.request('GET', `${ours}/bgpinstances/default`)) as {
    status: { nodes: { node: string }[] };
  };
  return status.nodes.map(({ node }) => node);
}
