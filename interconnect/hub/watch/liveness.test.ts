import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { joinHub } from '../../link/client.ts';
import { HubUnreachable } from '../../link/protocol.ts';
import { createKey, createRequest } from '../../../lib/pki/certificate.ts';
import { readToken, type TokenClaims } from '../../../lib/pki/join-token.ts';
import { attachment, HubBed } from '../hub-bed.ts';
import { openDatabases } from './open-databases.ts';

const livenessTimes = { everyMs: 20, patienceMs: 1000 };
const name = 'OVN_IC_Southbound';

describe('a hub whose databases are silent', () => {
  const bed = new HubBed();
  const southbound = () => bed.servers[1] ?? assert.fail('no server');
  beforeEach(() => bed.up({ livenessTimes }));
  afterEach(async () => {
    await southbound().kill('SIGCONT');
    await bed.down();
  });

  it('reports the silence to every member at once, before pending updates, and reports their return', async () => {
    const east = await bed.member('east');
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    const [revision, held] = [east.last?.revision, east.held()];
    await southbound().kill('SIGSTOP');
    const accepted = east.sendAttachments([attachment(['10.16.0.0/16', '10.20.0.0/16'])], 'a1', '172.30.0.11');
    await east.until(() => (east.last?.silentDatabases.length ?? 0) > 0);
    assert.deepEqual([east.last?.silentDatabases.map((one) => one.name), east.last?.full], [[name], false]);
    assert.deepEqual([east.last?.revision, east.held()], [revision, held], 'all else is as it was told');
    const west = await bed.member('west');
    await west.until(() => west.last !== undefined);
    assert.deepEqual([west.last?.silentDatabases.map((one) => one.name), west.last?.revision], [[name], 0]);
    await southbound().kill('SIGCONT');
    await accepted;
    await Promise.all([east, west].map((one) => one.until(() => one.last?.silentDatabases.length === 0)));
  });

  it('lets members join while another leaves, and deletes the rows of the leaving member once they answer', async () => {
    const [east, west] = [await bed.member('east'), await bed.member('west')];
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    await west.sendAttachments([attachment(['10.17.0.0/16'])], 'b1', '172.30.0.21');
    await southbound().kill('SIGSTOP');
    const namesDatabase = (error: Error): boolean => error instanceof HubUnreachable && error.message.includes(name);
    await assert.rejects(west.leave(), namesDatabase);
    const { ca } = readToken(bed.token('third')) as TokenClaims;
    const request = await createRequest(await createKey(), 'third');
    assert.ok('certificate' in (await joinHub(bed.address, ca, bed.token('third'), request)));
    await southbound().kill('SIGCONT');
    await east.until(() => !east.members.has('west') && east.last?.silentDatabases.length === 0);
    await west.leave();
    assert.deepEqual(bed.column('Availability_Zone', 'name'), ['east']);
  });

  it('reports the silence at its start, and serves waiting members once the databases answer', async () => {
    const east = await bed.member('east');
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    await (await bed.member('west')).sendAttachments([attachment(['10.17.0.0/16'])], 'b1', '172.30.0.21');
    await bed.stop();
    await southbound().kill('SIGSTOP');
    const endpoint = await bed.openHubEndpoint();
    const opening = openDatabases({
      northbound: [bed.servers[0]?.remote ?? ''],
      southbound: [southbound().remote],
      common: {},
      now: Date.now,
      patienceMs: 1000,
      onSilent: (databases) => endpoint.silent(databases),
      log: { warn: () => undefined },
    });
    const again = await bed.member('east');
    await again.until(() => (again.last?.silentDatabases.length ?? 0) > 0);
    assert.deepEqual(
      again.last?.silentDatabases.map((one) => one.name),
      [name],
    );
    assert.deepEqual([again.last.revision, again.last.expected], [0, ['west']], 'nothing is to be concluded');
    const token = bed.token('third');
    const { ca } = readToken(token) as TokenClaims;
    const joining = joinHub(bed.address, ca, token, await createRequest(await createKey(), 'third'));
    await assert.rejects(joining, (error) => error instanceof HubUnreachable && error.message.includes(name));
    const saying = again.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    await southbound().kill('SIGCONT');
    const clients = await opening;
    await bed.take(endpoint, clients);
    await saying;
    await again.until(() => again.members.has('west'));
    assert.deepEqual(again.last.silentDatabases, []);
  });

  it('reports databases that fall silent between a read and a write', async () => {
    const east = await bed.member('east');
    await east.sendAttachments([attachment(['10.16.0.0/16'])], 'a1', '172.30.0.11');
    await bed.stop();
    const endpoint = await bed.openHubEndpoint();
    const clients = await openDatabases({
      northbound: [bed.servers[0]?.remote ?? ''],
      southbound: [southbound().remote],
      common: {},
      now: Date.now,
      onSilent: (databases) => endpoint.silent(databases),
      log: { warn: () => undefined },
    });
    await southbound().kill('SIGSTOP');
    // More paths are something to write.
    const starting = bed.take(endpoint, clients, { paths: 4, livenessTimes });
    const again = await bed.member('east');
    try {
      await again.until(() => again.last?.silentDatabases[0]?.name === name);
    } finally {
      await southbound().kill('SIGCONT');
      await starting;
    }
    await again.until(() => again.last?.silentDatabases.length === 0);
  });
});
