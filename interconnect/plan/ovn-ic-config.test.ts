import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RoutePolicySpec } from '../../lib/api/kinds/route-policy.ts';
import { parseFollowing, parseOvnIcConfig } from '../watch/ovn-ic-config.ts';
import { planOvnIcConfig, type IcConfigState } from './ovn-ic-config.ts';
import { ovnIcConfig, type FollowingInterconnect, type IcConfig } from '../model/ic-config.ts';

const data = {
  'enable-ic': 'true',
  'az-name': 'east',
  'ic-db-host': '192.0.2.10,192.0.2.11',
  'ic-nb-port': '6645',
  'ic-sb-port': '6646',
  'gw-nodes': 'n1, n2',
  'auto-route': 'true',
};
const read = (changes: Readonly<Record<string, string | undefined>> = {}) =>
  parseOvnIcConfig({
    metadata: { name: ovnIcConfig, namespace: 'kube-system', uid: 'u', resourceVersion: '1' },
    data: { ...data, ...changes },
  }).config;
const config = (fields: Partial<IcConfig> = {}): IcConfig => ({
  clusterName: 'east',
  hub: '192.0.2.10:6650',
  gateways: ['n1', 'n2'],
  isAutoRoute: true,
  ...fields,
});

describe('reading ovn-ic-config', () => {
  it('takes the first host, at the port of the hub, and all nodes', () => {
    assert.deepEqual(read(), config());
    assert.deepEqual(read({ 'auto-route': 'false' }), config({ isAutoRoute: false }));
    assert.deepEqual(read({ 'auto-route': undefined }), config({ isAutoRoute: false }));
    assert.deepEqual(read({ 'ic-db-host': 'hub.example.com' }), config({ hub: 'hub.example.com:6650' }));
    assert.deepEqual(read({ 'ic-db-host': 'fd00::1' }), config({ hub: '[fd00::1]:6650' }));
  });

  it('is off unless enabled', () => {
    assert.equal(read({ 'enable-ic': 'false' }), 'off');
    assert.equal(read({ 'enable-ic': undefined, 'az-name': 'NOT' }), 'off');
    assert.equal(parseOvnIcConfig({ metadata: { name: 'x', uid: 'u', resourceVersion: '1' } }).config, 'off');
  });

  const wrong: readonly [Readonly<Record<string, string>>, string][] = [
    [{ 'enable-ic': 'yes' }, 'ValueInvalid'],
    [{ 'auto-route': 'on' }, 'ValueInvalid'],
    [{ 'az-name': 'East' }, 'NameInvalid'],
    [{ 'az-name': '' }, 'NameInvalid'],
    [{ 'ic-db-host': '' }, 'HostInvalid'],
    [{ 'ic-db-host': 'a b' }, 'HostInvalid'],
    [{ 'ic-db-host': '192.0.2.10:6645' }, 'HostInvalid'],
    [{ 'gw-nodes': ' , ' }, 'GatewaysMissing'],
  ];
  for (const [change, code] of wrong)
    it(`refuses ${JSON.stringify(change)}`, () => {
      const problems = read(change);
      assert.ok(Array.isArray(problems));
      assert.deepEqual(
        problems.map((problem: { code: string }) => problem.code),
        [code],
      );
    });

  it('names all errors at once', () => {
    const problems = read({ 'az-name': '', 'ic-db-host': '', 'gw-nodes': '' });
    assert.equal(Array.isArray(problems) && problems.length, 3);
  });
});

const selector = (...values: string[]) => ({
  matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In' as const, values }],
});
const interconnect = (fields: Partial<FollowingInterconnect> = {}): FollowingInterconnect => ({
  uid: 'ic',
  isDeleting: false,
  from: ovnIcConfig,
  clusterName: 'east',
  hub: '192.0.2.10:6650',
  gatewayNodeSelector: selector('n1', 'n2'),
  ...fields,
});
const closed = (direction: RoutePolicySpec['direction'], from: string | undefined = ovnIcConfig) => ({
  uid: `uid-${direction}`,
  from,
  spec: { direction, priority: 65535, rules: [], defaultAction: 'Deny' } satisfies RoutePolicySpec,
});
const bothClosed: IcConfigState['policies'] = new Map([
  ['ovn-ic-config', closed('Export')],
  ['ovn-ic-config-import', closed('Import')],
]);
const hostnames = new Map([
  ['n1', 'n1'],
  ['n2', 'n2'],
  ['n3', 'host-3'],
]);
const plan = (state: Partial<IcConfigState>) => {
  const { writes, problems } = planOvnIcConfig({
    config: config(),
    interconnect: undefined,
    policies: new Map(),
    labelsOf: (node) => {
      const hostname = hostnames.get(node);
      return hostname === undefined ? undefined : { 'kubernetes.io/hostname': hostname };
    },
    ...state,
  });
  return { writes, words: writes.map(({ verb, name }) => `${verb} ${name}`), codes: problems.map(({ code }) => code) };
};

