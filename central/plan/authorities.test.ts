import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority, splitPem } from '../../lib/pki/certificate.ts';
import { bundleOf, isAuthorityDue, joinPem, signerOf } from './authorities.ts';

const hour = 60 * 60 * 1000;
const year = 365 * 24 * hour;

test('an authority that is alone signs at once; a second one only after everybody can know it', async () => {
  const first = await createAuthority('test', 0);
  assert.equal(signerOf([first], 0), first);
  const second = await createAuthority('test', 7 * year);
  const set = [second, first];
  assert.equal(signerOf(set, 7 * year + hour / 2), first);
  assert.equal(signerOf(set, 7 * year + hour), second);
  assert.deepEqual(
    splitPem(bundleOf(set, 7 * year)),
    set.map(({ certificate }) => certificate.trim()),
  );
  assert.deepEqual(splitPem(bundleOf(set, 11 * year)), [second.certificate.trim()], 'one that ran out is not trusted');
  assert.equal(signerOf([first], 11 * year), undefined);
});

test('another authority is due after two thirds of its life', async () => {
  const authority = await createAuthority('test', 0);
  assert.equal(isAuthorityDue([], 0), true);
  assert.equal(isAuthorityDue([authority], 6 * year), false);
  assert.equal(isAuthorityDue([authority], 7 * year), true);
});

test('keys and certificates of a set survive their Secret', async () => {
  const parts = await Promise.all([createAuthority('a', 0), createAuthority('b', 0)]);
  for (const field of ['key', 'certificate'] as const) {
    const texts = parts.map((part) => part[field].trim());
    assert.deepEqual(splitPem(joinPem(texts)), texts);
  }
  assert.deepEqual(splitPem('nothing'), []);
});
