/**
 * Elements of the table of Services as bytes, for sets and maps whose keys are single values. The layout is that of the types in
 * plan/services/skeleton.ts: the fields of a concatenation in turn, each filled up to four bytes.
 */
import { changeElements, type Change, type SetElement, type Verdict } from '../../lib/netlink/nftables.ts';
import { ipBytes, u32 } from '../../lib/netlink/message.ts';
import type { TableChanges, TableElement } from '../model/service-table.ts';

type Field = 'address' | 'protocol' | 'port' | 'number';

const frontend = ['address', 'protocol', 'port'] as const;
const endpoint = ['address', 'port'] as const;

/** Set or map, without the digit of its family → fields of a key, and of a value: none in a set, `verdict`, or fields. */
const layouts: Readonly<
  Record<string, { readonly key: readonly Field[]; readonly value?: 'verdict' | readonly Field[] }>
> = {
  'own-pods': { key: ['address'] },
  'internal-addresses': { key: ['address'] },
  'other-nodes': { key: ['address'] },
  'node-addresses': { key: ['address'] },
  'cluster-ips': { key: ['address'] },
  services: { key: frontend, value: 'verdict' },
  slots: { key: [...frontend, 'number'], value: endpoint },
  outside: { key: frontend, value: 'verdict' },
  'local-slots': { key: [...frontend, 'number'], value: endpoint },
  refused: { key: frontend, value: 'verdict' },
  'outside-refused': { key: frontend, value: 'verdict' },
  frontends: { key: frontend },
  kept: { key: frontend },
  'node-local': { key: frontend },
  ranged: { key: frontend },
  sticky: { key: frontend, value: 'verdict' },
  'sticky-endpoints': { key: [...frontend, ...endpoint] },
};

/** One transaction deletes and adds at most this many elements by messages of our own: all fit into the buffer of a socket. */
const most = 1000;

/** The changes as messages; undefined if nft(8) has to write them: intervals, names of interfaces, or too many for one message to the kernel. */
export function encodeElements(table: string, { removed, added }: TableChanges): readonly Change[] | undefined {
  if (removed.length + added.length > most) return undefined;
  const changes: Change[] = [];
  for (const [verb, elements] of [
    ['delete', removed],
    ['add', added],
  ] as const)
    for (const [set, members] of Map.groupBy(elements, (element) => element.set)) {
      const encoded: SetElement[] = [];
      for (const member of members) {
        const element = encodeOne(member, verb === 'add');
        if (element === undefined) return undefined;
        encoded.push(element);
      }
      changes.push(...changeElements(verb, table, set, encoded));
    }
  return changes;
}

function encodeOne({ set, key, value }: TableElement, isAdded: boolean): SetElement | undefined {
  const layout = layouts[set.slice(0, -1)];
  if (layout === undefined) return undefined;
  const keyBytes = encodeFields(layout.key, key);
  if (!isAdded || layout.value === undefined) return { key: keyBytes, value: undefined };
  return { key: keyBytes, value: layout.value === 'verdict' ? verdictOf(value) : encodeFields(layout.value, value) };
}

function encodeFields(fields: readonly Field[], text: string): Buffer {
  const values = text.split(' . ');
  return Buffer.concat(fields.map((field, at) => encodeField(field, values[at] ?? '')));
}

function encodeField(field: Field, value: string): Buffer {
  switch (field) {
    case 'address':
      return ipBytes(value);
    case 'protocol':
      return Buffer.from([Number(value), 0, 0, 0]);
    case 'port': {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt16BE(Number(value));
      return bytes;
    }
    case 'number':
      return u32(Number(value));
  }
}

function verdictOf(value: string): Verdict {
  if (value === 'accept' || value === 'drop') return value;
  return { goto: value.replace(/^goto /, '') };
}
