import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import type { EndpointSlice, Service } from '../../lib/services/service.ts';
import { growthOf } from '../../lib/testing-growth.ts';
import { randomOf } from '../../lib/testing-random.ts';
import { ProgramError } from '../host/program.ts';
import type { PresentTable, TableChanges, TableElement } from '../model/service-table.ts';
import { Services } from '../state/services.ts';
import { TestMirror } from '../testing-mirror.ts';
import { type FrontendChange, NodeServices, type ServiceTarget } from './services.ts';

/** A table in memory, with the rules of the kernel: what is added is not there, and what is removed is. */
class MemoryTable implements ServiceTarget {
  readonly elements = new Map<string, Map<string, string>>();
  isIntact = false;
  isRefusing = false;
  /** Called while a transaction is under way. */
  during: () => void = () => undefined;
  reads = 0;
  writes: TableChanges[] = [];

  read(): Promise<PresentTable> {
    this.reads += 1;
    return Promise.resolve({ isIntact: this.isIntact, elements: this.elements, chains: new Set<string>() });
  }

  create(elements: readonly TableElement[]): Promise<void> {
    this.elements.clear();
    this.isIntact = true;
    return this.apply({ removed: [], added: elements });
  }

  apply(changes: TableChanges): Promise<void> {
    if (this.isRefusing) return Promise.reject(new ProgramError('nft: no'));
    this.writes.push(changes);
    this.during();
    for (const { set, key } of changes.removed)
      assert.ok(this.elements.get(set)?.delete(key), `${set} ${key} is there`);
    for (const { set, key, value } of changes.added) {
      const members = this.elements.get(set) ?? new Map<string, string>();
      this.elements.set(set, members);
      assert.ok(!members.has(key), `${set} ${key} is not there yet`);
      members.set(key, value);
    }
    return Promise.resolve();
  }

  get text(): string {
    const lines = [...this.elements].flatMap(([set, members]) =>
      [...members].map(([key, value]) => `${set} ${key} ${value}`),
    );
    return lines.toSorted().join('\n');
  }
}

function bed(table = new MemoryTable()) {
  const [services, slices] = [new TestMirror<Service>(), new TestMirror<EndpointSlice>()];
  const written: FrontendChange[] = [];
  let results = 0;
  const state = new Services({ services, slices, cidrs: new TestMirror() }, (key) => engine.changed(key));
  const facts = { zone: '', cidr: '10.96.0.0/16' };
  const engine: NodeServices = new NodeServices({
    services: state,
    table,
    node: () => ({ node: 'n1', zone: facts.zone, masqueraded: new Set([4] as const) }),
    nodeElements: () => [{ set: 'service-cidrs4', key: facts.cidr, value: '' }],
    hasExternalIps: true,
    onWritten: (changes) => written.push(...changes),
    onResult: () => (results += 1),
  });
  return {
    table,
    engine,
    facts,
    written,
    results: () => results,
    setService: (name: string, spec: object, seconds = 0): void => {
      const metadata = {
        namespace: 'default',
        name,
        uid: name,
        resourceVersion: '1',
        creationTimestamp: new Date(seconds * 1000).toISOString(),
      };
      services.set(
        `default/${name}`,
        parseService({ kind: 'Service', metadata, spec: { ports: [{ port: 80, nodePort: 30_080 }], ...spec } }),
      );
    },
    deleteService: (name: string) => services.set(`default/${name}`, undefined),
    setEndpoints: (name: string, addresses: readonly string[], slice = '1', zones: readonly string[] = []): void => {
      const labels = { 'kubernetes.io/service-name': name };
      const metadata = { namespace: 'default', name: `${name}-${slice}`, uid: 'v', resourceVersion: '1', labels };
      slices.set(
        `default/${name}-${slice}`,
        parseEndpointSlice({
          kind: 'EndpointSlice',
          metadata,
          addressType: 'IPv4',
          ports: [{ port: 8080 }],
          endpoints: addresses.map((address, at) => ({
            addresses: [address],
            nodeName: 'n2',
            ...(zones[at] === undefined ? {} : { hints: { forZones: [{ name: zones[at] }] } }),
          })),
        }),
      );
    },
  };
}

const ip = (number: number): string => `10.96.${number >> 8}.${number & 255}`;

