import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { OvsdbClient } from 'ovsdb-client';
import { schemaFile, startOvsdbServer, type TestServer } from 'ovsdb-client/testing';
import { eventually } from '../../lib/testing-eventually.ts';
import { keepChassisName } from './chassis-name.ts';
import { ensureSystemId, openLocalOvs, systemId } from './local.ts';

const table = 'Open_vSwitch';
const quiet = { warn: () => undefined };

describe('the chassis name of a node', () => {
  let server: TestServer;
  let ovs: OvsdbClient;
  let running: AbortController;

  before(async () => {
    server = await startOvsdbServer({ schema: schemaFile('vswitch') });
    ovs = await openLocalOvs(server.remote, new AbortController().signal);
  });
  after(async () => {
    await ovs.close();
    await server.stop();
  });
  beforeEach(async () => {
    running = new AbortController();
    await empty();
  });

  const empty = () => ovs.transact([{ op: 'delete', table, where: [] }]);
  const init = (ids: Readonly<Record<string, string>> = {}) =>
    ovs.transact([{ op: 'insert', table, row: { external_ids: ids } }]);

  /** Transactions of one connection are executed in order: after this one, what an earlier change caused is visible. */
  const roundTrip = () => ovs.transact([{ op: 'comment', comment: 'test' }]);

  it('waits until the database is initialised', async () => {
    const name = ensureSystemId(ovs, () => 'a1', running.signal);
    await init();
    assert.equal(await name, 'a1');
    assert.equal(systemId(ovs), 'a1');
  });

  it('is that of the start-up scripts if they set one', async () => {
    await init({ 'system-id': 'b1' });
    assert.equal(await ensureSystemId(ovs, () => 'a1', running.signal), 'b1');
  });

  it('is no longer waited for after the signal', async () => {
    const name = ensureSystemId(ovs, () => 'a1', running.signal);
    running.abort(new Error('stopped'));
    await assert.rejects(name, /stopped/);
  });

  it('is restored in a database that was emptied and initialised again', async () => {
    await init({ 'system-id': 'a1' });
    const stop = keepChassisName(ovs, 'a1', quiet);
    await empty();
    await init();
    await eventually('the name', () => systemId(ovs) === 'a1');
    stop();
    await empty();
    await init();
    await roundTrip();
    assert.equal(systemId(ovs), undefined);
  });

  it('is not restored after the end, also if the database is empty then', async () => {
    await init({ 'system-id': 'a1' });
    const stop = keepChassisName(ovs, 'a1', quiet);
    await empty();
    stop();
    await init();
    await roundTrip();
    assert.equal(systemId(ovs), undefined);
  });
});