describe('following ovn-ic-config', () => {
  it('joins', () => {
    const { writes, codes } = plan({});
    assert.deepEqual(codes, []);
    assert.deepEqual(writes, [
      {
        verb: 'create',
        kind: 'Interconnect',
        name: 'default',
        uid: undefined,
        spec: {
          clusterName: 'east',
          hub: '192.0.2.10:6650',
          tokenSecretRef: { name: 'isthmus-interconnect-token' },
          gatewayNodeSelector: selector('n1', 'n2'),
        },
      },
    ]);
  });

  it('changes nothing once all objects match the ConfigMap', () => {
    assert.deepEqual(plan({ interconnect: interconnect() }).writes, []);
    const isAutoRoute = false;
    const state = { config: config({ isAutoRoute }), interconnect: interconnect(), policies: bothClosed };
    assert.deepEqual(plan(state).writes, []);
  });

  it('selects a node by its label, not by its name, and names missing nodes', () => {
    const { writes, codes } = plan({
      config: config({ gateways: ['n3', 'n9', 'n3'] }),
      interconnect: interconnect(),
    });
    assert.deepEqual(writes[0]?.spec, { gatewayNodeSelector: { matchLabels: null, ...selector('host-3', 'n9') } });
    assert.deepEqual(codes, ['NodeUnknown']);
  });

  it('patches only the edited fields', () => {
    const { writes } = plan({ config: config({ hub: 'other:6650' }), interconnect: interconnect() });
    assert.deepEqual(writes, [
      { verb: 'patch', kind: 'Interconnect', name: 'default', uid: 'ic', spec: { hub: 'other:6650' } },
    ]);
  });

  it('renames the cluster when az-name changes', () => {
    const edited = plan({ config: config({ clusterName: 'orient' }), interconnect: interconnect() });
    assert.deepEqual(edited.writes[0]?.spec, { clusterName: 'orient' });
    assert.deepEqual(edited.codes, []);
  });

  it('without auto-route, closes before it joins', () => {
    const isAutoRoute = false;
    const first = plan({ config: config({ isAutoRoute }) });
    assert.deepEqual(first.words, ['create ovn-ic-config', 'create ovn-ic-config-import']);
    const half = new Map([...bothClosed].slice(0, 1));
    assert.deepEqual(plan({ config: config({ isAutoRoute }), policies: half }).words, ['create ovn-ic-config-import']);
    assert.deepEqual(plan({ config: config({ isAutoRoute }), policies: bothClosed }).words, ['create default']);
  });

  it('opens and closes with auto-route', () => {
    const opened = plan({ interconnect: interconnect(), policies: bothClosed });
    assert.deepEqual(opened.words, ['delete ovn-ic-config', 'delete ovn-ic-config-import']);
    const joined = plan({ config: config({ isAutoRoute: false }), interconnect: interconnect() });
    assert.deepEqual(joined.words, ['create ovn-ic-config', 'create ovn-ic-config-import']);
  });

  it('restores an edited policy of its own, and does not change a policy of a user', () => {
    const open = { ...closed('Export'), spec: { ...closed('Export').spec, defaultAction: 'Next' as const } };
    const state = { config: config({ isAutoRoute: false }), interconnect: interconnect() };
    const edited = plan({ ...state, policies: new Map(bothClosed).set('ovn-ic-config', open) });
    assert.deepEqual(edited.words, ['patch ovn-ic-config']);
    const foreign = { ...open, from: undefined };
    const left = plan({ ...state, policies: new Map(bothClosed).set('ovn-ic-config', foreign) });
    assert.deepEqual(left.writes, []);
    assert.deepEqual(left.codes, ['RoutePolicyExists']);
    assert.deepEqual(plan({ config: 'off', policies: new Map([['ovn-ic-config', foreign]]) }).writes, []);
  });

  it('leaves first, opens after that', () => {
    const off = { config: 'off' as const, policies: bothClosed };
    assert.deepEqual(plan({ ...off, interconnect: interconnect() }).words, ['delete default']);
    assert.deepEqual(plan({ ...off, interconnect: interconnect({ isDeleting: true }) }).words, []);
    assert.deepEqual(plan(off).words, ['delete ovn-ic-config', 'delete ovn-ic-config-import']);
  });

  it("never touches a user's Interconnect", () => {
    for (const from of [undefined, 'elsewhere']) {
      const present = interconnect({ from, hub: 'mine:6650' });
      const enabled = plan({ interconnect: present, policies: new Map() });
      assert.deepEqual(enabled.writes, []);
      assert.deepEqual(enabled.codes, ['InterconnectExists']);
      assert.deepEqual(plan({ config: 'off', interconnect: present }).writes, []);
    }
  });

  it('changes nothing while the ConfigMap has an error', () => {
    const problems = read({ 'az-name': 'East' });
    const { writes, codes } = plan({ config: problems, interconnect: interconnect(), policies: bothClosed });
    assert.deepEqual(writes, []);
    assert.deepEqual(codes, ['NameInvalid']);
  });

  it('waits until an Interconnect that is leaving is deleted', () => {
    assert.deepEqual(plan({ interconnect: interconnect({ isDeleting: true, hub: 'x:1' }) }).writes, []);
  });

  it('parses the objects that it creates', () => {
    const [create] = plan({}).writes;
    const present = parseFollowing({
      metadata: {
        name: 'default',
        uid: 'ic',
        resourceVersion: '1',
        annotations: { 'isthmus.network/from': ovnIcConfig },
      },
      spec: create?.spec,
    });
    assert.deepEqual(present, interconnect());
    assert.deepEqual(plan({ interconnect: present }).writes, []);
  });
});
