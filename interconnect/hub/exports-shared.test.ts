import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { SharedClaim } from '../model/exported-service.ts';
import { exported } from '../model/testing-exports.ts';
import { ExportsBed, type BedMember } from './exports-bed.ts';

const key = 'shop/web';

describe('shared addresses over the exports of members', () => {
  let bed: ExportsBed;
  let east: BedMember;
  let west: BedMember;
  /** What each member wrote: its claims have it from then on. */
  let written: Map<string, { readonly addresses: readonly string[]; readonly sinceMs: number }>;

  beforeEach(() => {
    bed = new ExportsBed();
    east = bed.member('east', ['10.16.0.0/16']);
    west = bed.member('west', ['10.17.0.0/16']);
    written = new Map();
    for (const member of [east, west]) bed.connect(member);
  });
  afterEach(() => bed.close());

  const claimOf = (member: BedMember, service: string, more: Partial<SharedClaim> = {}): SharedClaim => {
    const { addresses: held = [], sinceMs = 0 } = written.get(`${member.name} ${service}`) ?? {};
    return { pool: 'world', ranges: ['198.51.100.0/29'], clusters: [], requested: [], held, sinceMs, ...more };
  };
  /** The member exports these Services, each with a claim. */
  const export_ = (member: BedMember, services: readonly string[], more: Partial<SharedClaim> = {}): void => {
    const all = services.map((service) => exported(service, [], { shared: claimOf(member, service, more) }));
    bed.setExports(member, all, ['shop']);
    bed.settle();
    for (const service of services) {
      const answer = member.remote.answerTo(service);
      if (answer !== undefined) written.set(`${member.name} ${service}`, answer);
    }
  };
  const of = (member: BedMember, service = key): string => {
    const answer = member.remote.answerTo(service);
    return answer === undefined ? 'none' : answer.code || answer.addresses.join();
  };

  it('are one for all members that export the Service, and no part of what others see of an export', () => {
    export_(east, [key]);
    export_(west, [key, 'shop/db']);
    assert.match(of(east), /^198\.51\.100\.\d$/);
    assert.equal(of(west), of(east));
    assert.notEqual(of(west, 'shop/db'), of(west));
    assert.deepEqual(east.remote.answerTo(key)?.clusters, ['west']);
    assert.equal(east.remote.clusters.get('west')?.get(key)?.shared ?? undefined, undefined);
  });

  it('outlive the hub, the session and the member that had them first', () => {
    export_(east, [key]);
    export_(west, [key]);
    export_(west, [key]);
    const address = of(east);
    bed.nowMs = 9000;
    bed.restart();
    const seen = west.updates.length;
    bed.connect(west);
    bed.settle();
    assert.deepEqual(
      west.updates.slice(seen).flatMap(({ shared = [] }) => shared),
      [],
      'what is written stays',
    );
    assert.equal(of(west), address);
    export_(west, [key, 'shop/new']);
    assert.equal(of(west, 'shop/new'), 'MembersExpected');
    bed.remove(east);
    bed.settle();
    assert.deepEqual([of(west), west.remote.answerTo(key)?.sinceMs], [address, 1000]);
    assert.match(of(west, 'shop/new'), /^198\.51\.100\.\d$/);
    bed.disconnect(west);
    bed.settle();
    bed.connect(west);
    bed.settle();
    assert.equal(of(west), address);
  });

  it('are answered again to a member that claims again, and stay with a member of another name', () => {
    export_(east, [key]);
    const address = of(east);
    bed.setExports(east, [exported(key, [])], ['shop']);
    bed.settle();
    export_(west, ['shop/a', 'shop/b', 'shop/c', 'shop/d', 'shop/e', 'shop/f', 'shop/g', 'shop/h']);
    east.remote.forgetAnswer(key);
    written.clear();
    export_(east, [key]);
    assert.equal(of(east), 'NoFreeAddress', 'others have all addresses now');
    export_(west, []);
    assert.equal(of(east), address);
    bed.rename(east, 'orient');
    bed.settle();
    export_(west, [key]);
    assert.deepEqual([of(west), west.remote.answerTo(key)?.clusters], [address, ['orient']]);
  });

  it('are within the prefixes that the administrator of the hub allows a member', () => {
    west.spec = { ...west.spec, allowedPrefixes: ['10.17.0.0/16'] };
    export_(east, [key]);
    export_(west, [key]);
    assert.equal(of(west), 'PrefixNotAllowed');
    west.spec = { ...west.spec, allowedPrefixes: ['10.17.0.0/16', '198.51.100.0/24'] };
    bed.hub.limitsChanged('west');
    bed.settle();
    assert.equal(of(west), of(east));
  });

  it('are answered in several messages if they are many', () => {
    const many = Array.from({ length: 900 }, (_, at) => `shop/s${at}`);
    export_(east, many, { ranges: ['10.16.0.0/24'], pool: 'p'.repeat(250) });
    const sizes = east.updates.map(({ shared = [] }) => JSON.stringify(shared).length);
    assert.equal(of(east, 'shop/s899'), 'AddressInUse');
    assert.ok(Math.max(...sizes) < 300 * 1024, sizes.join());
    assert.ok(sizes.filter((size) => size > 2).length > 1, sizes.join());
  });

  it('that cannot be read refuse the export', () => {
    for (const bad of [
      { ranges: ['no'] },
      { held: ['198.51.100.1', '198.51.100.2'] },
      { clusters: ['a b'] },
      { sinceMs: Number.MAX_SAFE_INTEGER },
    ]) {
      export_(east, [key], bad);
      assert.deepEqual(
        east.remote.rejections.map(({ code }) => code),
        ['ExportInvalid'],
        JSON.stringify(bad),
      );
    }
    export_(east, [key]);
    assert.match(of(east), /^198\.51\.100\.\d$/);
  });
});
