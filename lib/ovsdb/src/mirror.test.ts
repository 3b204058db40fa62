import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  type Mutation,
  openOvsdb,
  type Operation,
  type OvsdbClient,
  type Row,
  TransactionRejected,
  type WriteValue,
} from './index.ts';
import { startOvsdbServer } from './testing.ts';

const schema = fileURLToPath(new URL('testdata/every-type.ovsschema', import.meta.url));
const rounds = 200;

/** Numbers of [0, below) that are the same in every run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

class Writer {
  readonly #random: (below: number) => number;
  #names = 0;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  /** A transaction of one to four operations, some of which the server will refuse. */
  transaction(roots: readonly Row[]): readonly Operation[] {
    return Array.from({ length: 1 + this.#random(4) }, () => this.#operations(roots)).flat();
  }

  #operations(roots: readonly Row[]): readonly Operation[] {
    const root = roots[this.#random(roots.length)];
    if (root === undefined || this.#random(4) === 0) return this.#insert(roots);
    const where = [['_uuid', '==', root._uuid]] as const;
    const table = 'Root';
    switch (this.#random(8)) {
      case 0:
        return [{ op: 'delete', table, where }];
      case 1:
      case 2:
      case 3:
        return [{ op: 'update', table, where, row: this.#columns(roots) }];
      default:
        return [{ op: 'mutate', table, where, mutations: this.#mutations() }];
    }
  }

  #insert(roots: readonly Row[]): readonly Operation[] {
    const leaf = `leaf${this.#names++}`;
    const row = {
      ...this.#columns(roots),
      name: `root${this.#names}`,
      leaves: [{ named: leaf }],
      leaf_by_name: { a: { named: leaf } },
    };
    return [
      { op: 'insert', table: 'Leaf', uuidName: leaf, row: { name: leaf, tags: this.#words() } },
      { op: 'insert', table: 'Root', row },
    ];
  }

  #columns(roots: readonly Row[]): Readonly<Record<string, WriteValue>> {
    const all: Readonly<Record<string, () => WriteValue>> = {
      integer: () => this.#random(3) - 1,
      real: () => this.#random(8) / 4,
      flag: () => this.#random(2) === 0,
      choice: () => ['red', 'green', '', 'no choice'][this.#random(4)] ?? '',
      maybe: () => (this.#random(2) === 0 ? null : this.#random(3)),
      maybe_name: () => (this.#random(2) === 0 ? null : this.#word()),
      pair: () => [this.#random(3), 3 + this.#random(2)],
      strings: () => this.#words(),
      integers: () => [...new Set([this.#random(30), this.#random(30)])],
      texts: () => this.#texts(),
      numbered: () => ({ [this.#random(12)]: this.#random(8) / 8, [-1]: 0.5 }),
      one_entry: () => (this.#random(2) === 0 ? {} : { [this.#word()]: this.#random(3) }),
      leaves: () => [],
      leaf_by_name: () => ({}),
      friend: () => roots[this.#random(roots.length)]?._uuid ?? null,
    };
    const chosen = Object.entries(all).filter(() => this.#random(4) === 0);
    return Object.fromEntries(chosen.map(([name, value]) => [name, value()]));
  }

  #mutations(): readonly Mutation[] {
    const all: readonly (() => Mutation)[] = [
      () => ['integer', '+=', 1],
      () => ['strings', 'insert', this.#words()],
      () => ['strings', 'delete', this.#words()],
      () => ['integers', 'insert', [this.#random(30)]],
      () => ['texts', 'insert', this.#texts()],
      () => ['texts', 'delete', [this.#word()]],
      () => ['texts', 'delete', this.#texts()],
      () => ['numbered', 'delete', [String(this.#random(12))]],
    ];
    return all.filter(() => this.#random(3) === 0).map((mutation) => mutation());
  }

  #word(): string {
    return ['a', 'b', 'grün', '網', '', '"{\\', '__proto__', '7'][this.#random(8)] ?? '';
  }

  #words(): readonly string[] {
    return [...new Set(Array.from({ length: this.#random(4) }, () => this.#word()))];
  }

  #texts(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#words().map((word) => [word, this.#word()]));
  }
}

function rowsOf(client: OvsdbClient, table: string): readonly Row[] {
  return inOrder([...client.cache.table(table).rows.values()]);
}

function inOrder(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((a, b) => (a._uuid < b._uuid ? -1 : 1));
}

async function select(client: OvsdbClient, table: string): Promise<readonly Row[]> {
  const [result] = await client.transact([{ op: 'select', table, where: [] }]);
  return inOrder(result?.rows ?? []);
}

test('after random transactions the caches equal the server, and the reported changes add up to it', async (t) => {
  const server = await startOvsdbServer({ schema });
  t.after(() => server.stop());
  const options = { remotes: [server.remote], database: 'Every_Type', monitor: { Root: undefined, Leaf: undefined } };
  const [writer, reader] = await Promise.all([openOvsdb(options), openOvsdb(options)]);
  t.after(() => Promise.all([writer.close(), reader.close()]));
  const mirrored = new Map<string, Row>();
  reader.subscribe((changes) => {
    for (const { table, uuid, before, after } of changes) {
      assert.deepEqual(before, mirrored.get(`${table} ${uuid}`));
      if (after === undefined) mirrored.delete(`${table} ${uuid}`);
      else mirrored.set(`${table} ${uuid}`, after);
    }
  });
  const random = new Writer(42);
  let refused = 0;
  for (let round = 0; round < rounds; round++) {
    try {
      await writer.transact(random.transaction(rowsOf(writer, 'Root')));
    } catch (error) {
      if (!(error instanceof TransactionRejected)) throw error;
      refused++;
    }
    const cached = [rowsOf(writer, 'Root'), rowsOf(writer, 'Leaf')];
    assert.deepEqual(cached, [await select(writer, 'Root'), await select(writer, 'Leaf')], `round ${round}`);
  }
  assert.ok(refused > 0 && refused < rounds / 2, `${refused} of ${rounds} refused`);
  assert.ok(rowsOf(writer, 'Root').length > 10);
  // The answer to the reader's own request comes after all earlier updates.
  await reader.transact([{ op: 'comment', comment: 'fence' }]);
  assert.deepEqual(reader.cache.table('Root').rows, writer.cache.table('Root').rows);
  assert.equal(mirrored.size, reader.cache.table('Root').rows.size + reader.cache.table('Leaf').rows.size);
  assert.deepEqual(new Set(mirrored.values()), new Set([...rowsOf(reader, 'Root'), ...rowsOf(reader, 'Leaf')]));
});
