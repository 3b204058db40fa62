import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HubMemberStatus } from '../../../lib/api/kinds/hub-member.ts';
import type { MeshReading } from '../../model/mesh.ts';
import { renderMesh } from '../../render/mesh/mesh.ts';
import { paintFor } from '../../render/paint.ts';
import { ago, nowMs } from '../../testing-snapshots.ts';
import { meshOf } from './mesh.ts';
import { findMember, lossOf, refuseRemoval } from './removal.ts';

const hour = 3_600_000;

function member(
  name: string,
  status: Partial<HubMemberStatus> = {},
  connected = 'Connected',
): MeshReading['members'][number] {
  const is = connected === 'Connected' ? 'True' : 'False';
  const conditions = [
    { type: 'Connected', status: is, reason: connected, message: '', lastTransitionTime: ago(hour) } as const,
  ];
  return {
    name,
    handle: name,
    uid: `uid-${name}`,
    isDeleting: false,
    allowedPrefixes: [],
    maxPrefixes: 10_000,
    status: {
      conditions,
      fingerprint: 'f',
      joined: ago(48 * hour),
      prefixes: 1,
      exports: 2,
      rejections: 0,
      ...(connected === 'Connected' ? {} : { lastSeen: ago(2 * hour) }),
      ...status,
    },
  };
}

const reading = (...members: MeshReading['members']): MeshReading => ({ label: 'east', nowMs, members });
const path = (cluster: string, up = 2, rest: object = {}) => ({
  cluster,
  paths: 2,
  up,
  state: up === 2 ? 'Up' : 'Down',
  since: ago(hour),
  ...rest,
});
const report = (...paths: ReturnType<typeof path>[]) => ({
  version: '0.1.0',
  clusters: paths.length,
  clustersUp: paths.filter(({ up }) => up === 2).length,
  paths,
});
const pairsOf = (mesh: ReturnType<typeof meshOf>) =>
  mesh.pairs.map(
    ({ clusters, state, sides }) => `${clusters.join('-')} ${state} ${sides.map((side) => side.state).join('/')}`,
  );

describe('the mesh', () => {
  it('is well when all members are connected and all pairs are up', () => {
    const mesh = meshOf(
      reading(member('east', { report: report(path('west')) }), member('west', { report: report(path('east')) })),
    );
    assert.equal(mesh.isWell, true);
    assert.deepEqual(pairsOf(mesh), ['east-west up up/up']);
    const [side] = mesh.pairs[0]?.sides ?? [];
    assert.deepEqual([side?.up, side?.paths, side?.sinceMs], [2, 2, nowMs - hour]);
  });

  it('names the worse of both reports, and the pairs that are not up first', () => {
    const mesh = meshOf(
      reading(
        member('a', { report: report(path('b'), path('c', 1)) }),
        member('b', { report: report(path('a'), path('c', 0, { reason: 'TunnelDown' })) }),
        member('c', { report: report(path('a'), path('b')) }),
      ),
    );
    assert.deepEqual(pairsOf(mesh), ['b-c down down/up', 'a-c degraded degraded/up', 'a-b up up/up']);
    assert.equal(mesh.isWell, false);
  });

  it('counts the present report of one member more than the last one of another that is away', () => {
    const mesh = meshOf(
      reading(member('a', { report: report(path('b', 0)) }), member('b', { report: report(path('a')) }, 'Absent')),
    );
    assert.deepEqual(pairsOf(mesh), ['a-b down down/up']);
    assert.deepEqual(
      mesh.pairs[0]?.sides.map(({ isOld }) => isOld),
      [false, true],
    );
    assert.deepEqual(
      mesh.members.map(({ presence }) => presence),
      ['connected', 'away'],
    );
  });

  it('says what is not reported: by an agent of an earlier release, or because more clusters are reported than fit', () => {
    const listed = { version: '0.1.0', clusters: 3, clustersUp: 3, paths: [path('b')] };
    const cut = { version: '0.1.0', clusters: 3, clustersUp: 0, paths: [path('a', 0)] };
    const mesh = meshOf(
      reading(
        member('a', { report: listed }),
        member('b', { report: cut }),
        member('c'),
        member('d', { report: report() }),
      ),
    );
    assert.deepEqual(pairsOf(mesh), [
      'a-b down up/down',
      'a-c up up/not reported',
      'a-d up up/no path',
      'b-d no path not listed/no path',
      'c-d no path not reported/no path',
      'b-c not listed not listed/not reported',
    ]);
  });

  it('has zones of plain ovn-ic that members report, and objects that no cluster has joined with', () => {
    const mesh = meshOf(
      reading(member('a', { report: report(path('zone')) }), member('new', { fingerprint: undefined, conditions: [] })),
    );
    assert.deepEqual(pairsOf(mesh), ['a-zone up up']);
    assert.deepEqual(
      mesh.members.map(({ presence }) => presence),
      ['connected', 'not joined'],
    );
  });

  it('is not well with rejections, or with limits that are not in force', () => {
    const wrong = { type: 'SpecAccepted', status: 'False', reason: 'PrefixInvalid', message: 'no CIDR' } as const;
    for (const status of [{ rejections: 1 }, { conditions: [...(member('a').status.conditions ?? []), wrong] }])
      assert.equal(meshOf(reading(member('a', status))).isWell, false);
  });

  it('is a table in which no name of a cluster is more than a name', () => {
    const evil = member('west', { clusterName: 'w', report: report(path('x\u001B[2J\neast up')) });
    const mesh = meshOf(reading(member('east'), { ...evil, name: 'we\u009Bst' }));
    const text = renderMesh(mesh, nowMs, paintFor(false));
    assert.ok(!/[\p{Cc}--\n]/v.test(text), text);
    assert.ok(text.includes('x\\u001b[2J\\u000aeast up'), text);
    assert.match(text, /^hub in east: (?:not )?well\n {2}2 of 2 members connected, \d of 2 pairs up\n/);
    assert.match(text, /we\\u009bst \(joined as west\) +connected +60m +0\.1\.0 +1 +2 +0 +2d/);
  });
});

describe('the removal of a member', () => {
  const mesh = reading(member('east'), { ...member('west', {}, 'Absent'), handle: 'occident' });

  it('finds it by its name, or by the name of its HubMember', () => {
    for (const name of ['west', 'occident']) {
      const found = findMember(mesh, name);
      assert.ok(!('code' in found));
      assert.equal(found.handle, 'occident');
    }
    const none = findMember(mesh, 'north');
    assert.ok('code' in none);
    assert.equal(none.message, 'the hub in east has no member north; it has east, west');
  });

  it('is refused while it is connected, unless forced', () => {
    const [east, west] = mesh.members;
    assert.ok(east && west);
    assert.equal(refuseRemoval(west, mesh, false), undefined);
    assert.equal(refuseRemoval(east, mesh, false)?.code, 'StillConnected');
    assert.equal(refuseRemoval(east, mesh, true), undefined);
    assert.match(lossOf(west), /^west is removed from the hub with 1 prefix, 2 exported Services, 0 transit ports;/);
  });
});

describe('a hub that does not run', () => {
  it('is not well, whatever the statuses of its members say', () => {
    const well = reading(member('east'));
    const mesh = meshOf({ ...well, hubProblem: 'no pod of the hub is ready' });
    assert.deepEqual([meshOf(well).isWell, mesh.isWell], [true, false]);
    assert.match(renderMesh(mesh, nowMs, paintFor(false)), /Problems\n {2}no pod of the hub is ready/);
  });
});
