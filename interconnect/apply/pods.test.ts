import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { RemotePod } from '../../lib/api/kinds/remote-pod-slice.ts';
import { remotePeerOf, type RemotePeer } from '../../lib/policies/remote-peers.ts';
import { peerId } from '../../lib/policies/selection.ts';
import { noEdges } from '../model/edges.ts';
import type { Member } from '../model/messages.ts';
import type { PodSetChange, WantedSet } from '../model/pod-sets.ts';
import { local } from '../model/testing.ts';
import { SelectedPods } from '../settle/pods/selected-pods.ts';
import type { RouteUse } from '../settle/route-use.ts';
import { routeTo } from '../settle/services/testing.ts';
import { RemotePods } from '../state/remote-pods.ts';
import { Pods, type PodsOptions } from './pods.ts';

const peer = remotePeerOf(
  peerId('shop', {
    namespaces: undefined,
    pods: { matchLabels: { app: 'db', 'isthmus.network/cluster': 'west' } },
  }),
) as RemotePeer;
const { set } = peer;
const vpc = [...local.vpcs.keys()][0] ?? '';
const spec = { sharePods: { enabled: true, namespaceSelector: {} } } as unknown as InterconnectSpec;
const own = { attachments: [] };
const nothing = { changed: new Set<string>(), gone: new Set<string>(), isComplete: true };