describe('rounds of Services', () => {
  test('a change of one endpoint writes few elements, and results in the table of a cold start', async () => {
    const { table, engine, setService, setEndpoints } = bed();
    setService('web', { clusterIPs: ['10.96.0.10'], type: 'NodePort' });
    setEndpoints('web', ['10.16.0.2', '10.16.0.3']);
    setEndpoints('web', ['10.16.0.9'], '2');
    engine.start();
    await engine.untilApplied();
    setEndpoints('web', ['10.16.0.2']);
    await engine.untilApplied();
    const { removed, added } = table.writes.at(-1) ?? { removed: [], added: [] };
    assert.deepEqual([removed.length, added.length], [6, 4], 'for each of two addresses: verdict, slot, moved slot');
    const fresh = bed();
    fresh.setService('web', { clusterIPs: ['10.96.0.10'], type: 'NodePort' });
    fresh.setEndpoints('web', ['10.16.0.2', '10.16.0.9']);
    fresh.engine.start();
    await fresh.engine.untilApplied();
    assert.equal(table.text, fresh.table.text);
    await Promise.all([engine.close(), fresh.engine.close()]);
  });

  test('another process on the same table writes nothing, for any numbers of the endpoints', async () => {
    const first = bed();
    first.setService('web', { clusterIPs: ['10.96.0.10'] });
    first.setEndpoints('web', ['10.16.0.2', '10.16.0.3', '10.16.0.4']);
    first.engine.start();
    await first.engine.untilApplied();
    first.setEndpoints('web', ['10.16.0.3', '10.16.0.4']);
    await first.engine.untilApplied();
    const { length } = first.table.writes;
    const second = bed(first.table);
    second.setService('web', { clusterIPs: ['10.96.0.10'] });
    second.setEndpoints('web', ['10.16.0.3', '10.16.0.4']);
    second.engine.start();
    await second.engine.untilApplied();
    assert.equal(first.table.writes.length, length);
    assert.deepEqual(
      second.written.map(({ before }) => before),
      [undefined],
      'connections from before are looked through',
    );
    await Promise.all([first.engine.close(), second.engine.close()]);
  });

  test('changes by another program are undone, and a replaced table is created again', async () => {
    const { table, engine, setService, setEndpoints, written } = bed();
    setService('web', { clusterIPs: ['10.96.0.10'] });
    setEndpoints('web', ['10.16.0.2']);
    engine.start();
    await engine.untilApplied();
    const wanted = table.text;
    table.elements.get('services4')?.clear();
    table.elements.get('cluster-ips4')?.set('10.96.0.99', '');
    engine.doubt();
    await engine.untilApplied();
    assert.equal(table.text, wanted);
    table.isIntact = false;
    written.length = 0;
    engine.doubt();
    await engine.untilApplied();
    assert.equal(table.text, wanted);
    assert.deepEqual(
      written.map(({ before, after }) => [before, after?.all]),
      [[undefined, ['10.16.0.2 . 8080']]],
      'connections that began without the table are looked through',
    );
    await engine.close();
  });

  test('a Service that is deleted while its elements are written leaves none', async () => {
    const { table, engine, setService, setEndpoints, deleteService } = bed();
    engine.start();
    await engine.untilApplied();
    const empty = table.text;
    table.during = () => {
      table.during = () => undefined;
      deleteService('web');
    };
    setService('web', { clusterIPs: ['10.96.0.10'] });
    setEndpoints('web', ['10.16.0.2']);
    await engine.untilApplied();
    await engine.untilApplied();
    assert.equal(table.text, empty);
    await engine.close();
  });

  test('a Service of another type, or made again with another ClusterIP, leaves nothing of its former self', async () => {
    const live = bed();
    live.setEndpoints('web', ['10.16.0.2', '10.16.0.3']);
    live.engine.start();
    const [clusterIPs, others] = [['10.96.0.10'], ['10.96.0.11']];
    for (const spec of [
      { clusterIPs },
      { clusterIPs, type: 'NodePort', sessionAffinity: 'ClientIP' },
      { clusterIPs, type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 },
      { clusterIPs: undefined, type: 'ExternalName' },
      { clusterIPs: others, internalTrafficPolicy: 'Local' },
      { clusterIPs: ['None'] },
      { clusterIPs, ports: [{ port: 80, protocol: 'SCTP' }] },
    ]) {
      live.setService('web', spec);
      await live.engine.untilApplied();
      const cold = bed();
      cold.setEndpoints('web', ['10.16.0.2', '10.16.0.3']);
      cold.setService('web', spec);
      cold.engine.start();
      await cold.engine.untilApplied();
      assert.equal(live.table.text, cold.table.text, JSON.stringify(spec));
      await cold.engine.close();
    }
    live.deleteService('web');
    live.setService('web', { clusterIPs: others });
    await live.engine.untilApplied();
    assert.doesNotMatch(live.table.text, /10\.96\.0\.10 /);
    await live.engine.close();
  });

  test('a refused transaction is a problem until it is written', async () => {
    const { table, engine, results, setService } = bed();
    engine.start();
    await engine.untilApplied();
    table.isRefusing = true;
    setService('web', { clusterIPs: ['10.96.0.10'] });
    const before = results();
    while (results() === before) await new Promise(setImmediate);
    assert.equal(engine.problem?.code, 'ServiceRulesRefused');
    table.isRefusing = false;
    engine.changed('default/web');
    await engine.untilApplied();
    assert.equal(engine.problem, undefined);
    assert.match(table.text, /refused4 10\.96\.0\.10 \. 6 \. 80 goto refuse/);
    await engine.close();
  });

  test('a younger Service gets an external IP only after the older one is deleted', async () => {
    const { table, engine, setService, setEndpoints, deleteService } = bed();
    const shared = { externalIPs: ['192.0.2.7'] };
    setService('young', { clusterIPs: ['10.96.0.11'], ...shared }, 20);
    setEndpoints('young', ['10.16.0.3']);
    engine.start();
    await engine.untilApplied();
    assert.match(table.text, /slots4 192\.0\.2\.7 \. 6 \. 80 \. 0 10\.16\.0\.3/);
    engine.takeSettled();
    setService('old', { clusterIPs: ['10.96.0.10'], ...shared }, 10);
    setEndpoints('old', ['10.16.0.2']);
    assert.deepEqual([...engine.takeSettled()], [], 'rights are settled with the round');
    await engine.untilApplied();
    assert.deepEqual([...engine.takeSettled()].toSorted(), ['default/old', 'default/young']);
    assert.match(table.text, /slots4 192\.0\.2\.7 \. 6 \. 80 \. 0 10\.16\.0\.2/);
    assert.match(table.text, /slots4 10\.96\.0\.11 \. 6 \. 80 \. 0 10\.16\.0\.3/, 'it keeps its other addresses');
    const [problem] = engine.problemsOf('default/young');
    assert.match(problem?.message ?? '', /192\.0\.2\.7 6 80.*default\/old/);
    deleteService('old');
    await engine.untilApplied();
    assert.deepEqual([...engine.takeSettled()].toSorted(), ['default/old', 'default/young']);
    assert.match(table.text, /slots4 192\.0\.2\.7 \. 6 \. 80 \. 0 10\.16\.0\.3/);
    assert.doesNotMatch(table.text, /10\.96\.0\.10 /);
    assert.deepEqual(engine.problemsOf('default/young'), []);
    await engine.close();
  });

  test('one problem names the addresses that another Service has, however many they are', async () => {
    const { engine, setService } = bed();
    const externalIPs = Array.from({ length: 100 }, (_, index) => `192.0.2.${index}`);
    setService('old', { clusterIPs: ['10.96.0.10'], externalIPs }, 10);
    setService('young', { clusterIPs: ['10.96.0.11'], externalIPs }, 20);
    engine.start();
    await engine.untilApplied();
    const problems = engine.problemsOf('default/young');
    assert.equal(problems.length, 1);
    assert.match(problems[0]?.message ?? '', /192\.0\.2\.0 6 80, .* and 92 more \(address/);
    await engine.close();
  });

  test('health checks are taken when one has changed', async () => {
    const { engine, setService, setEndpoints } = bed();
    const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 };
    setService('lb', { clusterIPs: ['10.96.0.10'], ...spec });
    setService('web', { clusterIPs: ['10.96.0.11'] });
    engine.start();
    await engine.untilApplied();
    assert.deepEqual(
      [...(engine.takeHealthChecks() ?? [])].map(({ port, localEndpoints }) => [port, localEndpoints]),
      [[31_000, 0]],
    );
    setEndpoints('web', ['10.16.0.2']);
    await engine.untilApplied();
    assert.equal(engine.takeHealthChecks(), undefined);
    setService('lb', { clusterIPs: ['10.96.0.10'] });
    await engine.untilApplied();
    assert.deepEqual([...(engine.takeHealthChecks() ?? ['none'])], []);
    await engine.close();
  });

  test('a changed zone of the node changes only Services with hints', async () => {
    const { table, engine, facts, setService, setEndpoints } = bed();
    setService('web', { clusterIPs: ['10.96.0.10'] });
    setEndpoints('web', ['10.16.0.2', '10.16.0.3'], '1', ['a', 'b']);
    setService('plain', { clusterIPs: ['10.96.0.11'] });
    setEndpoints('plain', ['10.16.0.4']);
    engine.start();
    await engine.untilApplied();
    facts.zone = 'b';
    engine.nodeChanged();
    await engine.untilApplied();
    assert.match(table.text, /services4 10\.96\.0\.10 \. 6 \. 80 goto all4-1/);
    const { removed, added } = table.writes.at(-1) ?? { removed: [], added: [] };
    assert.ok([...removed, ...added].every(({ key }) => key.startsWith('10.96.0.10')));
    facts.cidr = '10.97.0.0/16';
    engine.nodeChanged();
    await engine.untilApplied();
    assert.match(table.text, /service-cidrs4 10\.97\.0\.0\/16/);
    assert.doesNotMatch(table.text, /service-cidrs4 10\.96/);
    await engine.close();
  });
});

