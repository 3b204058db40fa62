import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import { local, network, ownPath, port, west } from '../model/testing.ts';
import { Remotes } from '../settle/remotes.ts';
import type { GatewayObject } from '../model/objects.ts';
import { isSameJson, withoutMeasures } from './compare.ts';
import { renderGateway, peersOf } from './gateway.ts';
import { renderInterconnect } from './interconnect.ts';
import { renderRemoteCluster } from './remote-cluster.ts';
import type { Stalled } from '../settle/ovn-lag.ts';
import type { Situation } from './situation.ts';
import { stuckProblems } from './stuck.ts';
import { renderTransitSwitch } from './transit-switch.ts';

import { at, conditionsOf, gatewayObject, messageOf, noGateways, situation, stateOf, verdicts } from './testing.ts';

describe('the Interconnect', () => {
  const conditions = (fields: Partial<Situation> = {}, state = stateOf()) =>
    conditionsOf(renderInterconnect(situation(state, fields), {}, 1));
  it('is ready, protected and without conflict when all is well', () => {
    assert.ok(
      Object.values(conditions()).every((status) => status === 'True'),
      JSON.stringify(conditions()),
    );
  });
  it('reports what is wrong with the networks of ClusterSet IPs, and keeps that until it knows', () => {
    const type = 'ClusterSetIPsAvailable';
    const problem = { code: 'ClusterSetCIDROverlap', message: 'm' };
    assert.equal(conditions({ clusterSetProblems: [problem] })[type], `False ${problem.code}`);
    const written = renderInterconnect(situation(stateOf(), { clusterSetProblems: [problem] }), {}, 1);
    const unknown = situation(stateOf(), { clusterSetProblems: undefined });
    assert.equal(conditionsOf(renderInterconnect(unknown, written, 1))[type], `False ${problem.code}`);
    assert.equal(conditionsOf(renderInterconnect(unknown, {}, 1))[type], undefined);
  });
  it('reports that the loss of one gateway would cut a cluster off', () => {
    assert.equal(conditions({}, stateOf({ verdicts: verdicts(['ts1']) }))['DataplaneProtected'], 'False OnePathLeft');
  });
  it('reports a gateway whose port no other gateway would take over', () => {
    const takeovers = new Map([['ts', { code: 'NoWitness', message: 'a2 would not take it' }]]);
    assert.equal(conditions({ takeovers })['DataplaneProtected'], 'False NoWitness');
    const { paths = [], conditions: all } = renderTransitSwitch('ts', situation(stateOf(), { takeovers }), {}, 1);
    assert.deepEqual(
      paths.map(({ state, reason }) => [state, reason]),
      [
        ['Unprotected', 'NoWitness'],
        ['Settled', undefined],
      ],
    );
    assert.equal(conditionsOf({ conditions: all })['Protected'], 'False NoWitness');
  });
  it('reports that the other cluster has a single gateway', () => {
    const one = verdicts().map((verdict) => ({ ...verdict, remoteGateway: 'b1' }));
    assert.equal(conditions({}, stateOf({ verdicts: one }))['DataplaneProtected'], 'False OnePathLeft');
  });
  it('reports an expired certificate, and a hub that cannot be reached', () => {
    const problem = { code: 'HubUnreachable', message: 'm' };
    const link = { isJoined: true, isConnected: false, problem, notAfterMs: Date.parse(at) - 1 };
    const found = conditions({ link });
    assert.equal(found['CertificateValid'], 'False CertificateExpired');
    assert.equal(found['HubReachable'], 'False HubUnreachable');
    assert.equal(found['Joined'], 'True');
  });
  it('has not joined with the wanted name while the hub has not renamed the member', () => {
    const renaming = { code: 'TokenForOtherCluster', message: 'this cluster keeps the name "east"' };
    const link = { isJoined: true, isConnected: true, problem: undefined, notAfterMs: Date.parse(at) + 1000 };
    const found = conditions({ link: { ...link, cluster: 'east', renaming } });
    assert.equal(found['Joined'], 'False TokenForOtherCluster');
    assert.equal(found['Ready'], 'False TokenForOtherCluster');
    assert.equal(found['HubReachable'], 'True');
  });
  it('reports silent databases of the hub, and the conditions that wait for them; the others stay True', () => {
    const silentDatabases = [{ name: 'OVN_IC_Southbound', sinceMs: Date.parse(at) }];
    const waiting = { silentDatabases, isConverged: false, isWaitingForHub: true };
    const before = renderInterconnect(situation(stateOf(), { silentDatabases }), {}, 1);
    assert.match(messageOf(before, 'HubDatabasesReady'), /OVN_IC_Southbound since 2026-01-01T00:00:00.000Z.*Traffic/);
    assert.deepEqual(
      [conditionsOf(before)['HubDatabasesReady'], conditionsOf(before)['Ready']],
      ['False HubDatabasesStuck', 'True'],
    );
    assert.equal(conditions(waiting)['RoutesConverged'], 'False HubDatabasesStuck');
    const away = {
      isJoined: true,
      isConnected: false,
      problem: { code: 'HubUnreachable', message: 'm' },
      notAfterMs: 1,
    };
    assert.equal(conditions({ ...waiting, link: away })['HubDatabasesReady'], 'Unknown HubUnreachable');
    assert.equal(conditions({ ...waiting, link: away })['RoutesConverged'], 'False WaitingForHub');
    assert.equal(conditions({ isConverged: false })['RoutesConverged'], 'False InProgress');
  });
  it('names stalled parts of its OVN; a gateway whose ovn-controller is stalled does not count', () => {
    const stuckOf = (still: Partial<Stalled>) => ({
      stuck: stuckProblems({
        northbound: undefined,
        southbound: undefined,
        northd: undefined,
        controllers: new Map(),
        ...still,
      }),
    });
    const found = (still: Partial<Stalled>) => {
      const all = conditions(stuckOf(still));
      return [all['RoutesConverged'], all['Ready']];
    };
    assert.deepEqual(found({ southbound: 0, northd: 0 }), ['False SouthboundSilent', 'False SouthboundSilent']);
    assert.deepEqual(found({ northbound: 0 }), ['False NorthboundSilent', 'False NorthboundSilent']);
    assert.deepEqual(found({ northd: 0, controllers: new Map([['n1', 0]]) }), [
      'False NorthdStuck',
      'False NorthdStuck',
    ]);
    assert.deepEqual(found({ controllers: new Map([['n1', 0]]) }), ['False OvnControllerStuck', 'True']);
    assert.deepEqual(found({}), ['True', 'True']);
  });
  it('reports a gateway whose chassis name another chassis has; the other gateways continue', () => {
    const clash = { node: 'n1', chassis: 'b1', problem: { code: 'DuplicateChassis', message: 'n1 and b1 of west' } };
    const all = conditions({ clashes: [clash] });
    assert.deepEqual([all['GatewaysReady'], all['Ready']], ['False DuplicateChassis', 'True']);
    const other = { ...clash, node: 'n2' };
    assert.equal(conditions({ clashes: [clash, other] })['Ready'], 'False DuplicateChassis');
  });
  it('counts refused prefixes that the hub does not list', () => {
    const one = { kind: 'prefix', value: 'x', code: 'Overlap', message: 'm', holder: '', transitSwitch: '' } as const;
    const rejections = [one, { ...one, code: 'MoreRefused', value: '7' }];
    const status = renderInterconnect(situation(stateOf(), { rejections, prefixesOffered: 10 }), {}, 1);
    assert.equal(status.routesAdvertised, 2);
  });
  it('keeps its status of other clusters until a new process has heard from the hub', () => {
    const conflict = {
      kind: 'prefix',
      value: 'x',
      code: 'Overlap',
      message: 'm',
      holder: '',
      transitSwitch: '',
    } as const;
    const before = renderInterconnect(situation(stateOf(), { rejections: [conflict], nowMs: 0 }), {}, 1);
    const unheard = { isHubKnown: false, members: new Map(), networks: new Map(), remotes: new Remotes() };
    const problem = { code: 'HubUnreachable', message: 'm' };
    const link = { isJoined: true, isConnected: false, problem, notAfterMs: Date.parse(at) + 1000 };
    const after = renderInterconnect(situation(stateOf(), { ...unheard, link }), before, 1);
    const kept = (status: typeof before) => [
      status.remoteClusters,
      status.routesLearned,
      ...['Ready', 'NoConflicts'].map((type) => status.conditions?.find((one) => one.type === type)),
    ];
    assert.deepEqual(kept(after), kept(before));
    const silent = { status: 'False', reason: 'NorthboundSilent', message: 'm' } as const;
    const conditions = (before.conditions ?? []).map((one) => (one.type === 'Ready' ? { ...one, ...silent } : one));
    const begun = renderInterconnect(situation(stateOf(), { ...unheard, link }), { ...before, conditions }, 1);
    assert.match(conditionsOf(begun)['Ready'] ?? '', /^True/, 'the database answers again');
    const without = { ...local, gatewayNodes: [] };
    const worse = renderInterconnect(situation(stateOf(), { ...unheard, link, local: without }), before, 1);
    assert.match(conditionsOf(worse)['Ready'] ?? '', /^False/);
  });
  it('reports problems of its gateways', () => {
    assert.equal(conditions({ local: { ...local, gatewayNodes: [] } })['GatewaysReady'], 'False NoGateway');
    assert.equal(conditions({ local: { ...local, unknownNodes: ['n9'] } })['GatewaysReady'], 'False ChassisMissing');
    const idle = new Map([['ts', network([ownPath(0, { holder: '' })])]]);
    assert.equal(conditions({ networks: idle })['GatewaysReady'], 'False NotClaimed');
    assert.equal(conditions({ blocked: new Map([['ts/0', 'waits']]) })['GatewaysReady'], 'False WaitingForHub');
    const drained = local.gatewayNodes.map((gateway) => ({ ...gateway, isDrained: true }));
    assert.equal(conditions({ local: { ...local, gatewayNodes: drained } })['GatewaysReady'], 'False AllDrained');
  });
  it('names two gateways that are cut off from each other, and stays ready: each keeps its paths', () => {
    const cuts = [{ pair: ['a1', 'a2'] as const, sinceMs: 1 }];
    const status = renderInterconnect(situation(stateOf(), { cuts }), {}, 1);
    const found = conditionsOf(status);
    assert.deepEqual([found['GatewaysReady'], found['Ready']], ['False GatewaysCutOff', 'True']);
    assert.match(
      status.conditions?.find(({ type }) => type === 'GatewaysReady')?.message ?? '',
      /^n1 \(172\.30\.1\.11\) and n2 \(172\.30\.1\.12\) are running but do not receive packets from each other: let udp 6081 pass both ways/,
    );
    const uncertain = cuts.map(({ pair }) => ({ pair, sinceMs: undefined }));
    assert.equal(conditions({ cuts: uncertain })['GatewaysReady'], 'True');
    assert.equal(conditions({ cuts, isDead: (chassis) => chassis === 'a2' })['GatewaysReady'], 'False Lost');
  });
});

