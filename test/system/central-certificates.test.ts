/**
 * Certificates of OVN's databases on real servers and a real API server, with the chart's accounts and policies: nodes can write only the rows of
 * their own chassis, even with stolen credentials of a node.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openOvsdb, type Operation, type OvsdbClient, type TlsFiles } from 'ovsdb-client';
import { ovnEnvironment, ovnProgram, schemaFile, startOvsdbServer, type TestServer } from 'ovsdb-client/testing';
import { Authorities } from '../../central/apply/authorities.ts';
import { chassisPort, ensureChassisListener } from '../../central/apply/chassis-listener.ts';
import { publishCredentials } from '../../central/apply/client-credentials.ts';
import { Credentials } from '../../central/apply/credentials.ts';
import { Signer } from '../../central/apply/signer.ts';
import { watchCertificateRequests } from '../../central/watch/certificate-requests.ts';
import { ChassisAccess } from '../../daemon/apply/chassis-access.ts';
import { configMaps, namespaces, secrets } from '../../lib/kube/resources.ts';
import { encodeSecret } from '../../lib/kube/secret-data.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { findDatabases } from '../../lib/ovn/databases.ts';
import { CredentialFiles } from '../../lib/ovn/credential-files.ts';
import {
  createAuthority,
  createKey,
  createRequest,
  issueWithKey,
  validityOf,
  type KeyAndCertificate,
} from '../../lib/pki/certificate.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { freePorts } from '../../lib/testing-ports.ts';
import { checkout } from '../lab/layout.ts';
import { IdentityBed, verdict } from './node-identity-bed.ts';
import { eventually, notYet, type NotYet } from '../../lib/testing-eventually.ts';

const namespace = 'kube-system';
const log = createLogger('test', 'silent');
const stop = new AbortController();
const { signal } = stop;
const children: ChildProcess[] = [];
let dir: string;
let bed: IdentityBed;
let central: KubeClient;
let authorities: Authorities;
let credentials: Credentials;
let signer: Signer;
let sb: TestServer;
let nb: TestServer;
let membersPort = 0;
let raftPort = 0;

before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'isthmus-central-'));
  mkdirSync(join(dir, 'run'));
  bed = await IdentityBed.start();
  central = await bed.boundTo('isthmus-central', undefined);
  const nowMs = Date.now;
  const common = { client: central, namespace, signal, log, nowMs };
  authorities = new Authorities({ ...common, given: {} });
  await authorities.ready;
  credentials = new Credentials({ authorities, folder: join(dir, 'run/tls'), node: 'n1', log, nowMs });
  await credentials.refresh();
  await publishCredentials({ ...common, authorities });
  const requests = watchCertificateRequests({ client: central, signal, log });
  await requests.synced;
  signer = new Signer({
    ...common,
    serviceAccount: 'isthmus-daemon',
    authorities,
    requests,
    hasNode: (name) => ['n1', 'n2'].includes(name),
  });
  await signer.start();

  [membersPort = 0, raftPort = 0] = await freePorts(2);
  const tls = ['--private-key', '--certificate', '--ca-cert'].map(
    (flag, index) => `${flag}=${join(dir, 'run/tls', ['tls.key', 'tls.crt', 'ca.crt'][index] ?? '')}`,
  );
  [sb, nb] = await Promise.all([
    startOvsdbServer({
      schema: schemaFile('ovn-sb'),
      cluster: { address: `ssl:127.0.0.1:${raftPort}` },
      remotes: [`pssl:${membersPort}:127.0.0.1`, `punix:${join(dir, 'run/sb.sock')}`],
      arguments: tls,
    }),
    startOvsdbServer({ schema: schemaFile('ovn-nb') }),
  ]);
  start(
    ovnProgram('ovn-northd'),
    `--ovnnb-db=${nb.remote}`,
    `--ovnsb-db=${sb.remote}`,
    `--unixctl=${join(dir, 'northd.ctl')}`,
  );
  const chassisTls = ['chassis.key', 'chassis.crt', 'chassis-ca.crt'].map((name) => join(dir, 'run/tls', name));
  start(
    'sh',
    join(checkout, 'images/ovn/run-ovn'),
    'relay',
    join(dir, 'run'),
    'sb',
    '--remote=db:OVN_Southbound,SB_Global,connections',
    `--unixctl=${join(dir, 'relay.ctl')}`,
    `--private-key=${chassisTls[0]}`,
    `--certificate=${chassisTls[1]}`,
    `--ca-cert=${chassisTls[2]}`,
  );
  const data = {
    nb: nb.remote,
    sb: `ssl:127.0.0.1:${membersPort}`,
    'sb-chassis': `ssl:127.0.0.1:${chassisPort}`,
  };
  await bed.admin.patch(configMaps, { namespace, name: 'isthmus-ovn' }, 'merge', { data });
  await eventually('northd', hasRole);
  await ensureChassisListener({ remotes: [sb.remote], signal }, false);
});

after(async () => {
  stop.abort();
  await signer.close();
  await Promise.all([authorities.close(), credentials.close()]);
  for (const child of children) {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await Promise.all([sb.stop(), nb.stop()]);
  await bed.stop();
  rmSync(dir, { recursive: true, force: true });
});

function start(program: string, ...args: readonly string[]): void {
  children.push(spawn(program, args, { stdio: 'ignore', env: ovnEnvironment() }));
}

/** Whether northd has written the RBAC role that permits nodes to write. */
async function hasRole(): Promise<true | NotYet> {
  const client = await openOvsdb({
    remotes: [sb.remote],
    database: 'OVN_Southbound',
    monitor: { RBAC_Role: ['name'] },
  });
  const { size } = client.cache.table('RBAC_Role').rows;
  await client.close();
  return size > 0 || notYet('northd has not written RBAC_Role');
}

