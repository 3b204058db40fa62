import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../lib/testing-eventually.ts';
import { exported } from '../model/testing-exports.ts';
import type { PathSummary } from '../model/messages.ts';
import { attachment, HubBed } from './hub-bed.ts';
import type { MemberFigures } from './model/store.ts';
import { acceptReport } from './settle/path-report.ts';
import { renderMember } from './status/member.ts';
import { noLimits } from './model/store.ts';

const west: PathSummary = { cluster: 'west', paths: 2, up: 2, state: 'Up', reason: '', sinceMs: 1_767_225_600_000 };

describe('figures of a member', () => {
  const bed = new HubBed();
  before(() => bed.up());
  after(() => bed.down());
  const untilFigures = async (handle: string, wanted: Partial<MemberFigures>): Promise<void> => {
    await eventually(`figures of ${handle}`, () => {
      assert.deepEqual({ ...bed.store.figures.get(handle), ...wanted }, bed.store.figures.get(handle));
      return true;
    });
  };

  it('count what the hub accepted and refused, and have what the member reports of its paths', async () => {
    const first = await bed.member('west');
    await first.sendAttachments([attachment(['10.17.0.0/16'])], 'w1', '172.30.0.21');
    const east = await bed.member('east');
    await east.sendAttachments([attachment(['10.16.0.0/16', '10.17.1.0/24'])], 'e1', '172.30.0.11');
    await east.sendExports([exported('shop/web', ['10.16.0.1']), exported('shop/db', ['10.99.0.1'])], ['shop']);
    east.sendPaths({ version: '0.1.0', clusters: 1, clustersUp: 1, listed: [west] });
    await untilFigures('east', {
      prefixes: 1,
      exports: 2,
      rejections: 2,
      report: { version: '0.1.0', clusters: 1, clustersUp: 1, listed: [west] },
    });
    await untilFigures('west', { prefixes: 1, exports: undefined, rejections: 0, report: undefined });
  });

  it('say of a member of an earlier release that it does not report', async () => {
    const south = await bed.member('south');
    await south.sendState({ gateways: [], attachments: [], unreachable: [], tellsExports: false, tellsPaths: false });
    await untilFigures('south', { prefixes: 0, exports: 0, rejections: 0, report: null });
  });

  it('are shown to others with whether its agent sends pods', async () => {
    const [watcher, north] = [await bed.member('watcher'), await bed.member('north')];
    const state = { gateways: [], attachments: [], unreachable: [], tellsExports: true, tellsPaths: true };
    await watcher.sendState({ ...state, tellsPods: true });
    const untilShown = (lacksPods: boolean): Promise<void> =>
      watcher.until(() => watcher.members.get('north')?.lacksPods === lacksPods);
    await north.sendState({ ...state, tellsPods: true });
    await untilShown(false);
    await north.sendState(state);
    await untilShown(true);
    north.close();
    const again = await bed.member('north');
    await again.sendState({ ...state, tellsPods: true });
    await untilShown(false);
  });
});

describe('a report of paths', () => {
  const known = (name: string) => name === 'west' || name === 'north';

  it('is accepted without what no member of ours sends', () => {
    const forged: readonly PathSummary[] = [
      west,
      { ...west, up: 0 },
      { ...west, cluster: 'elsewhere' },
      { ...west, cluster: 'north', up: 3 },
      { ...west, cluster: 'north', state: '\u001B[2J' },
      { ...west, cluster: 'north', up: 0, state: 'Down', reason: 'a\nb', sinceMs: 1e300, encryption: '\u001B[2J' },
    ];
    const report = acceptReport({ version: '1.0\u001B', clusters: 2, clustersUp: 1, listed: forged }, known);
    assert.deepEqual(report, {
      version: 'unknown',
      clusters: 2,
      clustersUp: 1,
      listed: [west, { ...west, cluster: 'north', up: 0, state: 'Down', sinceMs: 0 }],
    });
  });

  it('has no time that the API server would refuse, with the whole status', () => {
    const late = { ...west, sinceMs: Date.UTC(10_000, 0, 1), encryption: 'off' };
    const report = acceptReport({ version: '1', clusters: 1, clustersUp: 1, listed: [late] }, known);
    assert.deepEqual(report.listed, [{ ...west, sinceMs: 0, encryption: 'off' }]);
  });

  it('stays in the status while the hub does not know it, and goes with a member that does not report', () => {
    const report = { version: '1', clusters: 2, clustersUp: 1, listed: [west, { ...west, cluster: 'n', sinceMs: 0 }] };
    const facts = { spec: noLimits, ports: [], presence: { state: 'Connected', lastSeenMs: 0 }, nowMs: 0 } as const;
    const unknown = { prefixes: undefined, exports: undefined, rejections: undefined, report: undefined };
    const first = renderMember({}, { ...facts, figures: { prefixes: 2, exports: 1, rejections: 0, report } });
    const second = renderMember(first, { ...facts, figures: unknown });
    assert.deepEqual(second, first);
    assert.deepEqual(first.report?.paths, [
      { cluster: 'west', paths: 2, up: 2, state: 'Up', since: '2026-01-01T00:00:00.000Z' },
      { cluster: 'n', paths: 2, up: 2, state: 'Up' },
    ]);
    const third = renderMember(first, { ...facts, figures: { ...unknown, report: null } });
    assert.deepEqual(['report' in third, third.prefixes], [false, 2]);
  });
});