describe('a RemoteCluster', () => {
  const render = (state = stateOf(), fields: Partial<Situation> = {}, before: RemoteClusterStatus = {}) =>
    renderRemoteCluster(state.member, state, situation(state, fields), before);
  it('is Ready with all its paths up', () => {
    const status = render();
    assert.deepEqual([status.phase, status.pathsUp, status.routesActive], ['Ready', '2/2', 1]);
    assert.deepEqual(
      status.paths?.map(({ localGateway, remoteGateway }) => [localGateway, remoteGateway]),
      [
        ['a1', 'b1'],
        ['a2', 'b2'],
      ],
    );
    assert.equal(status.routes?.length, 2);
  });
  it('is Degraded, Unreachable, Stale, Conflicted or Joining, by its paths, member and gateways', () => {
    assert.equal(render(stateOf({ verdicts: verdicts(['ts1']) })).phase, 'Degraded');
    assert.equal(render(stateOf({ verdicts: verdicts(['ts', 'ts1']), isUnreachable: true })).phase, 'Unreachable');
    assert.equal(render(stateOf({ member: { ...west, connected: false } })).phase, 'Stale');
    assert.equal(render(stateOf({ member: { ...west, gateways: [] } })).phase, 'Joining');
    const ports = [port('west', 2, 0, { gateways: ['b1'] })];
    assert.equal(render(stateOf({ member: { ...west, ports } })).phase, 'Joining');
    const refused = new Map([['b1', { code: 'DuplicateChassis', message: 'm' }]]);
    assert.equal(render(stateOf({ gateways: { ...noGateways, refused } })).phase, 'Conflicted');
  });
  it('names the cause if its gateways cannot be used, not the missing tunnels', () => {
    const problem = { code: 'DuplicateEncap', message: 'b1 has the address of a1' };
    const refused = new Map(['b1', 'b2'].map((chassis) => [chassis, problem]));
    const state = stateOf({ verdicts: verdicts([], refused), isUnreachable: true });
    const status = render({ ...state, gateways: { ...noGateways, refused } });
    assert.deepEqual([status.phase, conditionsOf(status)['Ready']], ['Unreachable', 'False DuplicateEncap']);
    assert.equal(messageOf(status, 'Ready'), problem.message);
  });
  it('shows the measurements of its gateways, and reports when packets of the needed size do not pass', () => {
    const probe = {
      chassis: 'b1',
      address: '172.30.2.11',
      lossPercent: 20,
      mtu: 1400,
      at,
      rttMs: { min: 1, avg: 1.234, max: 2 },
    };
    const gatewayOf = (chassis: string) => gatewayObject(chassis, { probes: [probe] });
    const status = render(stateOf(), { gatewayOf });
    assert.deepEqual(
      [status.paths?.[0]?.rttMs, status.paths?.[0]?.lossPercent, status.paths?.[0]?.mtu],
      [1.2, 20, 1400],
    );
    assert.equal(conditionsOf(status)['PathMTU'], 'False PathMTUTooSmall');
    assert.equal(conditionsOf(render())['PathMTU'], 'Unknown NotMeasured');
  });
  it('is the same after a restart: unchanged conditions keep their times', () => {
    const before = render(stateOf(), { nowMs: 0 });
    assert.ok(isSameJson(render(stateOf(), {}, before), before));
    const down = render(stateOf({ verdicts: verdicts(['ts1']) }), {}, before);
    assert.deepEqual(
      down.paths?.map(({ since }) => since),
      [new Date(0).toISOString(), at],
    );
  });
  it('keeps the published time of a path while probes say the same, so that a process that starts publishes no other', () => {
    const timed = (avg: number, before?: RemoteClusterStatus) => {
      const probes = ['b1', 'b2'].map((chassis) => {
        return { chassis, address: '', lossPercent: 0, mtu: 1500, at, rttMs: { min: avg, avg, max: avg } };
      });
      return render(stateOf(), { gatewayOf: (chassis) => gatewayObject(chassis, { probes }) }, before);
    };
    const published = timed(4.02);
    assert.ok(isSameJson(timed(5.9, published), published));
    assert.ok(isSameJson(timed(2.5, published), published));
    assert.equal(timed(9.37, published).paths?.[0]?.rttMs, 9.4);
    const moved = (published.paths ?? []).map((path) => ({ ...path, remoteGateway: 'b9' }));
    assert.equal(timed(5.9, { ...published, paths: moved }).paths?.[0]?.rttMs, 5.9);
  });
  it('is written at once when its state changes, and rarely when only measurements change', () => {
    const before = render();
    const measured = { ...before, paths: (before.paths ?? []).map((path) => ({ ...path, rttMs: 9 })) };
    assert.ok(isSameJson(withoutMeasures(before), withoutMeasures(measured)));
    assert.ok(!isSameJson(withoutMeasures(before), withoutMeasures({ ...before, phase: 'Stale' })));
  });
});

