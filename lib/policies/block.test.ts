import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockNetworks, hasTooManyNetworks } from './block.ts';

test('exceptions are subtracted from their own block', () => {
  const ten = { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] };
  assert.deepEqual(blockNetworks([ten], 4), [
    '10.0.0.0/16',
    '10.128.0.0/9',
    '10.16.0.0/12',
    '10.2.0.0/15',
    '10.32.0.0/11',
    '10.4.0.0/14',
    '10.64.0.0/10',
    '10.8.0.0/13',
  ]);
  assert.ok(blockNetworks([ten, { cidr: '10.1.2.0/24', except: [] }], 4).includes('10.1.2.0/24'));
  assert.deepEqual(blockNetworks([ten], 6), []);
});

test('four exceptions are at most 64 networks', () => {
  const except = ['10.1.0.0/16', '10.2.3.0/24', '10.200.7.0/24', '10.9.9.9/32'];
  assert.ok(blockNetworks([{ cidr: '10.0.0.0/8', except }], 4).length <= 64);
});

test('a block without a rest, or with an invalid part, is nothing', () => {
  assert.deepEqual(blockNetworks([{ cidr: '10.0.0.0/24', except: ['10.0.0.0/8'] }], 4), []);
  assert.deepEqual(blockNetworks([{ cidr: 'fd00::/64', except: ['fd00::/65', 'fd00::8000:0:0:0/65'] }], 6), []);
  assert.deepEqual(blockNetworks([{ cidr: 'x', except: [] }], 4), []);
  assert.deepEqual(blockNetworks([{ cidr: '10.0.0.0/8', except: ['x'] }], 4), []);
});

test('an exception of the other family, or outside, has no effect', () => {
  assert.deepEqual(blockNetworks([{ cidr: '10.0.0.0/8', except: ['fd00::/64', '11.0.0.0/8'] }], 4), ['10.0.0.0/8']);
});

test('too many exceptions or networks allow nothing', () => {
  const except = Array.from({ length: 257 }, (_, index) => `10.0.${index % 256}.${index >> 8}/32`);
  const block = [{ cidr: '10.0.0.0/8', except }];
  assert.deepEqual([blockNetworks(block, 4), hasTooManyNetworks(block)], [[], true]);
  const addresses = Array.from({ length: 10_001 }, (_, index) => ({
    cidr: `10.1.${index >> 8}.${index & 255}/32`,
    except: [],
  }));
  assert.deepEqual([blockNetworks(addresses, 4), hasTooManyNetworks(addresses)], [[], true]);
  const enough = addresses.slice(1);
  assert.deepEqual([blockNetworks(enough, 4).length, hasTooManyNetworks(enough)], [10_000, false]);
});
