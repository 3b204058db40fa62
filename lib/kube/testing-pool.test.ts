import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openKube } from './client.ts';
import { configMaps } from './resources.ts';
import { servePool } from './testing-pool.ts';
import { startApiServer, type TestApiServer } from './testing.ts';
import { eventually } from '../testing-eventually.ts';

describe('a pool of API servers', () => {
  const dir = mkdtempSync(join(tmpdir(), 'pool-'));
  const path = join(dir, 'socket');
  let close: () => Promise<void>;

  before(async () => {
    close = await servePool(path, 1);
  });
  after(async () => {
    await close();
    rmSync(dir, { recursive: true });
  });

  const names = async ({ kubeconfig }: TestApiServer): Promise<string[]> => {
    const kube = openKube({ kubeconfig, userAgent: 'isthmus-test', patienceMs: 0 });
    try {
      return (await kube.list(configMaps, { namespace: 'default' })).map(({ metadata }) => metadata.name);
    } finally {
      await kube.close();
    }
  };

  it('gives each away once; its API server can be killed and started again on the same data, and leaves nothing', async () => {
    const [first, second] = await Promise.all([startApiServer({ pool: path }), startApiServer({ pool: path })]);
    assert.notEqual(first.port, second.port);
    const kube = openKube({ kubeconfig: first.kubeconfig, userAgent: 'isthmus-test' });
    await kube.create(configMaps, { metadata: { name: 'mine', namespace: 'default' } });
    await kube.close();
    assert.deepEqual(await names(second), []);
    await first.kill();
    await assert.rejects(names(first));
    await first.restart();
    assert.ok((await names(first)).includes('mine'));
    await Promise.all([first.stop(), second.stop()]);
    assert.deepEqual([first.dir, second.dir].filter(existsSync), []);
  });

  it('takes an API server away when the test that has it is killed', async () => {
    const socket = connect(path);
    const [line] = (await once(socket, 'data')) as [Buffer];
    const { dir: folder } = (JSON.parse(String(line)) as { place: { dir: string } }).place;
    assert.ok(existsSync(folder));
    socket.destroy();
    await eventually('its folder to go', () => !existsSync(folder));
  });
});
