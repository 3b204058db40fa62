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
    ['hunter,2', (text: string) => `AWS_SECRET_ACCESS_KEY=${text} rest`],
    ['hunter2', (text: string) => `password: |\n  ${text}\nrest`],
    ['hunter 2', (text: string) => String.raw`"{\"apiKey\": \"${text}\", \"rest\": 1}"`],
  ] as const) {
    const redacted = redactText(around(secret));
    assert.ok(!redacted.includes(secret), redacted);
    assert.match(redacted, /\(left out\)[\s\S]*rest/);
  }
  const harmless = ['passwordSecret is missing', 'isthmus1 node', '10.16.0.2 → 10.17.0.3', 'secretName: isthmus-ovn'];
  for (const text of [authority.certificate, ...harmless]) assert.equal(redactText(text), text);
});

test('a long text of a hostile author takes linear time', () => {
  for (const part of ['a-', '-eyJxxxxxxxx', 'password', '-----BEGIN PRIVATE KEY-----', 'token: |\n '])
    assert.ok(redactText(part.repeat(50_000)).length > 0, part);
});

test('secrets are left out of objects: by key, as a pair of name and value, and in texts', () => {
  const redacted = redactObject({
    metadata: { name: 'a', uid: 'u', resourceVersion: '1' },
    spec: {
      apiKey: 'x1',
      secretName: 'kept-1',
      env: [
        { name: 'DB_PASSWORD', value: 'x2' },
        { name: 'HOST', value: 'kept-2' },
      ],
      automountServiceAccountToken: false,
    },
    data: { config: 'user: kept-3\npassword: x3\n', token: 'x4' },
  });
  const text = JSON.stringify(redacted);
  for (const kept of ['kept-1', 'kept-2', 'kept-3']) assert.ok(text.includes(kept), text);
  assert.doesNotMatch(text, /x[1-4]/);
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
        'ad.datadoghq.com/check': '[{"key": "x"}]',
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