interface NodeAccess {
  readonly access: ChassisAccess;
  readonly tls: TlsFiles;
}

async function openNode(node: string, chassis: string, place = `${node}-${chassis}`): Promise<NodeAccess> {
  const folder = join(dir, place, 'tls');
  const access = await ChassisAccess.open({
    client: await bed.inPod('isthmus-daemon', node),
    node,
    fixed: [],
    namespace,
    folder,
    present: [],
    chassis: () => chassis,
    signal,
    log,
  });
  return { access, tls: { ca: join(folder, 'ca.crt'), cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') } };
}

async function untilCertified({ access }: NodeAccess): Promise<void> {
  await eventually(
    'a certificate',
    () => access.southbound.remotes.length > 0 || notYet(access.problem?.message ?? 'none yet'),
  );
}

async function connect(remote: string, tls: TlsFiles, timeoutMs = 30_000): Promise<OvsdbClient> {
  return await openOvsdb({
    remotes: [remote],
    database: 'OVN_Southbound',
    monitor: { Chassis: ['name'], Encap: ['chassis_name'], Address_Set: ['name'] },
    tls,
    signal: AbortSignal.timeout(timeoutMs),
  });
}

function chassisRows(name: string): readonly Operation[] {
  return [
    { op: 'insert', table: 'Encap', row: { chassis_name: name, type: 'geneve', ip: '192.0.2.1' }, uuidName: 'encap' },
    { op: 'insert', table: 'Chassis', row: { name, hostname: name, encaps: [{ named: 'encap' }] } },
  ];
}

test('a node gets a certificate for its own chassis, and can write only its own rows', async (t) => {
  const node = await openNode('n1', 'chassis-1');
  await untilCertified(node);
  assert.deepEqual(node.access.southbound.remotes, [`ssl:127.0.0.1:${chassisPort}`]);
  const client = await connect(node.access.southbound.remotes[0] ?? '', node.tls);
  t.after(() => client.close());
  await client.transact(chassisRows('chassis-1'));
  const prohibited = /RBAC rules for client "chassis-1" role "ovn-controller" prohibit/;
  await assert.rejects(client.transact(chassisRows('chassis-2')), prohibited);
  await assert.rejects(client.transact([{ op: 'insert', table: 'Address_Set', row: { name: 'mine' } }]), prohibited);
  const other: Operation = { op: 'update', table: 'SB_Global', where: [], row: { options: { evil: 'true' } } };
  await assert.rejects(client.transact([other]), prohibited);
});

test('chassis certificates are accepted only on the chassis port, and client certificates on the database port', async (t) => {
  const node = await openNode('n1', 'chassis-1');
  await untilCertified(node);
  for (const port of [membersPort, raftPort])
    await assert.rejects(connect(`ssl:127.0.0.1:${port}`, node.tls, 1500), /timeout|aborted/i, String(port));
  const databases = await findDatabases({
    settings: { nb: [], sb: [], ovnCa: undefined, ovnCert: undefined, ovnKey: undefined },
    client: await bed.boundTo('isthmus-controller', undefined),
    namespace,
    signal,
    log,
  });
  t.after(() => databases.close());
  const access = databases.at('sb');
  assert.ok(access !== undefined);
  const client = await openOvsdb({ ...access, database: 'OVN_Southbound', monitor: { Address_Set: ['name'] } });
  t.after(() => client.close());
  await client.transact([{ op: 'insert', table: 'Address_Set', row: { name: 'from the controller' } }]);
});

test('a node that requests the chassis of another is refused with the reason', async () => {
  await untilCertified(await openNode('n1', 'chassis-1'));
  const thief = await openNode('n2', 'chassis-1');
  await eventually('the refusal', () => thief.access.problem?.code === 'CertificateRefused' || notYet('not yet'));
  assert.match(
    thief.access.problem?.message ?? '',
    /chassis chassis-1 belongs to node n1; give the Open vSwitch of node n2 another name/,
  );
  assert.deepEqual(thief.access.southbound.remotes, []);
});

test('a daemon may use only the chassis signer, which signs only requests of daemons', async () => {
  const daemon = await bed.inPod('isthmus-daemon', 'n1');
  const ask = async (signerName: string) => ({
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: 'test-' },
    spec: {
      signerName,
      usages: ['client auth'],
      request: Buffer.from(await createRequest(await createKey(), 'chassis-1')).toString('base64'),
    },
  });
  const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const body = await ask('kubernetes.io/kube-apiserver-client');
  assert.match(
    await verdict(daemon, { method: 'POST', path, body }),
    /may not request certificates from the signer kubernetes.io/,
  );
  const answer = (await bed.admin.request('POST', path, await ask('isthmus.network/chassis'))) as {
    metadata: { name: string };
  };
  await eventually('the denial', async () => {
    const { status } = (await bed.admin.request('GET', `${path}/${answer.metadata.name}`)) as {
      status: { conditions?: { type: string; message: string }[] };
    };
    const [condition] = status.conditions ?? [];
    return (condition?.type === 'Denied' && /only system:serviceaccount/.test(condition.message)) || notYet('not yet');
  });
});

test('a certificate that expired while the node was off is renewed', async () => {
  const day = 24 * 60 * 60 * 1000;
  const [signer] = authorities.of('chassis');
  assert.ok(signer !== undefined);
  const old = Date.now() - 40 * day;
  const wanted = { name: 'chassis-1', usages: ['client'], dnsNames: [], days: 30 } as const;
  const { key, certificate } = await issueWithKey(signer, wanted, old);
  const files = new CredentialFiles(join(dir, 'n1-off', 'tls'));
  await files.write({ 'ca.crt': signer.certificate, 'tls.crt': certificate, 'tls.key': key });
  const node = await openNode('n1', 'chassis-1', 'n1-off');
  await untilCertified(node);
  const renewed = await files.read('tls.crt');
  assert.ok(validityOf(renewed ?? '').notAfterMs > Date.now() + 29 * day);
  assert.notEqual(await files.read('tls.key'), key);
});

test('damaged certificates are issued again, and damaged authorities are reported', async () => {
  const spoilt = Buffer.from('-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n').toString('base64');
  const client = { namespace, name: 'isthmus-ovn-client' };
  const publish = () => publishCredentials({ client: central, namespace, authorities, log, nowMs: Date.now });
  await publish();
  await bed.admin.patch(secrets, client, 'merge', { data: { 'tls.crt': spoilt } });
  await publish();
  const { data } = (await bed.admin.get(secrets, client)) as unknown as { data: Record<string, string> };
  assert.notEqual(data['tls.crt'], spoilt);

  const files = new CredentialFiles(join(dir, 'run/tls'));
  const names = ['ca.crt', 'tls.crt', 'tls.key', 'chassis-ca.crt', 'chassis.crt', 'chassis.key'];
  const whole = await Promise.all(names.map(async (name) => [name, (await files.read(name)) ?? ''] as const));
  await files.write({ ...Object.fromEntries(whole), 'tls.crt': 'cut off' });
  await credentials.refresh();
  assert.ok(validityOf((await files.read('tls.crt')) ?? '').notAfterMs > Date.now());

  const secret = { namespace, name: 'isthmus-ovn-authorities' };
  const { data: before } = (await bed.admin.get(secrets, secret)) as unknown as { data: Record<string, string> };
  await bed.admin.patch(secrets, secret, 'merge', { data: { 'members.crt': spoilt } });
  await eventually('the damage to be seen', () => authorities.of('members').length === 0 || notYet('not yet'));
  await assert.rejects(authorities.renew(), /is damaged: each certificate of members, chassis needs its key/);
  await credentials.refresh();
  await publish();
  await bed.admin.patch(secrets, secret, 'merge', { data: before });
  await eventually('the repair', () => authorities.of('members').length === 1 || notYet('not yet'));
});

test('lost authorities are created again, and all nodes and clients get new certificates', async () => {
  const node = await openNode('n1', 'chassis-1');
  await untilCertified(node);
  await bed.admin.patch(secrets, { namespace, name: 'isthmus-ovn-authorities' }, 'merge', { data: null });
  await eventually('the loss to be seen', () => authorities.of('chassis').length === 0 || notYet('not yet'));
  await authorities.renew();
  await eventually('new authorities', () => authorities.of('chassis').length === 1 || notYet('not yet'));
  await credentials.refresh();
  await publishCredentials({ client: central, namespace, authorities, log, nowMs: Date.now });
  await eventually('the node to write again', async () => {
    try {
      const client = await connect(node.access.southbound.remotes[0] ?? '', node.tls, 1000);
      await client.close();
      return true;
    } catch (error) {
      return notYet(String(error));
    }
  });
});

test('an authority of the administrator is trusted at once, and an invalid authority changes nothing', async () => {
  const own = 'own-authority';
  await bed.admin.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: own } });
  const name = { namespace: own, name: 'members-ca' };
  const dataOf = ({ key, certificate }: KeyAndCertificate) => encodeSecret({ 'tls.key': key, 'tls.crt': certificate });
  const given = new Authorities({
    client: bed.admin,
    namespace: own,
    signal,
    log,
    nowMs: Date.now,
    given: { members: name.name },
  });
  const certificates = (): string[] => given.of('members').map(({ certificate }) => certificate.trim());
  try {
    await assert.rejects(
      given.renew(),
      /own-authority\/members-ca of ovn\.tls\.authoritySecrets\.members .* it does not exist/,
    );
    const first = await createAuthority('corporate', Date.now());
    await bed.admin.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: name, data: dataOf(first) });
    await given.ready;
    assert.deepEqual(certificates(), [first.certificate.trim()]);
    assert.equal(given.of('chassis').length, 1);

    const second = await createAuthority('corporate', Date.now());
    const leaf = await issueWithKey(second, { name: 'x', usages: ['client'], dnsNames: [], days: 30 }, Date.now());
    await bed.admin.patch(secrets, name, 'merge', { data: dataOf(leaf) });
    await assert.rejects(given.renew(), /its certificate is not one of a CA/);
    assert.deepEqual(certificates(), [first.certificate.trim()]);

    await bed.admin.patch(secrets, name, 'merge', { data: dataOf(second) });
    await given.renew();
    await eventually('both to be trusted', () => certificates().length === 2 || notYet('not yet'));
    assert.deepEqual(certificates(), [second.certificate.trim(), first.certificate.trim()]);
    await given.renew();
    assert.equal(certificates().length, 2);
  } finally {
    await given.close();
  }
});
