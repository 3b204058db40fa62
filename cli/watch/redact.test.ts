import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createAuthority } from '../../lib/pki/certificate.ts';
import { createToken } from '../../lib/pki/join-token.ts';
import { redactObject, redactPod, redactText } from './redact.ts';

test('private keys, tokens and passwords are left out of texts, and nothing else', async () => {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const authority = await createAuthority('hub', Date.now());
  const join = createToken(authority, { cluster: 'west', hub: 'hub:1', expiresMs: 1, replace: false });
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';
  for (const [secret, around] of [
    [privateKey.trim(), (text: string) => `tls.key: |\n${text}\nrest`],
    [join, (text: string) => `{"msg":"joined with ${text}"} rest`],
    [jwt, (text: string) => `token: ${text}\nrest`],
    ['c2VjcmV0LXRva2Vu', (text: string) => `authorization: Bearer ${text}, rest`],
    ['hunter2', (text: string) => `password: ${text}\nrest`],
    ['hunter2', (text: string) => `{"bgpPassword": "${text}", "rest": 1}`],
    ['hunter 2', (text: string) => `passphrase = '${text}' rest`],
  ] as const) {
    const redacted = redactText(around(secret));
    assert.ok(!redacted.includes(secret), redacted);
    assert.match(redacted, /\(left out\)[\s\S]*rest/);
  }
  for (const text of [authority.certificate, 'passwordSecret is missing', 'isthmus1 node', '10.16.0.2 → 10.17.0.3'])
    assert.equal(redactText(text), text);
});

test('of a pod of another owner, commands, environments and volumes are left out', () => {
  const container = { name: 'db', image: 'db:1', ports: [{ containerPort: 5432 }], env: [{ name: 'A', value: 'x' }] };
  const redacted = redactPod({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'db',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '1',
      managedFields: [{ manager: 'm' }],
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
        'ovn.kubernetes.io/ip_address': '10.16.0.2',
      },
    },
    spec: { nodeName: 'n1', volumes: [{ name: 'v' }], containers: [{ ...container, command: ['db', '--key=x'] }] },
    status: { phase: 'Running', podIP: '10.16.0.2', containerStatuses: [{ name: 'db' }] },
  });
  assert.deepEqual(redacted, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'db',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '1',
      annotations: { 'ovn.kubernetes.io/ip_address': '10.16.0.2' },
    },
    spec: { nodeName: 'n1', containers: [{ name: 'db', image: 'db:1', ports: [{ containerPort: 5432 }] }] },
    status: { phase: 'Running', podIP: '10.16.0.2', conditions: undefined },
  });
});

test('an object without annotations has none afterwards', () => {
  const metadata = { name: 'a', uid: 'u', resourceVersion: '1' };
  assert.deepEqual(redactObject({ metadata }), { metadata });
});