describe('pods of other clusters in a round', () => {
  let pods: Pods;
  let remote: RemotePods;
  let uses: Map<string, { uses: readonly RouteUse[] }>;
  let members: Map<string, Partial<Member>>;
  let hub: { members: Map<string, Partial<Member>>; expected: Set<string>; isComplete: boolean; updates: number };
  let arePodsSettled: boolean;
  let sent: (readonly WantedSet[])[];
  let slices: Map<string, { owner: { name: string }; entries: readonly RemotePod[] }>;
  let policies: Map<string, readonly RemotePeer[]>;

  const start = (): void => {
    remote = new RemotePods();
    sent = [];
    const none = { entries: () => new Map<string, readonly RemotePeer[]>().entries() };
    const options = {
      watch: { start: () => undefined, isSynced: true },
      sources: {
        namespaces: { get: () => undefined, entries: () => new Map().entries() },
        networkPolicyPeers: { entries: () => policies.entries() },
        clusterPolicyPeers: none,
        adminPolicyPeers: none,
        baselinePolicyPeers: none,
        remotePodSlices: { entries: () => slices.entries() },
        subnets: none,
      },
      clusters: { hub, pods: remote },
      remotes: { view: uses },
      membership: {
        sendPods: (wanted: readonly WantedSet[]) => sent.push(wanted),
        get arePodsSettled() {
          return arePodsSettled;
        },
      },
      selected: new SelectedPods(),
    };
    pods = new Pods(options as unknown as PodsOptions);
  };
  const round = (changed: readonly string[] = []): readonly string[] => {
    pods.observe(spec, local, own);
    pods.apply(local, noEdges, { ...nothing, changed: new Set(changed) } as never);
    return (pods.entries?.get('west') ?? []).map(
      ({ vpc: where, address, since = '', reason = '' }) => `${where} ${address} ${since}${reason}`,
    );
  };
  const receive = (change: Partial<PodSetChange>): void => {
    const whole = { id: set, isWhole: true, added: [], removed: [], refusal: '', ...change };
    const update = { member: 'west', changed: [whole], removed: [] };
    assert.ok(remote.apply({ revision: 1, asked: null, members: [update], rejections: null }));
  };

  beforeEach(() => {
    uses = new Map([['west', { uses: [routeTo('10.17.0.0/16')] }]]);
    members = new Map([['west', { name: 'west', foreign: false, connected: true, lastSeenMs: 0 }]]);
    hub = { members, expected: new Set(), isComplete: true, updates: 1 };
    arePodsSettled = true;
    slices = new Map();
    policies = new Map([['shop/db', [peer]]]);
    start();
  });

  it('are asked for, and are those that have arrived', () => {
    assert.deepEqual(round(['west']), []);
    assert.deepEqual(sent.at(-1), [{ id: set, selector: peer.selector, clusters: ['west'] }]);
    assert.deepEqual(pods.stateOf('west'), {
      wanted: 1,
      pending: 1,
      refusals: new Map(),
      since: undefined,
      isUnsupported: false,
    });
    receive({ added: ['10.17.0.2'] });
    assert.deepEqual(round(), ['  ', `${vpc} 10.17.0.2 `]);
    assert.equal(pods.stateOf('west')?.pending, 0);
    receive({ isWhole: false, added: ['10.17.0.3'], removed: ['10.17.0.2'] });
    assert.deepEqual(round(), ['  ', `${vpc} 10.17.0.3 `]);
    assert.equal(
      remote.apply({
        revision: 1,
        asked: null,
        rejections: null,
        members: [
          { member: 'north', removed: [], changed: [{ id: set, isWhole: false, added: [], removed: [], refusal: '' }] },
        ],
      }),
      false,
      'a change of a set that is not known',
    );
  });

  it('have addresses that are their cluster’s in the VPC, whatever a member or a hub says', () => {
    receive({ added: ['10.17.0.2', '10.18.0.2', '10.16.0.5'] });
    assert.deepEqual(round(['west']), ['  ', `${vpc} 10.17.0.2 `]);
    uses.set('north', { uses: [routeTo('10.17.0.0/24')] });
    assert.deepEqual(round(['north']), ['  '], 'a more specific prefix is another cluster’s');
  });

  it('stay while all paths are down, and while their cluster is away, with the time', () => {
    receive({ added: ['10.17.0.2'] });
    round(['west']);
    const use = routeTo('10.17.0.0/16');
    const down = { ...use, hops: use.hops.map((hop) => ({ ...hop, isUsed: false })) };
    uses.set('west', { uses: [down] });
    assert.deepEqual(round(['west']), ['  ', `${vpc} 10.17.0.2 `]);
    members.set('west', { name: 'west', foreign: false, connected: false, lastSeenMs: 1000 });
    assert.deepEqual(round(['west']), ['  1970-01-01T00:00:01.000Z', `${vpc} 10.17.0.2 `]);
    assert.deepEqual([...pods.takeNews()], ['west']);
    assert.equal(pods.stateOf('west')?.since, '1970-01-01T00:00:01.000Z');
    // The hub started again and expects it.
    members.delete('west');
    hub.expected.add('west');
    hub.updates += 1;
    assert.deepEqual(round(), ['  1970-01-01T00:00:01.000Z', `${vpc} 10.17.0.2 `]);
  });

  it('are what an earlier process wrote, until the hub sends them anew', () => {
    const written = [
      { set, vpc: '', address: '' },
      { set, vpc, address: '10.17.0.2' },
    ];
    slices.set('west.0', { owner: { name: 'west' }, entries: written });
    hub.isComplete = false;
    start();
    pods.observe(spec, local, own);
    assert.deepEqual(
      [pods.entries, sent],
      [undefined, []],
      'before the hub has answered, nothing is written or asked for',
    );
    hub.isComplete = true;
    round(['west']);
    assert.deepEqual(pods.entries?.get('west'), written);
    assert.equal(pods.stateOf('west')?.pending, 0);
    receive({ added: ['10.17.0.9'] });
    assert.deepEqual(round(), ['  ', `${vpc} 10.17.0.9 `]);
  });

  it('end with the policies that name them, and say why they are not sent', () => {
    receive({ refusal: 'NotShared' });
    assert.deepEqual(round(['west']), ['  NotShared']);
    assert.deepEqual(pods.stateOf('west')?.refusals, new Map([['NotShared', 1]]));
    policies.clear();
    pods.policiesChanged();
    assert.deepEqual(round(), []);
    assert.deepEqual([sent.at(-1), pods.stateOf('west'), remote.get('west', set)], [[], undefined, undefined]);
    policies.set('shop/db', [peer]);
    pods.withdraw();
    assert.equal(pods.entries, undefined);
  });

  it('end with the membership of their cluster: one that joins under its name has none of them', () => {
    receive({ added: ['10.17.0.2'] });
    round(['west']);
    members.delete('west');
    hub.updates += 1;
    assert.deepEqual(round(), []);
    assert.deepEqual([sent.at(-1), pods.entries?.has('west'), remote.get('west', set)], [[], false, undefined]);
    members.set('west', { name: 'west', foreign: false, connected: true, lastSeenMs: 0 });
    hub.updates += 1;
    assert.deepEqual(round(), []);
    assert.equal(pods.stateOf('west')?.pending, 1);
  });

  it('are not forgotten before the hub knows that they are not wanted: changes of them may be on the way', () => {
    receive({ added: ['10.17.0.2'] });
    round(['west']);
    arePodsSettled = false;
    policies.clear();
    pods.policiesChanged();
    assert.deepEqual(round(), [], 'no policy names them');
    receive({ isWhole: false, added: ['10.17.0.3'] });
    policies.set('shop/db', [peer]);
    pods.policiesChanged();
    assert.deepEqual(round(), ['  ', `${vpc} 10.17.0.2 `, `${vpc} 10.17.0.3 `]);
    policies.clear();
    pods.policiesChanged();
    round();
    arePodsSettled = true;
    round();
    assert.equal(remote.get('west', set), undefined);
  });
});
