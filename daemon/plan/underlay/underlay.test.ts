/** Goldens: ProviderNetworks, a node and its interfaces → the decision for each network. `--test-update-snapshots` rewrites them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import type { RawObject } from '../../../lib/kube/types.ts';
import { parseMove } from '../../ovs/nic-move.ts';
import type { LocalBridge, NetworkReport, NicMove } from '../../model/provider-network.ts';
import type { Nic } from '../../model/nic.ts';
import { parseNode } from '../../watch/node.ts';
import { parseProviderNetwork } from '../../watch/provider-network.ts';
import { decideNetwork } from '../../settle/provider-network.ts';
import { planNodeMarks } from './labels.ts';
import { beginMove, defaultGateways, describeMove, formatMove } from './move.ts';
import { planBridgeRows, planMappings, planRoutedBridge } from './rows.ts';
import { plainNic } from './testing.ts';

interface Case {
  readonly node: RawObject;
  readonly networks: readonly RawObject[];
  readonly nics: readonly Partial<Nic>[];
  readonly bridges?: Readonly<Record<string, Partial<LocalBridge>>>;
  readonly mappings?: string;
  readonly ownMappings?: string;
  readonly routerMacs?: string;
  readonly ownRouterMacs?: string;
  readonly moves?: readonly NicMove[];
}

const folder = join(import.meta.dirname, 'testdata');

function plan(input: Case): object {
  const node = parseNode(input.node);
  const networks = input.networks.map(parseProviderNetwork);
  const nics = new Map(input.nics.map((nic, index) => [nic.name ?? '', { ...plainNic, name: '', index, ...nic }]));
  const bridges = Object.entries(input.bridges ?? {}).map(
    ([name, bridge]) => [name, { ports: [], owner: undefined, vendor: undefined, move: undefined, ...bridge }] as const,
  );
  const { mappings = '', ownMappings = '', routerMacs = '', ownRouterMacs = '' } = input;
  const ovs = { bridges: new Map(bridges), mappings, ownMappings, routerMacs, ownRouterMacs };
  const moves = new Map((input.moves ?? []).map((move) => [move.network, move]));
  const reports: NetworkReport[] = [];
  const decisions = networks.map(({ name }) => {
    const decision = decideNetwork(name, { networks, node, nics, ovs, moves, mtu: 1400 });
    const nic = decision.kind === 'absent' ? undefined : nics.get(decision.nic);
    const begun =
      nic && beginMove(name, nic, { nics, wish: 'w', checks: { gateways: defaultGateways(nic), api: true } });
    const problem = 'problem' in decision ? decision.problem : undefined;
    const isReady = decision.kind === 'join' || decision.kind === 'route';
    if (decision.kind !== 'absent')
      reports.push({
        network: name,
        isReady,
        nic: isReady ? (nic ?? { name: decision.nic, mtu: 1400 }) : undefined,
        problem,
        plan: undefined,
      });
    if (decision.kind === 'route')
      return { network: name, ...decision, rows: planRoutedBridge(name, 'netdev', decision.mtu).rows };
    if (decision.kind !== 'join' || begun === undefined)
      return {
        network: name,
        ...decision,
        ...(decision.kind === 'dryRun' && begun ? { says: describeMove(begun) } : {}),
      };
    assert.deepEqual(parseMove(formatMove(begun)), begun, 'what is written down is read back the same');
    return { network: name, ...decision, says: describeMove(begun), rows: planBridgeRows(begun, 'netdev', true).rows };
  });
  const joined = reports.filter(({ isReady }) => isReady).map(({ network }) => network);
  const observed = { labels: node.labels, annotations: node.networkNotes };
  return {
    decisions,
    mappings: planMappings(joined, 'n1', ovs).contributions,
    marks: planNodeMarks(reports, new Set(), observed),
  };
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.in.yaml')))
  test(`golden ${file}`, (t) => {
    const input = parse(readFileSync(join(folder, file), 'utf8')) as Case;
    t.assert.fileSnapshot(plan(input), join(folder, file.replace('.in.', '.out.')), {
      serializers: [(value: unknown) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })],
    });
  });

test('marks that the Node has are not written again; those of a network that is not known yet stay', () => {
  const report = {
    network: 'net',
    isReady: true,
    nic: { name: 'eth1', mtu: 1500 },
    problem: undefined,
    plan: undefined,
  };
  const first = planNodeMarks([report], new Set(), { labels: {}, annotations: {} });
  const labels = first?.labels as Record<string, string>;
  assert.deepEqual(Object.values(labels).toSorted(), ['1500', 'eth1', 'true']);
  assert.equal(planNodeMarks([report], new Set(), { labels, annotations: {} }), undefined);
  assert.equal(planNodeMarks([], new Set(['net']), { labels, annotations: {} }), undefined);
  const gone = planNodeMarks([], new Set(), { labels: { ...labels, other: 'x' }, annotations: {} });
  assert.deepEqual(Object.values(gone?.labels ?? {}), [null, null, null]);
});

test('a record that was damaged in the database is no move', () => {
  for (const text of [undefined, '', '{', '{}', '{"phase":"joined"}']) assert.equal(parseMove(text), undefined);
});
