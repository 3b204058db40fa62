import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeApiError } from '../kube/errors.ts';
import { bgpNodeStates, bgpRouteSlices } from '../kube/resources.ts';
import type { KubeClient, RawObject } from '../kube/types.ts';
import { ObjectWriter } from '../kube/writer.ts';
import { eventually, notYet } from '../testing-eventually.ts';
import { parseSlice, type SlicedKind } from './slice.ts';
import { SliceWriter } from './writer.ts';

interface Entry {
  readonly key: string;
  readonly value: number;
}

const kind: SlicedKind<Entry> = {
  owners: bgpNodeStates,
  slices: bgpRouteSlices,
  label: 'owner',
  mostEntries: 2,
  parse: (raw) => (raw['routes'] ?? []) as readonly Entry[],
  sample: () => [],
  keyOf: ({ key }) => key,
};
const owner = { name: 'n1', uid: 'u' };
const list = (text: string, value = 0): readonly Entry[] => text.split('').map((key) => ({ key, value }));

/** An API server of which the watch brings changes only when `deliver` is called. */
class Server {
  readonly writes: string[] = [];
  readonly #objects = new Map<string, RawObject>();
  readonly #seen = new Map<string, RawObject>();
  readonly #changes: (readonly [string, RawObject | undefined])[] = [];
  #version = 9;

  readonly client = {
    create: (_: unknown, body: RawObject) => this.#put('create', body, undefined),
    patch: (_: unknown, { name }: { name: string }, __: string, body: RawObject) => {
      const before = this.#objects.get(name);
      if (before === undefined) throw new KubeApiError(404, 'NotFound', `${name} not found`);
      return this.#put('patch', body, before);
    },
    delete: async (_: unknown, { name }: { name: string }) => {
      this.writes.push(`delete ${name}`);
      this.lose(name);
    },
  } as unknown as Pick<KubeClient, 'create' | 'patch' | 'delete'>;

  async #put(verb: string, body: RawObject, before: RawObject | undefined): Promise<RawObject> {
    const { name } = body.metadata;
    if (verb === 'create' && this.#objects.has(name)) throw new KubeApiError(409, 'AlreadyExists', `${name} exists`);
    this.writes.push(
      `${verb} ${name} ${kind
        .parse(body)
        .map(({ key }) => key)
        .join('')}`,
    );
    this.#version += 1;
    const raw = { ...before, ...body, metadata: { ...body.metadata, uid: name, resourceVersion: `${this.#version}` } };
    this.#objects.set(name, raw);
    this.#changes.push([name, raw]);
    return raw;
  }

  /** As another client would. */
  lose(name: string): void {
    this.#objects.delete(name);
    this.#changes.push([name, undefined]);
  }

