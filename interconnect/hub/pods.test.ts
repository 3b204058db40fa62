import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { mostAddresses, mostWanted } from '../model/pod-sets.ts';
import { randomOf } from '../../lib/testing-random.ts';
import { PodsBed, selectorOf, textOf, wanted, type PodsMember } from './pods-bed.ts';

describe('sets of pods through the hub', () => {
  let bed: PodsBed;
  let east: PodsMember;
  let west: PodsMember;
  beforeEach(() => {
    bed = new PodsBed();
    east = bed.member('east', ['10.16.0.0/16', 'fd00:10:16::/64']);
    west = bed.member('west', ['10.17.0.0/16']);
    for (const member of [east, west]) bed.connect(member);
  });
  afterEach(() => bed.close());
  const db = wanted('db', 'east');
  const sees = (member: PodsMember, ...lines: readonly string[]): void => {
    bed.settle();
    assert.deepEqual(member.view(), lines);
  };

  it('come from the members that are named, once somebody wants them, and then as changes', () => {
    bed.setPods(east, 'db', ['10.16.0.2', 'fd00:10:16::2']);
    bed.setPods(west, 'db', ['10.17.0.2']);
    bed.settle();
    assert.equal(bed.hub.size, 0, 'nobody asks');
    bed.want(west, [db]);
    sees(west, `east ${db.selector} 10.16.0.2,fd00:10:16::2`);
    assert.deepEqual([east.remote.asked, west.remote.asked], [[{ id: db.id, selector: db.selector }], []]);
    assert.deepEqual([bed.hub.size, bed.hub.addresses], [1, 2]);
    const before = west.bytes;
    bed.setPods(east, 'db', ['10.16.0.2', 'fd00:10:16::2', '10.16.0.3']);
    sees(west, `east ${db.selector} 10.16.0.2,10.16.0.3,fd00:10:16::2`);
    assert.ok(west.bytes - before < 100, `${west.bytes - before} bytes for one address`);
    bed.setPods(east, 'db', []);
    sees(west, `east ${db.selector} `);
  });

  it('are evaluated once for equal selectors, and sent to those who want them only', () => {
    const north = bed.member('north', ['10.18.0.0/16']);
    const south = bed.member('south', ['10.19.0.0/16']);
    for (const one of [north, south]) bed.connect(one);
    bed.setPods(east, 'db', ['10.16.0.2']);
    bed.want(west, [db]);
    bed.want(north, [db]);
    sees(north, `east ${db.selector} 10.16.0.2`);
    assert.equal(east.remote.asked.length, 1);
    const before = south.bytes;
    bed.setPods(east, 'db', ['10.16.0.3']);
    sees(north, `east ${db.selector} 10.16.0.3`);
    assert.equal(south.bytes, before);
    bed.want(west, []);
    bed.settle();
    assert.equal(east.remote.asked.length, 1, 'north still wants it');
    bed.want(north, []);
    bed.settle();
    assert.deepEqual([east.remote.asked, bed.hub.size], [[], 0]);
  });

  it('contain no address of another member, of which its owner hears', () => {
    bed.setPods(east, 'db', ['10.16.0.2', '10.17.0.9', '192.0.2.1', 'text', '10.16.0.02']);
    bed.want(west, [db]);
    sees(west, `east ${db.selector} 10.16.0.2`);
    const [rejection] = east.remote.rejections;
    assert.deepEqual([rejection?.kind, rejection?.code, rejection?.value], ['pods', 'AddressNotOffered', db.id]);
    assert.match(rejection?.message ?? '', /10\.17\.0\.9, 192\.0\.2\.1, text/);
    assert.equal(bed.hub.rejections, 1);
    // The prefix is its own now.
    bed.setPrefixes(east, [...east.prefixes, '192.0.2.0/24']);
    sees(west, `east ${db.selector} 10.16.0.2,192.0.2.1`);
    bed.setPrefixes(east, ['10.16.0.0/16', '192.0.2.0/24', '10.17.0.0/16'], 'bgp');
    sees(west, `east ${db.selector} `);
    bed.setPods(east, 'db', []);
    bed.settle();
    assert.deepEqual(east.remote.rejections, []);
  });

  it('that nobody asked for are not kept', () => {
    const selector = selectorOf('web');
    const change = { id: wanted('web').id, isWhole: true, added: ['10.16.0.2'], removed: [], refusal: '' };
    bed.settle();
    bed.receive(east, { revision: 9, wanted: null, changed: [change] });
    bed.settle();
    assert.deepEqual([bed.hub.size, selector.includes('web')], [0, true]);
  });

  it('stay as they were while a member is away, and after a start of the hub', () => {
    bed.setPods(east, 'db', ['10.16.0.2']);
    bed.want(west, [db]);
    sees(west, `east ${db.selector} 10.16.0.2`);
    bed.disconnect(east);
    sees(west, `east ${db.selector} 10.16.0.2`);
    bed.restart();
    bed.connect(west);
    sees(west, `east ${db.selector} 10.16.0.2`);
    bed.setPods(east, 'db', ['10.16.0.4']);
    bed.connect(east);
    sees(west, `east ${db.selector} 10.16.0.4`);
    bed.remove(east);
    sees(west);
  });

  it('are sent whole to a member that wants them again, also while another one still wants them', () => {
    const north = bed.member('north', ['10.18.0.0/16']);
    bed.connect(north);
    bed.setPods(east, 'db', ['10.16.0.2']);
    bed.want(west, [db]);
    bed.want(north, [db]);
    sees(west, `east ${db.selector} 10.16.0.2`);
    bed.want(west, []);
    bed.settle();
    assert.equal(west.remote.get('east', db.id), undefined);
    bed.want(west, [db]);
    sees(west, `east ${db.selector} 10.16.0.2`);
    // Before the hub has answered that it is not wanted.
    for (const sets of [[], [db]]) bed.want(west, sets);
    sees(west, `east ${db.selector} 10.16.0.2`);
  });

  it('keep nothing of a text that is too long for an address', () => {
    bed.setPods(east, 'db', ['10.16.0.2', 'x'.repeat(100_000)]);
    bed.want(west, [db]);
    sees(west, `east ${db.selector} 10.16.0.2`);
    assert.match(east.remote.rejections[0]?.message ?? '', /left out: a text of more than 39 characters$/);
  });

  it('are read once in a report', () => {
    bed.want(west, [db]);
    bed.settle();
    const change = { id: db.id, isWhole: true, removed: [], refusal: '' };
    const changed = ['10.16.0.2', '10.16.0.3'].map((address) => ({ ...change, added: [address] }));
    bed.receive(east, { revision: 9, wanted: null, changed });
    sees(west, `east ${db.selector} 10.16.0.2`);
  });

  it('of a member that shares none are refused with the reason', () => {
    east.refusal = 'NotShared';
    bed.setPods(east, 'db', ['10.16.0.2']);
    bed.want(west, [db]);
    sees(west, `east ${db.selector} (NotShared)`);
    east.refusal = '';
    bed.setPods(east, 'db', ['10.16.0.2']);
    sees(west, `east ${db.selector} 10.16.0.2`);
  });

  it('have limits: of addresses, of sets that a member wants, and of the form of a selector', () => {
    const many = Array.from({ length: mostAddresses + 1 }, (_, at) => `10.16.${at >> 8}.${at & 255}`);
    bed.setPods(east, 'db', many);
    bed.want(west, [db]);
    sees(west, `east ${db.selector} (TooManyAddresses)`);
    bed.setPods(east, 'db', many.slice(1));
    sees(west, `east ${db.selector} (TooManyAddresses)`);
    bed.connect(east);
    bed.settle();
    assert.equal(west.remote.get('east', db.id)?.addresses.size, mostAddresses);
    const forged = { ...wanted('x', 'east'), selector: selectorOf('y') };
    const sets = Array.from({ length: mostWanted + 2 }, (_, at) => wanted(`app${at}`, 'east'));
    bed.want(west, [forged, ...sets]);
    bed.settle();
    assert.equal(east.remote.asked.length, mostWanted);
    assert.deepEqual(
      west.remote.rejections.map(({ code }) => code),
      ['Invalid', 'MaxWanted'],
    );
  });

  it('are asked of members only: names that a member invents are not kept', () => {
    const invented = Array.from({ length: 1000 }, (_, at) => `c${at}`);
    bed.want(west, [wanted('db', 'east', ...invented)]);
    bed.setPods(east, 'db', ['10.16.0.2']);
    sees(west, `east ${db.selector} 10.16.0.2`);
    assert.deepEqual([bed.hub.asked, bed.hub.rejections], [1, 0]);
  });

  it('end the session of a member that does not wait for answers', () => {
    bed.settle();
    west.isDeaf = true;
    bed.want(west, [db]);
    bed.receive(west, { revision: 50, wanted: null, changed: [] });
    bed.receive(west, { revision: 51, wanted: null, changed: [] });
    assert.equal(west.refused?.code, 'ReportTooEarly');
  });

  it('follow a renamed member', () => {
    bed.setPods(east, 'db', ['10.16.0.2']);
    bed.want(west, [db]);
    sees(west, `east ${db.selector} 10.16.0.2`);
    bed.rename(east, 'orient');
    bed.want(west, [wanted('db', 'orient')]);
    sees(west, `orient ${db.selector} 10.16.0.2`);
  });

  it('are what a model says after random changes, in whatever order they arrive', () => {
    const random = randomOf(11);
    const apps = ['a', 'b', 'c'];
    const names = ['east', 'west', 'north', 'south'];
    for (const [at, name] of ['north', 'south'].entries()) bed.connect(bed.member(name, [`10.${18 + at}.0.0/16`]));
    const all = (): PodsMember[] => [...bed.members.values()];
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
    const addressOf = (): string => `10.${16 + random(5)}.0.${random(4)}`;
    const actions: readonly ((member: PodsMember) => void)[] = [
      (member) => bed.setPods(member, pick(apps), Array.from({ length: random(5) }, addressOf)),
      (member) => bed.setPods(member, pick(apps), Array.from({ length: random(5) }, addressOf)),
      (member) => {
        const sets = apps.filter(() => random(2) === 0);
        bed.want(
          member,
          sets.map((app) => wanted(app, ...names.filter((name) => name !== member.name && random(2) === 0))),
        );
      },
      (member) => bed.connect(member),
      (member) => bed.disconnect(member),
      (member) => (member.isDeaf = true),
      (member) => bed.listen(member),
      (member) => bed.setPrefixes(member, random(2) === 0 ? member.prefixes : [`10.${16 + random(5)}.0.0/16`]),
      () => random(8) === 0 && bed.restart(),
      () => bed.settle(),
    ];
    for (let round = 0; round < 60; round += 1) {
      for (let step = 0; step < 25; step += 1) pick(actions)(pick(all()));
      for (const member of all()) {
        member.isDeaf = false;
        bed.listen(member);
        if (member.open === undefined) bed.connect(member);
      }
      bed.settle();
      for (const member of all()) {
        assert.equal(member.refused, undefined);
        for (const { id, selector, clusters } of member.wants)
          for (const cluster of clusters) {
            const other = bed.members.get(cluster);
            const app = apps.find((one) => selectorOf(one) === selector) ?? '';
            const own = [...(other?.pods.get(app) ?? [])].filter((address) =>
              other?.prefixes.some((prefix) => address.startsWith(prefix.slice(0, 6))),
            );
            const set = member.remote.get(cluster, id);
            assert.equal(set && textOf(set), own.sort().join(), `round ${round}: ${member.name} of ${cluster} ${app}`);
          }
      }
    }
  });
});
