import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { ReflectorChange } from '../../lib/kube/types.ts';
import type { GlobalService, ServiceExportObject } from '../model/service-objects.ts';
import { contradictionOf, ExportSources } from './export-sources.ts';
import { parseGlobalService, parseServiceExport, plainService } from './service-objects.ts';

const metadata = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '1' };
const key = 'shop/web';
const marked = (annotations: Readonly<Record<string, string>>): GlobalService =>
  parseGlobalService({
    metadata: {
      ...metadata,
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([name, value]) => [`service.cilium.io/${name}`, value]),
      ),
    },
  });

/** A mirror that tests change. */
function mirror<T>() {
  const objects = new Map<string, T>();
  const listeners = new Set<(change: ReflectorChange<T>) => void>();
  return {
    get: (name: string) => objects.get(name),
    entries: () => objects.entries(),
    subscribe: (listener: (change: ReflectorChange<T>) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    set(after: T | undefined) {
      const before = objects.get(key);
      if (after === undefined) objects.delete(key);
      else objects.set(key, after);
      for (const listener of listeners) listener({ key, before, after });
    },
  };
}

describe('what exports a Service', () => {
  let serviceExports: ReturnType<typeof mirror<ServiceExportObject>>;
  let globalServices: ReturnType<typeof mirror<GlobalService>>;
  let sources: ExportSources;
  let changes: string[];

  beforeEach(() => {
    serviceExports = mirror();
    globalServices = mirror();
    sources = new ExportSources({ serviceExports, globalServices });
    changes = [];
    const say = (object: ServiceExportObject | undefined): string =>
      object === undefined ? '-' : `${object.isAlias ? 'alias' : 'object'}${object.isShared ? '' : ' unshared'}`;
    sources.subscribe(({ before, after }) => changes.push(`${say(before)} → ${say(after)}`));
  });

  it('is a ServiceExport, else an annotation of the Service', () => {
    sources.readAnnotations(true);
    globalServices.set(marked({ global: 'true' }));
    globalServices.set(marked({ global: 'true', affinity: 'local' }));
    serviceExports.set(parseServiceExport({ metadata }));
    globalServices.set(marked({ global: 'true', shared: 'false' }));
    serviceExports.set(undefined);
    globalServices.set(marked({ shared: 'false' }));
    assert.deepEqual(changes, ['- → alias', 'alias → object', 'object → alias unshared', 'alias unshared → -']);
    assert.deepEqual([...sources.entries()], []);
  });

  it('is no annotation where these are not read', () => {
    globalServices.set(marked({ global: 'true' }));
    assert.deepEqual([sources.get(key), [...sources.entries()]], [undefined, []]);
    sources.readAnnotations(true);
    sources.readAnnotations(true);
    assert.deepEqual([sources.get(key)?.uid, [...sources.entries()].length], ['u', 1]);
    sources.readAnnotations(false);
    assert.deepEqual(changes, ['- → alias', 'alias → -']);
  });

  it('is judged by values that are known; others are mistakes', () => {
    assert.equal(parseGlobalService({ metadata }), plainService);
    const { isGlobal, isShared, affinity, mistakes } = marked({ global: 'yes', shared: 'no', affinity: 'near' });
    assert.deepEqual([isGlobal, isShared, affinity, mistakes.length], [undefined, false, 'none', 3]);
    assert.match(mistakes[2] ?? '', /affinity has to be local, remote, none: /);
  });

  it('says whose endpoints come first by an annotation of its own, too', () => {
    const preferring = (value: string) =>
      parseGlobalService({ metadata: { ...metadata, annotations: { 'isthmus.network/affinity': value } } });
    for (const value of ['local', 'remote', 'nearest', 'none']) assert.equal(preferring(value).preference, value);
    const { preference, preferenceMistake, isGlobal } = preferring('Nearest');
    assert.deepEqual([preference, isGlobal], [undefined, undefined]);
    assert.match(preferenceMistake ?? '', /isthmus.network\/affinity has to be local, remote, nearest, none/);
    assert.equal(marked({ affinity: 'nearest' }).affinity, 'none', 'Cilium does not know it');
  });

  it('is judged as by Cilium: in any case of letters, and shared by `true` alone', () => {
    const { isGlobal, isShared, affinity, mistakes } = marked({ global: 'True', shared: 'FALSE', affinity: 'Local' });
    assert.deepEqual([isGlobal, isShared, affinity, mistakes], [true, false, 'local', []]);
    for (const shared of ['', 'no', 'yes', '0']) assert.equal(marked({ global: 'true', shared }).isShared, false);
    assert.deepEqual([marked({ affinity: '' }).affinity, marked({ affinity: '' }).mistakes], ['none', []]);
    assert.equal(marked({ global: 'true' }).isShared, true);
  });

  it('is contradicted by annotations that say false beside a ServiceExport', () => {
    const object = parseServiceExport({ metadata });
    assert.match(
      contradictionOf(marked({ global: 'false' }), object) ?? '',
      /global is not true, and ServiceExport shop\/web/,
    );
    assert.match(contradictionOf(marked({ global: 'true', shared: 'false' }), object) ?? '', /shared is not true/);
    assert.equal(contradictionOf(marked({ global: 'true' }), object), undefined);
    assert.equal(contradictionOf(marked({ global: 'false' }), undefined), undefined);
  });
});