  deliver(to: SliceWriter<Entry>, count = Infinity): void {
    for (const [name, raw] of this.#changes.splice(0, count)) {
      const [before, after] = [this.#seen.get(name), raw];
      if (after === undefined) this.#seen.delete(name);
      else this.#seen.set(name, after);
      to.seen(before && parseSlice(kind, before), after && parseSlice(kind, after));
    }
  }

  get entries(): string {
    const all = [...this.#objects.values()].flatMap((raw) => kind.parse(raw));
    return all
      .map(({ key }) => key)
      .toSorted()
      .join('');
  }

  /** All that there is, to a writer that starts. */
  tellAll(to: SliceWriter<Entry>): void {
    for (const raw of this.#objects.values()) to.seen(undefined, parseSlice(kind, raw));
  }
}

function open(): {
  server: Server;
  slices: SliceWriter<Entry>;
  write: (text: string, value?: number) => Promise<string[]>;
} {
  const server = new Server();
  const writer = new ObjectWriter();
  const slices = new SliceWriter(kind, { client: server.client, writer });
  const write = async (text: string, value = 0): Promise<string[]> => {
    slices.write(owner, list(text, value));
    await writer.idle();
    return server.writes.splice(0);
  };
  return { server, slices, write };
}

describe('SliceWriter', () => {
  it('writes what differs, and nothing again while the watch has not caught up', async () => {
    const { server, slices, write } = open();
    assert.deepEqual(await write('abc'), ['create n1.0 ab', 'create n1.1 c']);
    assert.deepEqual(await write('abc'), []);
    assert.deepEqual(await write('abcd'), ['patch n1.1 cd']);
    // The first versions arrive behind the later write.
    server.deliver(slices, 2);
    assert.deepEqual(await write('abcd'), []);
    server.deliver(slices);
    assert.deepEqual(await write('abcd'), []);
    assert.deepEqual(await write('cd'), ['delete n1.0']);
    assert.deepEqual(await write('cd'), []);
    server.deliver(slices);
    assert.deepEqual(await write('cd'), []);
    assert.equal(server.entries, 'cd');
  });

  it('compares the same list once, until a slice is different', async () => {
    const server = new Server();
    const writer = new ObjectWriter();
    let compared = 0;
    const counting = { ...kind, keyOf: (entry: Entry) => ((compared += 1), entry.key) };
    const slices = new SliceWriter(counting, { client: server.client, writer });
    const wanted = list('abc');
    const again = async (): Promise<boolean> => {
      compared = 0;
      slices.write(owner, wanted);
      await writer.idle();
      return compared > 0;
    };
    assert.equal(await again(), true);
    assert.equal(await again(), true);
    assert.equal(await again(), false);
    server.lose('n1.0');
    server.deliver(slices);
    assert.equal(await again(), true);
    assert.equal(server.entries, 'abc');
  });

  it('does not plan a list again while it is being written, and another one as soon as that is done', async () => {
    const server = new Server();
    const writer = new ObjectWriter();
    let compared = 0;
    const comparedBy = (write: () => void): number => {
      compared = 0;
      write();
      return compared;
    };
    const counting = { ...kind, keyOf: (entry: Entry) => ((compared += 1), entry.key) };
    const gate = Promise.withResolvers<void>();
    const create: typeof server.client.create = async (resource, body) => {
      const raw = await server.client.create(resource, body);
      server.deliver(slices);
      if (raw.metadata.name === 'n1.1') await gate.promise;
      return raw;
    };
    const slices = new SliceWriter(counting, { client: { ...server.client, create }, writer });
    const wanted = list('abc');
    slices.write(owner, wanted);
    await eventually('both slices', () => server.writes.length === 2 || notYet(server.writes.join()));
    assert.equal(
      comparedBy(() => slices.write(owner, wanted)),
      0,
    );
    assert.notEqual(
      comparedBy(() => slices.write(owner, list('abd'))),
      0,
    );
    gate.resolve();
    await writer.idle();
    assert.deepEqual(server.writes, ['create n1.0 ab', 'create n1.1 c', 'patch n1.1 d']);
  });

  it('restores a slice that another client deleted while the list was being written', async () => {
    const server = new Server();
    const writer = new ObjectWriter();
    const gate = Promise.withResolvers<void>();
    const create: typeof server.client.create = async (resource, body) => {
      const raw = await server.client.create(resource, body);
      if (raw.metadata.name === 'n1.1') await gate.promise;
      return raw;
    };
    const slices = new SliceWriter(kind, { client: { ...server.client, create }, writer });
    const wanted = list('abc');
    slices.write(owner, wanted);
    await eventually('both slices', () => server.writes.length === 2 || notYet(server.writes.join()));
    server.deliver(slices);
    server.lose('n1.0');
    server.deliver(slices);
    slices.write(owner, wanted);
    gate.resolve();
    await writer.idle();
    assert.equal(server.entries, 'abc');
  });

  it('of a restart writes nothing', async () => {
    const { server, write } = open();
    await write('abc');
    const writer = new ObjectWriter();
    const next = new SliceWriter(kind, { client: server.client, writer });
    server.tellAll(next);
    next.write(owner, list('cba'));
    await writer.idle();
    assert.deepEqual(server.writes, []);
  });

  it('restores slices that another client deleted or changed', async () => {
    const { server, slices, write } = open();
    await write('abc');
    server.lose('n1.0');
    // The watch has not delivered it yet: the write of one slice fails, and the next one succeeds.
    assert.deepEqual(await write('abc', 1), ['patch n1.1 c']);
    server.deliver(slices);
    assert.deepEqual(await write('abc', 1), ['create n1.0 ab']);
    assert.equal(server.entries, 'abc');
  });

  it('writes several slices of an owner at a time', async () => {
    const server = new Server();
    const writer = new ObjectWriter();
    let [inFlight, most] = [0, 0];
    const begun: string[] = [];
    const client = {
      ...server.client,
      create: async (resource: never, body: RawObject) => {
        most = Math.max(most, (inFlight += 1));
        begun.push(body.metadata.name);
        await new Promise(setImmediate);
        inFlight -= 1;
        return server.client.create(resource, body);
      },
    } as unknown as typeof server.client;
    const slices = new SliceWriter(kind, { client, writer });
    slices.write(owner, list('abcdefghijklmnopqrstuvwx'));
    await writer.idle();
    assert.deepEqual([begun.length, most], [12, 8]);
    assert.equal(server.entries, 'abcdefghijklmnopqrstuvwx');
  });

  it('deletes all slices of a removed owner, also of one that it never wrote for', async () => {
    const { server, slices, write } = open();
    await write('abc');
    server.deliver(slices);
    const writer = new ObjectWriter();
    const next = new SliceWriter(kind, { client: server.client, writer });
    server.tellAll(next);
    assert.deepEqual([...next.owners], ['n1']);
    next.remove('n1');
    await writer.idle();
    assert.deepEqual(server.writes, ['delete n1.0', 'delete n1.1']);
    assert.equal(server.entries, '');
  });

  it('gives an owner of the same name the slices of the one before', async () => {
    const { server, slices, write } = open();
    await write('abc');
    server.deliver(slices);
    const writer = new ObjectWriter();
    const next = new SliceWriter(kind, { client: server.client, writer });
    server.tellAll(next);
    next.write({ name: 'n1', uid: 'other' }, list('x'));
    await writer.idle();
    assert.deepEqual(server.writes, ['patch n1.0 x', 'delete n1.1']);
  });
});
