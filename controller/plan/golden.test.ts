import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Desired } from '../../lib/desired/row.ts';
import {
  kindsOf,
  mostGoldenLines,
  patternOf,
  readCase,
  renderGolden,
  rowsOf,
  shownOf,
} from '../../lib/testing-golden.ts';
import { monitor } from '../apply/northbound.ts';
import type { Kinds } from '../model/objects.ts';
import type { Capabilities } from '../model/view.ts';
import { TestCluster } from '../testing-cluster.ts';
import { allApplied } from '../testing-reports.ts';
import { joinSliced, type SlicedView } from '../../lib/slices/slice.ts';
import { bgpNodeStateView } from '../watch/bgp.ts';
import { kinds, remotePodView } from '../watch/kinds.ts';
import { remoteClusterView } from '../watch/networks.ts';
import { ownEntries } from './own-keys.ts';
import { planKey, reportKey } from './plan.ts';

const folder = join(import.meta.dirname, 'testdata');

const byKind = new Map(
  Object.entries(kinds)
    // Beside the RemoteCluster itself.
    .filter(([name]) => name !== 'remotePods')
    .map(([name, { resource }]) => [resource.kind, name as keyof Kinds]),
);
/** Kinds with slices, which are other objects of the case. */
const withSlices: Readonly<Partial<Record<keyof Kinds, (raw: RawObject, all: readonly RawObject[]) => unknown>>> = {
  remoteClusters: joined(remoteClusterView),
  bgpNodeStates: joined(bgpNodeStateView),
};

function joined<Entry, Merged, T>(view: SlicedView<Entry, Merged, T>) {
  return (raw: RawObject, all: readonly RawObject[]): T | undefined =>
    joinSliced(view, [raw], all).get(raw.metadata.name);
}

function load(cluster: TestCluster, raw: RawObject, all: readonly RawObject[]): void {
  if (raw.kind === 'RemoteRouteSlice' || raw.kind === 'BgpRouteSlice') return;
  if (raw.kind === 'RemotePodSlice') return;
  const kind = byKind.get(raw.kind ?? '');
  if (kind === undefined) throw new Error(`a case has no use for ${raw.kind}`);
  const { name, namespace } = raw.metadata;
  if (kind === 'remoteClusters') cluster.change('remotePods', name, joined(remotePodView)(raw, all));
  const value = (withSlices[kind] ?? kinds[kind].parse)(raw, all);
  cluster.change(kind, namespace === undefined ? name : `${namespace}/${name}`, value as Kinds[typeof kind]);
}

/** What Kubernetes should hold about one key: a line for each part of a report, condition and event. */
function reportsOf(cluster: TestCluster, key: string): readonly unknown[] {
  return reportKey(cluster, key, allApplied).flatMap(({ object, corrections = [], status, events = [], ...parts }) => {
    const { fields, conditions = [], events: later = [], ...how } = status ?? {};
    const lines = [
      ...Object.entries(parts),
      ...(fields === undefined ? [] : [['status', { ...fields, ...how }] as const]),
      ...conditions.map((condition) => ['condition', condition] as const),
      ...[...corrections, ...events, ...later].map((event) => ['event', event] as const),
    ];
    return lines.map(([part, value]) => ({ [`${part} of ${object.kind} ${object.name}`]: value }));
  });
}

/** What is written must be seen, too. */
function checkMonitored(desired: Desired): void {
  for (const { table, columns, initial, parent } of desired.rows) {
    const seen = monitor[table] ?? [];
    for (const column of Object.keys({ ...columns, ...initial }))
      assert.ok(seen.includes(column), `${table}.${column}`);
    if (parent !== undefined) assert.ok(monitor[parent.table]?.includes(parent.column), parent.column);
  }
  for (const { table, columns } of desired.rows)
    for (const [column, value] of Object.entries(columns)) {
      const isOwn = ownEntries(table, column);
      if (isOwn === undefined || value === null || typeof value !== 'object') continue;
      for (const [entry, atom] of Object.entries(value))
        assert.ok(isOwn(entry, atom as string), `${entry} in ${table}.${column} would never be taken out`);
    }
  for (const { table, column } of desired.contributions ?? [])
    assert.ok(monitor[table]?.includes(column), `${table}.${column}`);
}

type Planned = Readonly<Record<'rows' | 'reports', Readonly<Record<string, unknown>>>>;

function planAll(all: readonly RawObject[]): Planned {
  const able = all.find(({ kind }) => kind === 'Capabilities');
  const objects = all.filter((object) => object !== able);
  const cluster = new TestCluster(able === undefined ? undefined : (able['spec'] as Capabilities));
  for (const object of objects) load(cluster, object, objects);
  cluster.restore(new Map());
  const keys = [...cluster.settle()].sort();
  const rows = keys
    .map((key) => [key, planKey(cluster, key)] as const)
    .filter(([, desired]) => desired.rows.length > 0 || (desired.contributions?.length ?? 0) > 0);
  for (const [, desired] of rows) checkMonitored(desired);
  const reports = keys.map((key) => [key, reportsOf(cluster, key)] as const).filter(([, lines]) => lines.length > 0);
  return {
    rows: Object.fromEntries(rows.map(([key, desired]) => [key, rowsOf(desired)])),
    reports: Object.fromEntries(reports),
  };
}

const cases = globSync('*.in.yaml', { cwd: folder })
  .sort()
  .map((path) => readCase(basename(path, '.in.yaml'), readFileSync(join(folder, path), 'utf8')));

describe('plans', () => {
  /** Kinds of rows and fields of statuses, by feature: in any case, and in any golden. */
  const [planned, seen] = [new Set<string>(), new Set<string>()];

  for (const { name, objects, goldens } of cases)
    test(name, (context) => {
      const whole = planAll(objects);
      for (const kind of kindsOf(whole)) planned.add(kind);
      for (const golden of goldens) {
        const shown = { rows: shownOf(whole.rows, golden.keys), reports: shownOf(whole.reports, golden.keys) };
        for (const kind of kindsOf(shown)) seen.add(kind);
        const text = renderGolden(shown);
        context.assert.fileSnapshot(text, join(folder, `${golden.name}.out.yaml`), { serializers: [String] });
        assert.ok(
          text.split('\n').length - 1 <= mostGoldenLines,
          `${golden.name} has more than ${mostGoldenLines} lines`,
        );
        const names = Object.keys({ ...whole.rows, ...whole.reports });
        for (const key of golden.keys)
          assert.ok(
            names.some((one) => patternOf(key).test(one)),
            `${golden.name} names ${key}, which is not planned`,
          );
      }
      const text = JSON.stringify(whole, undefined, 1);
      // OVN expands several of these into all combinations of their bits.
      assert.doesNotMatch(text, /(src|dst) != (?!\d+ )/, 'a match names the networks that it is not about');
      for (let turn = 1; turn < objects.length; turn += 1) {
        const turned = planAll([...objects.slice(turn), ...objects.slice(0, turn)]);
        assert.equal(JSON.stringify(turned, undefined, 1), text, 'the plan depends on the order of events');
      }
      assert.equal(
        JSON.stringify(planAll(objects.toReversed()), undefined, 1),
        text,
        'the plan depends on the order of events',
      );
    });

  test('are in the goldens with each kind of row and status, and no golden is left over', () => {
    assert.deepEqual([...planned].filter((kind) => !seen.has(kind)).sort(), []);
    const names = cases.flatMap(({ goldens }) => goldens.map(({ name }) => `${name}.out.yaml`));
    assert.deepEqual(globSync('*.out.yaml', { cwd: folder }).sort(), names.sort());
  });
});
