import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { secretStore } from './identity.ts';
import { encodeSecret } from '../../lib/kube/secret-data.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { createKey, createRequest, verifyRequest } from '../../lib/pki/certificate.ts';
import { createHubAuthority, issueMember } from '../link/certificate.ts';

async function identity(name: string): Promise<Record<'tls.key' | 'tls.crt' | 'ca.crt', string>> {
  const authority = await createHubAuthority(Date.now());
  const key = await createKey();
  const request = await verifyRequest(await createRequest(key, name));
  assert.ok(request);
  const certificate = await issueMember(authority, request.publicKey, name, Date.now());
  return { 'tls.key': key, 'tls.crt': certificate, 'ca.crt': authority.certificate };
}

const load = (data: Readonly<Record<string, string | undefined>>) =>
  secretStore(
    { get: () => Promise.resolve({ data: encodeSecret(data) }) } as unknown as KubeClient,
    'kube-system',
  ).load();

describe('the Secret with the identity of a cluster', () => {
  it('is loaded', async () => {
    const whole = await identity('east');
    assert.deepEqual(await load({ ...whole, token: 't' }), {
      key: whole['tls.key'],
      certificate: whole['tls.crt'],
      ca: whole['ca.crt'],
      token: 't',
    });
    assert.deepEqual(await load({ 'tls.key': whole['tls.key'] }), { key: whole['tls.key'] });
    assert.equal(await load({}), undefined);
  });

  it('is refused when any part of it is damaged, lost or that of another cluster', async () => {
    const [whole, other] = await Promise.all([identity('east'), identity('west')]);
    const damages: Readonly<Record<string, string | undefined>>[] = [
      { 'tls.key': 'not PEM' },
      { 'tls.key': undefined },
      { 'tls.key': '' },
      { 'tls.key': other['tls.key'] },
      { 'tls.crt': whole['tls.crt'].slice(0, 200) },
      { 'ca.crt': 'not PEM' },
    ];
    for (const damage of damages)
      await assert.rejects(load({ ...whole, ...damage }), { code: 'IdentityDamaged' }, JSON.stringify(damage));
  });
});
