import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { loadEndpoint } from './config.ts';
import { KubeConfigError } from './errors.ts';

describe('kubeconfig', () => {
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-config-'));
  after(() => rmSync(dir, { recursive: true }));

  function write(cluster: object, user: object, more: object = {}): string {
    const file = join(dir, 'kubeconfig');
    const config = {
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
      ...more,
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const server = 'https://10.0.0.1:6443/prefix';

  test('certificates come from data, or from files beside the kubeconfig', async () => {
    writeFileSync(join(dir, 'ca.pem'), 'CA');
    const endpoint = await loadEndpoint(
      write(
        { server, 'certificate-authority': 'ca.pem', 'tls-server-name': 'kubernetes' },
        { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
      ),
      {},
    );
    assert.equal(endpoint.server.pathname, '/prefix');
    assert.deepEqual(await endpoint.readCredentials(), {
      headers: {},
      tls: { ca: 'CA', cert: 'CERT', key: 'KEY', servername: 'kubernetes' },
    });
  });

  test('a token file is read anew each time and wins over the token', async () => {
    writeFileSync(join(dir, 'token'), 'one\n');
    const { readCredentials } = await loadEndpoint(write({ server }, { token: 'old', tokenFile: 'token' }), {});
    assert.deepEqual((await readCredentials()).headers, { authorization: 'Bearer one' });
    writeFileSync(join(dir, 'token'), 'two\n');
    assert.deepEqual((await readCredentials()).headers, { authorization: 'Bearer two' });
  });

  test('a user who impersonates another does so in every request', async () => {
    const { readCredentials } = await loadEndpoint(
      write({ server }, { token: 't', as: 'bob', 'as-groups': ['a', 'b'] }),
      {},
    );
    assert.deepEqual((await readCredentials()).headers, {
      authorization: 'Bearer t',
      'impersonate-user': 'bob',
      'impersonate-group': ['a', 'b'],
    });
  });

  test('a user with a login program is left to the Kubernetes client', async () => {
    const script = `process.stdout.write(JSON.stringify({apiVersion:'client.authentication.k8s.io/v1',kind:'ExecCredential',status:{token:'from-program'}}))`;
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', script],
      interactiveMode: 'Never',
    };
    const { readCredentials } = await loadEndpoint(
      write({ server, 'certificate-authority-data': base64('CA') }, { exec }),
      {},
    );
    assert.deepEqual(await readCredentials(), { headers: { authorization: 'Bearer from-program' }, tls: { ca: 'CA' } });
  });

  const refused: readonly [string, () => string, RegExp][] = [
    [
      'plain http',
      () => write({ server: 'http://10.0.0.1' }, {}),
      /clusters\[c\]\.cluster\.server plain http: needs insecure-skip-tls-verify/,
    ],
    ['a proxy', () => write({ server, 'proxy-url': 'http://p' }, {}), /cluster\.proxy-url proxies are not supported/],
    ['a missing server', () => write({}, {}), /cluster\.server is missing/],
    ['an unknown context', () => write({ server }, {}, { 'current-context': 'y' }), /contexts has no entry "y"/],
    ['a missing file', () => join(dir, 'absent'), /absent/],
  ];
  for (const [what, file, message] of refused)
    test(`${what} is refused with the field's name`, async () => {
      await assert.rejects(
        loadEndpoint(file(), {}),
        (error) => error instanceof KubeConfigError && message.test(error.message),
      );
    });

  test('without a kubeconfig the configuration of the pod is used', async () => {
    await assert.rejects(loadEndpoint(undefined, {}), /KUBERNETES_SERVICE_HOST is not set: pass --kubeconfig/);
    const { server } = await loadEndpoint(undefined, {
      KUBERNETES_SERVICE_HOST: 'fd00::1',
      KUBERNETES_SERVICE_PORT: '6443',
    });
    assert.equal(server.origin, 'https://[fd00::1]:6443');
  });
});
