import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ExportReport } from '../model/export-messages.ts';
import type { ExportedService } from '../model/exported-service.ts';
import { endpoint, exported } from '../model/testing-exports.ts';
import { OwnExports } from './own-exports.ts';

const map = (...services: readonly ExportedService[]) =>
  new Map(services.map((service) => [`${service.namespace}/${service.name}`, service]));
const brief = (report: ExportReport | undefined) =>
  report && {
    ...report,
    changed: report.changed.map(({ namespace, name, isWhole }) => `${isWhole ? '' : '~'}${namespace}/${name}`),
  };
const nothing = { changed: [], removed: [], namespacesAdded: [], namespacesRemoved: [] };

describe('the exports of this cluster for the hub', () => {
  it('are silent before they are known, then whole, then only what differs', () => {
    const own = new OwnExports();
    assert.equal(own.next(), undefined);
    const web = exported('shop/web', ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    own.set(map(web, exported('shop/db', ['10.0.0.9'])), new Set(['shop', 'team']));
    assert.equal(own.isSent, false);
    assert.deepEqual(brief(own.next()), {
      ...nothing,
      revision: 1,
      begins: true,
      isComplete: true,
      changed: ['shop/web', 'shop/db'],
      namespacesAdded: ['shop', 'team'],
    });
    assert.deepEqual([own.next(), own.isSent], [undefined, true]);
    own.set(map(structuredClone(web), exported('shop/db', ['10.0.0.9'])), new Set(['shop', 'team']));
    assert.equal(own.next(), undefined, 'equal values are no change');
    own.set(
      map({ ...web, endpoints: [endpoint('10.0.0.1', { isReady: false }), ...web.endpoints.slice(1)] }),
      new Set(['shop']),
    );
    assert.deepEqual(brief(own.next()), {
      ...nothing,
      revision: 2,
      begins: false,
      isComplete: true,
      changed: ['~shop/web'],
      removed: ['shop/db'],
      namespacesRemoved: ['team'],
    });
  });

  it('are at most as many as the hub takes, the oldest', () => {
    const own = new OwnExports();
    const many = Array.from({ length: 20_002 }, (_, at) =>
      exported(`shop/s${String(at).padStart(5, '0')}`, [], { createdMs: at < 2 ? 9 : 5 }),
    );
    own.set(map(...many), new Set());
    let [count, isOver] = [0, false];
    for (let report = own.next(); report !== undefined; report = own.next()) {
      count += report.changed.length;
      isOver ||= report.changed.some(({ name }) => name === 's00001');
    }
    assert.deepEqual([count, isOver], [20_000, false]);
    assert.deepEqual(
      ['shop/s00000', 'shop/s00001', 'shop/s00002'].map((key) => own.isSurplus(key)),
      [true, true, false],
    );
    own.set(map(...many.slice(1, 20_001)), new Set());
    assert.deepEqual(brief(own.next())?.changed, ['shop/s00001']);
    assert.equal(own.isSurplus('shop/s00001'), false);
  });

  it('are sent again in another session, also where there are none, and where the hub wants one whole', () => {
    const own = new OwnExports();
    own.set(map(), new Set());
    assert.deepEqual(brief(own.next()), { ...nothing, revision: 1, begins: true, isComplete: true });
    own.set(map(exported('shop/web', [])), new Set());
    own.next();
    own.begin();
    assert.deepEqual(brief(own.next()), {
      ...nothing,
      revision: 1,
      begins: true,
      isComplete: true,
      changed: ['shop/web'],
    });
    own.sendAgain(['shop/web', 'shop/unknown']);
    assert.equal(own.isSent, false);
    assert.deepEqual(brief(own.next())?.changed, ['shop/web']);
    own.forget();
    assert.equal(own.next(), undefined);
  });

  it('come in several messages where they are many, and never too many endpoints in one', () => {
    const own = new OwnExports();
    const many = Array.from({ length: 11_000 }, (_, at) => endpoint(`10.0.${at >> 8}.${at & 255}`));
    const services = Array.from({ length: 3000 }, (_, at) => exported(`shop/s${at}`, ['10.0.0.1']));
    const wide = Array.from({ length: 101 }, (_, port) => ({ name: `p${port}`, protocol: 'TCP' as const, port }));
    own.set(
      map(
        exported('shop/huge', [], { endpoints: many }),
        exported('shop/wide', [], { endpoints: many.map((one) => ({ ...one, ports: wide })) }),
        ...services,
      ),
      new Set(['shop']),
    );
    const reports: ExportReport[] = [];
    for (let report = own.next(); report !== undefined; report = own.next()) reports.push(report);
    assert.ok(reports.length > 4, `${reports.length}`);
    assert.deepEqual(reports.map(({ begins }) => begins).indexOf(true, 1), -1);
    assert.deepEqual(reports.map(({ isComplete }) => isComplete).indexOf(true), reports.length - 1);
    assert.equal(reports.flatMap((report) => report.changed).length, 3002);
    assert.equal(reports[0]?.changed[0]?.endpoints.length, 10_001);
    assert.equal(reports[1]?.changed[0]?.endpoints.length, 990);
    for (const report of reports.slice(2)) assert.ok(JSON.stringify(report).length < 260 * 1024);
  });
});
