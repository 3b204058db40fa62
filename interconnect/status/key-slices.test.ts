import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeySlice, KeySliceObject } from '../model/key-slice.ts';
import { KeySliceWriter } from './key-slices.ts';

const slice = (fields: Partial<KeySlice> = {}): KeySlice => ({
  cidr: '100.126.0.0/16',
  isOwn: false,
  gateways: [],
  ...fields,
});

test('slices are created, changed and deleted where they differ, each change once', async () => {
  const objects = new Map<string, KeySliceObject>([
    ['same', { uid: '1', ...slice() }],
    ['other', { uid: '2', ...slice({ isOwn: true }) }],
    ['gone', { uid: '3', ...slice() }],
  ]);
  const done: string[] = [];
  const note = (verb: string, name: string) => Promise.resolve(done.push(`${verb} ${name}`));
  const client = {
    create: (_: unknown, object: { metadata: { name: string } }) => note('create', object.metadata.name),
    patch: (_: unknown, { name }: { name: string }) => note('patch', name),
    delete: (_: unknown, { name }: { name: string }) => note('delete', name),
  };
  const writer = new KeySliceWriter({
    client: client as never,
    writer: { enqueue: (_, write) => write().then(() => 'written' as const) },
    slices: { get: (name) => objects.get(name), entries: () => objects.entries() },
  });
  const wanted = new Map([
    ['same', slice()],
    ['other', slice()],
    ['new', slice()],
  ]);
  writer.write(wanted);
  writer.write(wanted);
  await Promise.resolve();
  assert.deepEqual(done.sort(), ['create new', 'delete gone', 'patch other']);
  // The watch shows that another program has changed it back.
  writer.seen('other');
  writer.write(wanted);
  assert.deepEqual(done.slice(3), ['patch other']);
});
