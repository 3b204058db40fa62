import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Rejection } from '../model/messages.ts';
import { exported } from '../model/testing-exports.ts';
import { attachment, bedTimes, HubBed, type TestMember } from './hub-bed.ts';

const view = (member: TestMember) =>
  [...member.exports.clusters].flatMap(([cluster, all]) =>
    [...all].map(([key, { endpoints }]) => `${cluster} ${key} ${endpoints.map(({ address }) => address).join()}`),
  );
const codes = (rejections: readonly Rejection[]) => rejections.map(({ value, code }) => [value, code]);

describe('exports in sessions with the hub', () => {
  const bed = new HubBed();
  before(() => bed.up());
  after(() => bed.down());

  const join = async (
    name: string,
    octet: number,
    prefixes: readonly string[],
    unreachable: readonly string[] = [],
  ) => {
    const member = await bed.member(name);
    await member.sendAttachments([attachment(prefixes)], `${name}-1`, `172.30.0.${octet}`, unreachable);
    return member;
  };
  const web = exported('shop/web', ['10.16.0.1', '10.17.0.1']);

  it('have endpoints in the prefixes that the hub accepted of their member', async () => {
    const [west, east] = [
      await join('west', 21, ['10.17.0.0/16']),
      await join('east', 11, ['10.16.0.0/16', '10.17.0.0/24']),
    ];
    await west.sendExports([], ['shop']);
    await east.sendExports([web], ['shop']);
    assert.deepEqual(codes(east.exports.rejections), [['shop/web', 'EndpointNotOffered']]);
    await west.until(() => view(west).length === 1);
    assert.deepEqual(view(west), ['east shop/web 10.16.0.1']);
    assert.deepEqual([bed.hub.exports, bed.hub.exportedEndpoints, bed.hub.rejections], [1, 1, 2]);
    assert.ok(bed.warnings.includes('a part of the state of a member was refused'));
    await west.sendAttachments([attachment([])], 'west-1', '172.30.0.21');
    await west.until(() => view(west)[0] === 'east shop/web 10.16.0.1,10.17.0.1');
    await east.until(() => east.exports.rejections.length === 0);
  });

  it('are not withdrawn by a hub that starts again', async () => {
    const west = await join('west', 21, []);
    const { exports } = west;
    await west.sendExports([], ['shop']);
    assert.equal(view(west).length, 1);
    await bed.restart();
    const again = await bed.member('west');
    again.exports = exports;
    await again.sendAttachments([attachment([])], 'west-1', '172.30.0.21');
    await again.sendExports([], ['shop']);
    assert.deepEqual(view(again), ['east shop/web 10.16.0.1,10.17.0.1']);
    const east = await join('east', 11, ['10.16.0.0/16', '10.17.0.0/24']);
    await east.sendExports([exported('shop/db', ['10.16.0.9'])], ['shop']);
    await again.until(() => view(again).join() === 'east shop/db 10.16.0.9');
  });

  it('of a copy of a cluster are not read', async () => {
    const [west, east] = [await join('west', 21, []), await join('east', 11, ['10.16.0.0/16', '10.17.0.0/24'])];
    await west.sendExports([], ['shop']);
    await east.sendExports([web], []);
    await west.until(() => view(west).length === 1);
    const copy = bed.session(bed.identity('east'));
    await copy.until(() => copy.last !== undefined);
    const refused = copy.sendAttachments([attachment([])], 'other-1', '172.30.0.99');
    const exporting = copy.sendExports([exported('shop/evil', ['10.16.0.66'])], []);
    await assert.rejects(refused, /ended/);
    await assert.rejects(exporting, /ended/);
    await east.sendExports([web, exported('shop/db', [])], []);
    await west.until(() => view(west).length === 2);
    assert.ok(!view(west).join().includes('evil'));
  });

  it('have the new name of a member that is renamed in its session', async () => {
    const [west, east] = [await join('west', 21, []), await join('east', 11, ['10.16.0.0/16', '10.17.0.0/24'])];
    await west.sendExports([], ['shop']);
    await east.sendExports([web], []);
    await west.until(() => view(west).length === 1);
    await bed.rename('east', 'ost', ['east-1']);
    await west.until(() => view(west)[0]?.startsWith('ost ') === true);
    assert.deepEqual(view(west), ['ost shop/web 10.16.0.1,10.17.0.1']);
    await east.sendExports([exported('shop/db', ['10.16.0.1'])], []);
    await west.until(() => view(west).join() === 'ost shop/db 10.16.0.1');
    await bed.rename('ost', 'east', ['east-1']);
    await west.until(() => view(west).join() === 'east shop/db 10.16.0.1');
  });

  it('end with a session of an earlier release, with the membership, or when their member is given up', async () => {
    const [west, east] = [await join('west', 21, []), await join('east', 11, ['10.16.0.0/16', '10.17.0.0/24'])];
    await west.sendExports([], ['shop']);
    await east.sendExports([web], []);
    await west.until(() => view(west).length === 1);
    await east.sendState({ gateways: [], attachments: [], unreachable: [], tellsExports: false, tellsPaths: false });
    await west.until(() => view(west).length === 0);
    const north = await join('north', 31, ['10.18.0.0/16']);
    await north.sendExports([exported('shop/web', ['10.18.0.1'])], []);
    await west.until(() => view(west).length === 1);
    await north.leave();
    await west.until(() => view(west).length === 0);
    await bed.restart({ times: { ...bedTimes, staleAfterMs: 300 } });
    const [reader, south] = [await join('west', 21, [], ['south']), await join('south', 41, ['10.19.0.0/16'])];
    await reader.sendExports([], ['shop']);
    await south.sendExports([exported('shop/web', ['10.19.0.1'])], []);
    await reader.until(() => view(reader).length === 1);
    south.close();
    await reader.until(() => view(reader).length === 0);
    assert.deepEqual([bed.hub.exports, bed.hub.exportedEndpoints], [0, 0]);
  });

  it('claim one address for the Service in all clusters', async () => {
    const [west, east] = [await join('west', 21, ['10.17.0.0/16']), await join('east', 11, ['10.16.0.0/16'])];
    const claim = { pool: 'world', ranges: ['198.51.100.0/29'], clusters: [], requested: [], held: [], sinceMs: 0 };
    for (const member of [west, east])
      await member.sendExports([exported('shop/any', [], { shared: claim })], ['shop']);
    await east.until(() => east.exports.answerTo('shop/any')?.clusters.join() === 'west');
    await west.until(() => west.exports.answerTo('shop/any')?.clusters.join() === 'east');
    const { addresses } = east.exports.answerTo('shop/any') ?? {};
    assert.match(addresses?.join() ?? '', /^198\.51\.100\.\d$/);
    assert.deepEqual(west.exports.answerTo('shop/any')?.addresses, addresses);
    for (const member of [west, east]) await member.sendExports([], ['shop']);
  });
});