describe('a TransitSwitch', () => {
  const render = (fields: Partial<Situation> = {}) => renderTransitSwitch('ts', situation(stateOf(), fields), {}, 1);
  it('shows each path with the state of this end', () => {
    const paths = [ownPath(0, { phase: 'draining' }), ownPath(1, { holder: 'a1' })];
    const status = render({ networks: new Map([['ts', network(paths)]]) });
    assert.deepEqual(
      status.paths?.map(({ state, holder }) => [state, holder]),
      [
        ['Draining', 'a1'],
        ['FailedOver', 'a1'],
      ],
    );
    assert.equal(status.activeGateways, 'a1');
    assert.deepEqual(status.clusters, [{ name: 'west', address: '100.100.0.2/19' }]);
  });
  it('reports why this cluster does not take part', () => {
    assert.equal(conditionsOf(render({ local: undefined, networks: new Map() }))['Ready'], 'False NotJoined');
    assert.equal(conditionsOf(render({ networks: new Map() }))['Ready'], 'False WaitingForHub');
    const rejections = [
      {
        kind: 'transit-switch' as const,
        value: 'ts',
        code: 'ClusterNotListed',
        message: 'm',
        holder: '',
        transitSwitch: 'ts',
      },
    ];
    assert.equal(conditionsOf(render({ networks: new Map(), rejections }))['Ready'], 'False ClusterNotListed');
    const transitRequests = local.transitRequests.map((request) => ({
      ...request,
      vpcProblem: { code: 'VpcNotFound', message: 'm' },
    }));
    assert.equal(
      conditionsOf(render({ networks: new Map(), local: { ...local, transitRequests } }))['Ready'],
      'False VpcNotFound',
    );
  });
});

