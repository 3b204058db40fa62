import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { ExportReport } from '../model/export-messages.ts';
import type { ExportedService } from '../model/exported-service.ts';
import { countRefused } from '../model/refused.ts';
import { endpoint, exported } from '../model/testing-exports.ts';
import { ExportsBed, type BedMember } from './exports-bed.ts';

const codes = (member: BedMember) => member.remote.rejections.map(({ kind, value, code }) => [kind, value, code]);

describe('exports by the hub', () => {
  let bed: ExportsBed;
  let [east, west, north]: BedMember[] = [];
  const members = () => {
    assert.ok(east && west && north);
    return { east, west, north };
  };
  beforeEach(() => {
    bed = new ExportsBed();
    [east, west, north] = ['east', 'west', 'north'].map((name, at) => bed.member(name, [`10.${at + 1}.0.0/16`]));
    for (const member of bed.members.values()) bed.connect(member);
  });
  afterEach(() => bed.close());

  it('reach the members that have the namespace, when they have it, and only these', () => {
    const { east, west, north } = members();
    bed.setExports(east, [exported('shop/web', ['10.1.0.1']), exported('team/db', ['10.1.0.2'])], ['shop', 'team']);
    bed.setExports(west, [], ['shop']);
    bed.setExports(north, [], ['other']);
    bed.settle();
    assert.deepEqual([east.view(), west.view(), north.view()], [[], ['east shop/web 10.1.0.1'], []]);
    assert.deepEqual([bed.hub.size, bed.hub.endpoints, bed.hub.rejections], [2, 2, 0]);
    assert.ok([...bed.members.values()].every(({ remote }) => remote.isComplete));
    const before = north.bytes;
    bed.setExports(west, [], ['shop', 'team']);
    bed.settle();
    assert.deepEqual(west.view(), ['east shop/web 10.1.0.1', 'east team/db 10.1.0.2']);
    bed.setExports(west, [], ['team']);
    bed.setExports(east, [exported('team/db', ['10.1.0.3'])], ['shop', 'team']);
    bed.settle();
    assert.deepEqual(west.view(), ['east team/db 10.1.0.3']);
    assert.equal(north.bytes, before, 'nothing for a member without these namespaces');
  });

  it('have no endpoint outside of the prefixes of their member, as these change', () => {
    const { east, west } = members();
    bed.setExports(west, [], ['shop']);
    const addresses = ['10.1.0.1', '10.2.0.1', ...Array.from({ length: 7 }, (_, at) => `192.168.0.${at + 1}`)];
    bed.setExports(east, [exported('shop/web', addresses), exported('shop/db', ['10.1.0.9'])], ['shop']);
    bed.settle();
    const both = (web: string) => ['east shop/db 10.1.0.9', `east shop/web ${web}`];
    assert.deepEqual(west.view(), both('10.1.0.1'));
    assert.deepEqual(codes(east), [['export', 'shop/web', 'EndpointNotOffered']]);
    assert.match(
      east.remote.rejections[0]?.message ?? '',
      /endpoints 10\.2\.0\.1, 192\.168\.0\.1, .* and 3 more are in no prefix that east offers/,
    );
    bed.setPrefixes(east, ['10.1.0.0/16', '192.168.0.0/30']);
    bed.settle();
    assert.deepEqual(west.view(), both('10.1.0.1,192.168.0.1,192.168.0.2,192.168.0.3'));
    bed.setPrefixes(east, ['0.0.0.0/0'], 'bgp');
    bed.settle();
    assert.deepEqual(west.view(), ['east shop/db ', 'east shop/web '], 'what routers announce is nobody’s own');
    assert.equal(codes(east).length, 2);
    bed.setPrefixes(east, ['10.1.0.0/16', '10.2.0.0/16', '192.168.0.0/16']);
    bed.settle();
    assert.deepEqual([codes(east), bed.hub.rejections], [[], 0]);
    assert.equal(bed.logged.length, 3);
  });

  it('are refused one by one where their form is wrong', () => {
    const { east, west } = members();
    bed.setExports(west, [], ['shop']);
    const wrong: readonly Partial<ExportedService>[] = [
      { name: 'Web' },
      { name: 'x'.repeat(5000) },
      { type: 'ExternalName' as 'Headless' },
      {
        ports: Array.from({ length: 101 }, (_, port) => ({
          name: `p${port}`,
          protocol: 'TCP',
          port: port + 1,
          appProtocol: '',
        })),
      },
      { ports: [{ name: 'p', protocol: 'ICMP' as 'TCP', port: 1, appProtocol: '' }] },
      { ports: [{ name: 'p', protocol: 'TCP', port: 0, appProtocol: '' }] },
      { ports: [{ name: 'p', protocol: 'TCP', port: 1, appProtocol: '\u0007' }] },
      { affinitySeconds: 86_401 },
      { ipFamilies: [5 as 4] },
      { ipFamilies: [4, 4] },
      { ipFamilies: [4, 6, 4] },
      { trafficDistribution: 'x'.repeat(256) },
      { labels: { a: 'x'.repeat(16 * 1024) } },
      { annotations: { 'a\n': '' } },
      { createdMs: 2 ** 60 },
      { endpoints: [endpoint('10.1.0.01')] },
      { endpoints: [endpoint('10.1.0.1', { hostname: 'a.b' })] },
      { endpoints: [endpoint('10.1.0.1', { zone: 'a b' })] },
      { endpoints: [endpoint('10.1.0.1', { node: '-' })] },
      { endpoints: [endpoint('10.1.0.1', { ports: [{ name: '', protocol: 'TCP', port: 65_536 }] })] },
    ];
    const exports = wrong.map((rest, at) => exported(`shop/s${at}`, ['10.1.0.1'], rest));
    const fine = exported('shop/fine', ['10.1.0.1'], { annotations: { text: 'two\nlines' } });
    bed.setExports(east, [...exports, fine], ['shop']);
    bed.settle();
    assert.deepEqual(west.remote.clusters.get('east'), new Map([['shop/fine', fine]]));
    assert.equal(east.remote.rejections.length, wrong.length);
    assert.ok(east.remote.rejections.every(({ code, value }) => code === 'ExportInvalid' && value.length <= 255));
    const fixed = exported('shop/s7', ['10.1.0.1']);
    bed.setExports(east, [fine, fixed], ['shop']);
    bed.settle();
    assert.deepEqual([west.view().length, codes(east)], [2, []]);
  });

  it('are limited: the oldest are accepted, and the next as soon as there is room', () => {
    const { east, west } = members();
    bed.setExports(west, [], ['shop']);
    east.spec = { ...east.spec, maxExports: 2, maxEndpointsPerExport: 3 };
    bed.hub.limitsChanged('east');
    const one = (name: string, createdMs: number, count = 1) =>
      exported(
        `shop/${name}`,
        Array.from({ length: count }, (_, at) => `10.1.0.${at + 1}`),
        { createdMs },
      );
    bed.setExports(east, [one('new', 9), one('old', 1), one('middle', 5, 5)], ['shop']);
    bed.settle();
    const middle = 'east shop/middle 10.1.0.1,10.1.0.2,10.1.0.3';
    assert.deepEqual(west.view(), [middle, 'east shop/old 10.1.0.1']);
    assert.deepEqual(
      new Set(codes(east)),
      new Set([
        ['export', 'shop/middle', 'MaxEndpoints'],
        ['export', 'shop/new', 'MaxExports'],
      ]),
    );
    bed.setExports(east, [{ ...one('new', 9), affinitySeconds: 7 }, one('old', 1), one('middle', 5, 5)], ['shop']);
    bed.settle();
    assert.equal(west.view().length, 2, 'a change of what the hub does not keep');
    const four = one('middle', 5, 5);
    bed.setExports(
      east,
      [
        { ...one('new', 9), affinitySeconds: 7 },
        { ...four, endpoints: four.endpoints.slice(1) },
      ],
      ['shop'],
    );
    bed.settle();
    assert.deepEqual(west.view(), ['east shop/middle 10.1.0.2,10.1.0.3,10.1.0.4', 'east shop/new 10.1.0.1']);
    assert.equal(west.remote.of('shop/new').get('east')?.affinitySeconds, 7);
    east.spec = { ...east.spec, maxEndpointsPerExport: 1000, maxExports: 1 };
    bed.hub.limitsChanged('east');
    bed.settle();
    assert.deepEqual(west.view(), ['east shop/middle 10.1.0.2,10.1.0.3,10.1.0.4,10.1.0.5']);
    east.spec = { ...east.spec, maxExports: 0 };
    bed.hub.limitsChanged('east');
    bed.settle();
    assert.deepEqual(west.view(), []);
  });

  it('have a limited number of endpoints together, and of ports of endpoints', () => {
    const { east, west } = members();
    bed.setExports(west, [], ['shop']);
    east.spec = { ...east.spec, maxExports: 2, maxEndpointsPerExport: 150 };
    bed.hub.limitsChanged('east');
    const many = (name: string, createdMs: number, count: number, ports = 1) =>
      exported(`shop/${name}`, [], {
        createdMs,
        endpoints: Array.from({ length: count }, (_, at) =>
          endpoint(`10.1.1.${at + 1}`, {
            ports: Array.from({ length: ports }, (_, port) => ({ name: `p${port}`, protocol: 'TCP', port: port + 1 })),
          }),
        ),
      });
    bed.setExports(east, [many('b', 2, 100), many('a', 1, 150), many('c', 3, 50)], ['shop']);
    bed.settle();
    assert.deepEqual([...(west.remote.clusters.get('east')?.keys() ?? [])].sort(), ['shop/a', 'shop/c']);
    assert.deepEqual(codes(east), [['export', 'shop/b', 'MaxExports']]);
    bed.setExports(east, [many('a', 1, 100, 16)], ['shop']);
    bed.settle();
    assert.deepEqual([west.view(), codes(east)], [[], [['export', 'shop/a', 'MaxEndpoints']]]);
    const limit = (maxEndpointsPerExport: number): void => {
      east.spec = { ...east.spec, maxEndpointsPerExport };
      bed.hub.limitsChanged('east');
      bed.settle();
    };
    limit(159);
    assert.deepEqual(
      [west.view(), east.remote.rejections.map(({ message }) => /1600 ports; at most 1590 are allowed/.test(message))],
      [[], [true]],
    );
    limit(160);
    assert.deepEqual([west.view().length, codes(east)], [1, []], 'as soon as it is allowed');
    limit(159);
    assert.deepEqual([west.view(), codes(east)], [[], [['export', 'shop/a', 'MaxEndpoints']]]);
    bed.setExports(east, [many('a', 1, 99, 16)], ['shop']);
    bed.settle();
    assert.deepEqual([west.view().length, codes(east)], [1, []], 'or it has fewer');
  });

  it('are accepted of the namespaces that the hub allows their member', () => {
    const { east, west } = members();
    bed.setExports(west, [], ['shop', 'kube-system']);
    east.spec = { ...east.spec, maxExports: 1 };
    const shop = exported('shop/web', ['10.1.0.1'], { createdMs: 2 });
    bed.setExports(east, [shop, exported('kube-system/dns', ['10.1.0.2'], { createdMs: 1 })], []);
    const allow = (...allowedNamespaces: readonly string[]): void => {
      east.spec = { ...east.spec, allowedNamespaces };
      bed.hub.limitsChanged('east');
      bed.settle();
    };
    allow('shop', 'a', 'b', 'c', 'd', 'e');
    assert.deepEqual(west.view(), ['east shop/web 10.1.0.1'], 'others take no room');
    assert.deepEqual(codes(east), [['export', 'kube-system/dns', 'NamespaceNotAllowed']]);
    const [rejection] = east.remote.rejections;
    assert.match(rejection?.message ?? '', /namespaces shop, a, b, c, d and 1 more only; .* HubMember east$/);
    const updates = east.updates.length;
    bed.setExports(east, [shop, exported('kube-system/dns', ['10.1.0.3'], { createdMs: 1 })], []);
    bed.settle();
    assert.ok(east.updates.slice(updates).every(({ wanted }) => wanted.length === 0));
    bed.restart();
    for (const member of [east, west]) bed.connect(member);
    bed.settle();
    assert.deepEqual(west.view(), ['east shop/web 10.1.0.1']);
    allow('kube-system');
    assert.deepEqual(west.view(), ['east kube-system/dns 10.1.0.3']);
    assert.deepEqual(codes(east), [['export', 'shop/web', 'NamespaceNotAllowed']]);
    allow();
    assert.deepEqual(west.view(), ['east kube-system/dns 10.1.0.3']);
    assert.deepEqual(codes(east), [['export', 'shop/web', 'MaxExports']]);
  });

  it('are all named where they are refused, also where the list is cut', () => {
    const { east } = members();
    east.spec = { ...east.spec, maxExports: 10 };
    bed.hub.limitsChanged('east');
    const fine = Array.from({ length: 150 }, (_, at) => exported(`shop/s${at}`, [], { createdMs: at }));
    const wrong = Array.from({ length: 150 }, (_, at) => exported(`shop/w${at}`, [], { affinitySeconds: 86_401 }));
    const foreign = exported('shop/foreign', ['10.2.0.1'], { createdMs: 0 });
    bed.setExports(east, [...wrong, foreign, ...fine], []);
    bed.settle();
    const last = east.updates.findLast(({ rejections }) => rejections !== null)?.rejections;
    assert.ok(last?.unlisted);
    assert.equal(countRefused(last.rejections), 150 + 1 + 141);
    assert.deepEqual(
      last.unlisted.map(({ code, exports }) => [code, exports.length]),
      [
        ['ExportInvalid', 50],
        ['MaxExports', 140],
      ],
    );
    const named = last.rejections.filter(({ code }) => code !== 'MoreRefused').map(({ value }) => value);
    const all = new Set([...named, ...last.unlisted.flatMap(({ exports }) => exports)]);
    const accepted = fine.slice(0, 9).map(({ name }) => `shop/${name}`);
    assert.deepEqual(all.size, 150 + 1 + 141);
    assert.ok(!accepted.some((key) => all.has(key)));
    bed.setExports(east, fine.slice(0, 9), []);
    bed.settle();
    assert.deepEqual(east.updates.at(-1)?.rejections, { rejections: [], unlisted: [] });
  });

  it('end the session of a member that offers without end', () => {
    const { east } = members();
    bed.setExports(
      east,
      Array.from({ length: 20_001 }, (_, at) => exported(`shop/s${at}`, [])),
      ['shop'],
    );
    bed.settle();
    assert.equal(east.refused?.code, 'StateTooLarge');
    const { west } = members();
    bed.setExports(
      west,
      [],
      Array.from({ length: 20_010 }, (_, at) => `n${at}`),
    );
    bed.settle();
    assert.deepEqual(codes(west), [['export', '10', 'MaxNamespaces']]);
    assert.equal(west.refused, undefined);
    bed.setExports(west, [], ['shop']);
    bed.settle();
    east.refused = undefined;
    bed.disconnect(east);
    bed.setExports(east, [exported('shop/web', ['10.1.0.1'])], ['shop']);
    bed.connect(east);
    bed.settle();
    assert.deepEqual([east.refused, west.view()], [undefined, ['east shop/web 10.1.0.1']], 'it offers less');
  });

  it('end the session of a member that changes without end what it never sent', () => {
    const { east } = members();
    bed.setExports(east, [exported('shop/web', ['10.1.0.1'])], ['shop']);
    bed.settle();
    const report = (revision: number, count: number): ExportReport => ({
      revision,
      begins: false,
      isComplete: true,
      changed: Array.from({ length: count }, (_, at) => ({
        ...exported(`shop/s${revision}-${at}`, []),
        isWhole: false,
        removedAddresses: [],
      })),
      removed: [],
      namespacesAdded: [],
      namespacesRemoved: [],
    });
    bed.receive(east, report(2, 19_999));
    bed.settle();
    assert.equal(east.refused, undefined);
    assert.equal(east.updates.at(-1)?.wanted.length, 19_999);
    bed.receive(east, report(3, 20_000));
    assert.equal(bed.members.get('east')?.refused?.code, 'StateTooLarge');
  });

  it('end the session of a member that does not wait for answers', () => {
    const { east } = members();
    bed.setExports(east, [exported('shop/web', ['10.1.0.1'])], ['shop']);
    bed.settle();
    east.isDeaf = true;
    for (const name of ['a', 'b', 'c']) {
      bed.setExports(east, [exported(`shop/${name}`, ['10.1.0.1'])], ['shop']);
      bed.settle();
    }
    assert.equal(east.refused, undefined);
    const report = { begins: false, isComplete: true, changed: [], removed: [], namespacesAdded: [] };
    bed.receive(east, { ...report, revision: 8, namespacesRemoved: [] });
    bed.settle();
    bed.receive(east, { ...report, revision: 9, namespacesRemoved: [] });
    assert.equal(bed.members.get('east')?.refused?.code, 'ReportTooEarly');
  });

  it('survive a hub that starts again, until their members have sent them again or are given up', () => {
    const { east, west, north } = members();
    bed.setExports(east, [exported('shop/web', ['10.1.0.1']), exported('shop/old', ['10.1.0.2'])], ['shop']);
    bed.setExports(north, [exported('shop/web', ['10.3.0.1'])], []);
    bed.setExports(west, [], ['shop']);
    bed.settle();
    const all = ['east shop/old 10.1.0.2', 'east shop/web 10.1.0.1', 'north shop/web 10.3.0.1'];
    assert.deepEqual(west.view(), all);
    bed.restart();
    bed.setExports(east, [exported('shop/web', ['10.1.0.1'])], ['shop']);
    bed.connect(west);
    bed.settle();
    assert.deepEqual(west.view(), all);
    assert.deepEqual(west.remote.expected, new Set(['east', 'north']));
    bed.connect(east);
    bed.settle();
    assert.deepEqual(west.view(), all.slice(1), 'what is not exported any more is gone');
    assert.deepEqual(west.remote.expected, new Set(['north']));
    bed.hub.drop('north');
    bed.settle();
    assert.deepEqual(west.view(), ['east shop/web 10.1.0.1']);
    bed.stale.add('east');
    bed.restart();
    bed.connect(west);
    bed.settle();
    assert.deepEqual(west.view(), [], 'one that was given up before is not waited for');
  });

  it('end when their member is one of a release before exports, or leaves', () => {
    const { east, west, north } = members();
    bed.setExports(east, [exported('shop/web', ['10.1.0.1'])], ['shop']);
    bed.setExports(north, [exported('shop/web', ['10.3.0.1'])], ['shop']);
    bed.setExports(west, [], ['shop']);
    bed.settle();
    bed.disconnect(east);
    bed.settle();
    assert.equal(west.view().length, 2, 'a member without a session keeps its exports');
    bed.hub.readNothing('east');
    bed.remove(north);
    bed.settle();
    assert.deepEqual(west.view(), []);
    bed.restart();
    bed.hub.readNothing('east');
    bed.connect(west);
    bed.settle();
    assert.deepEqual(west.remote.expected, new Set(), 'and is not waited for');
  });

  it('have the new name of a renamed member at once, also where the hub has just started', () => {
    const { east, west } = members();
    bed.setExports(east, [exported('shop/web', ['10.1.0.1'])], ['shop']);
    bed.setExports(west, [], ['shop']);
    bed.settle();
    bed.rename(east, 'ost');
    bed.settle();
    assert.deepEqual(west.view(), ['ost shop/web 10.1.0.1']);
    assert.equal(west.updates.at(-1)?.members.length, 2, 'one update has both names');
    bed.restart();
    bed.connect(west);
    bed.settle();
    bed.rename(east, 'orient');
    bed.settle();
    assert.deepEqual(west.view(), ['ost shop/web 10.1.0.1'], 'the former name stays until there is the new one');
    bed.connect(east);
    bed.settle();
    assert.deepEqual(west.view(), ['orient shop/web 10.1.0.1']);
  });

  it('reach a slow reader as they are in the end, without a queue', () => {
    const { east, west } = members();
    bed.setExports(west, [], ['shop']);
    bed.settle();
    west.isDeaf = true;
    for (let at = 1; at <= 50; at += 1) {
      bed.setExports(east, [exported('shop/web', [`10.1.0.${at}`]), exported(`shop/s${at}`, [])], ['shop']);
      bed.settle();
    }
    assert.equal(west.waiting.length, 1);
    bed.listen(west);
    bed.settle();
    assert.deepEqual(west.view(), ['east shop/s50 ', 'east shop/web 10.1.0.50']);
    assert.ok(west.updates.length <= 4, `${west.updates.length}`);
  });

  it('arrive whole in several messages', () => {
    const { east, west } = members();
    bed.setExports(west, [], ['shop']);
    const annotations = { text: 'x'.repeat(10_000) };
    const exports = Array.from({ length: 200 }, (_, at) => exported(`shop/s${at}`, ['10.1.0.1'], { annotations }));
    bed.setExports(east, exports, ['shop']);
    bed.settle();
    assert.equal(west.view().length, 200);
    assert.ok(west.updates.every((update) => JSON.stringify(update).length < 300 * 1024));
    bed.restart();
    bed.connect(east);
    bed.settle();
    west.updates = [];
    bed.connect(west);
    bed.settle();
    assert.ok(west.updates.length > 7);
    assert.deepEqual(west.updates.map(({ isComplete }) => isComplete).indexOf(true), west.updates.length - 1);
    assert.equal(west.view().length, 200);
  });
});