test('after random changes, the table equals that of a cold start', async () => {
  const random = randomOf(20);
  const table = new MemoryTable();
  const live = bed(table);
  live.engine.start();
  await live.engine.untilApplied();
  const services = new Map<string, readonly [object, number]>();
  const slices = new Map<string, readonly string[]>();
  for (let step = 0; step < 400; step += 1) {
    const name = `s${random(6)}`;
    if (random(3) > 0) {
      const slice = `${random(3)}`;
      const addresses = Array.from({ length: random(5) }, () => `10.16.0.${random(9) + 2}`);
      slices.set(`${name} ${slice}`, [...new Set(addresses)]);
      live.setEndpoints(name, slices.get(`${name} ${slice}`) ?? [], slice);
    } else if (random(4) === 0) {
      services.delete(name);
      live.deleteService(name);
    } else {
      const spec = {
        clusterIPs: [`10.96.0.${Number(name.slice(1)) + 10}`],
        type: ['ClusterIP', 'NodePort', 'LoadBalancer'][random(3)],
        externalIPs: random(2) === 0 ? ['192.0.2.7'] : [],
        externalTrafficPolicy: ['Cluster', 'Local'][random(2)],
        internalTrafficPolicy: ['Cluster', 'Local'][random(2)],
        sessionAffinity: ['None', 'ClientIP'][random(2)],
        ports: [{ port: 80, nodePort: 30_080 + random(3), protocol: ['TCP', 'UDP'][random(2)] }],
      };
      services.set(name, [spec, random(3)]);
      live.setService(name, spec, services.get(name)?.[1]);
    }
    if (random(4) === 0) await live.engine.untilApplied();
    if (random(20) > 0) continue;
    // A refused round, and another program that changes or deletes the table.
    table.isRefusing = random(2) === 0;
    await sleep(30);
    table.isRefusing = false;
    table.isIntact = random(2) === 0;
    for (const members of table.elements.values())
      for (const key of members.keys()) if (!table.isIntact || random(3) === 0) members.delete(key);
    live.engine.doubt();
  }
  await live.engine.untilApplied();
  const cold = bed();
  for (const [name, [spec, seconds]] of services) cold.setService(name, spec, seconds);
  for (const [key, addresses] of slices) {
    const [name = '', slice] = key.split(' ');
    cold.setEndpoints(name, addresses, slice);
  }
  cold.engine.start();
  await cold.engine.untilApplied();
  // Endpoints may have other numbers.
  const unnumbered = (text: string): readonly string[] =>
    text
      .split('\n')
      .map((line) => line.replace(/^(\S*slots. .*) \. \d+ /, '$1 '))
      .toSorted();
  assert.deepEqual(unnumbered(table.text), unnumbered(cold.table.text));
  await Promise.all([live.engine.close(), cold.engine.close()]);
});

test('one changed slice costs the same with 10 and 10,000 Services', async () => {
  const opened = await Promise.all(
    [10, 10_000].map(async (count) => {
      const one = bed();
      for (let number = 1; number <= count; number += 1) {
        one.setService(`s${number}`, { clusterIPs: [ip(number)] });
        one.setEndpoints(`s${number}`, ['10.16.0.2', '10.16.0.3', '10.16.0.4']);
      }
      one.engine.start();
      await one.engine.untilApplied();
      return one;
    }),
  );
  const changeOf = (at: number) => {
    let turn = 0;
    return async (): Promise<void> => {
      for (let times = 0; times < 30; times += 1) {
        turn += 1;
        opened[at]?.setEndpoints('s5', ['10.16.0.2', '10.16.0.3', ...(turn % 2 === 0 ? ['10.16.0.4'] : [])]);
        await opened[at]?.engine.untilApplied();
      }
    };
  };
  const growth = await growthOf({ small: changeOf(0), large: changeOf(1) });
  assert.ok(growth < 3, `${growth}`);
  await Promise.all(opened.map(({ engine }) => engine.close()));
});