describe('an InterconnectGateway', () => {
  const render = (fields: Partial<Situation> = {}, object?: GatewayObject) => {
    const one = situation(stateOf(), fields);
    return renderGateway('n1', object, one, peersOf(one));
  };
  it('names its chassis, the paths it holds and the gateways of others', () => {
    const status = render();
    assert.deepEqual([status.chassis, status.address, status.paths], ['a1', '172.30.1.11', ['ts/0']]);
    assert.deepEqual(status.peers, [
      { chassis: 'b1', cluster: 'west', address: '172.30.2.11' },
      { chassis: 'b2', cluster: 'west', address: '172.30.2.12' },
    ]);
    assert.equal(conditionsOf(status)['Ready'], 'True');
    assert.ok(!('tunnels' in status) && !('probes' in status), 'what the daemon writes is not its own');
  });
  it('names the other gateways of its cluster, and those from which it is cut off', () => {
    const siblings = [{ chassis: 'a2', address: '172.30.1.12' }];
    assert.deepEqual(render().siblings, siblings);
    const cuts = [{ pair: ['a1', 'a2'] as const, sinceMs: 1 }];
    const watched = siblings.map((sibling) => ({ ...sibling, cutOff: true }));
    assert.deepEqual(render({ cuts }).siblings, watched);
    assert.deepEqual(render({ cuts, isDead: () => true }).siblings, watched, 'whether it returns, it has to tell');
  });
  it('reports problems of its chassis and its paths', () => {
    assert.equal(conditionsOf(render({ local: { ...local, chassis: new Map() } }))['Ready'], 'False ChassisUnknown');
    assert.equal(conditionsOf(render({ isDead: () => true }))['Ready'], 'False Lost');
    const probes = [{ chassis: 'b1', address: '172.30.2.11', lossPercent: 0, mtu: 1400, at }];
    const status = render({}, gatewayObject('a1', { probes }));
    assert.match(
      status.conditions?.find(({ type }) => type === 'PathMTU')?.message ?? '',
      /1400.*n1 to b1 of west.*1500/,
    );
    const silent = [{ chassis: 'b1', address: '172.30.2.11', lossPercent: 100, at }];
    assert.equal(conditionsOf(render({}, gatewayObject('a1', { probes: silent })))['PathMTU'], 'Unknown NotMeasured');
  });
});
