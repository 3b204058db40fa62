import assert from 'node:assert/strict';
import { test } from 'node:test';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { Problem } from '../../lib/desired/problem.ts';
import { createKey, createRequest, keyFingerprint, validityOf, verifyRequest } from '../../lib/pki/certificate.ts';
import { createHubAuthority, hubName, issueHub, issueMember } from './certificate.ts';
import { joinHub, openHubLink, type LinkIdentity } from './client.ts';
import { memberState, refuseOversized } from './state-size.ts';
import { changeOf } from '../model/export-change.ts';
import type { ExportReport, ExportUpdate } from '../model/export-messages.ts';
import type { HubUpdate, MemberState } from '../model/messages.ts';
import { endpoint, exported } from '../model/testing-exports.ts';
import { Outbox } from './outbox.ts';
import { HubRefused, hubService, HubUnreachable, hubUnavailable } from './protocol.ts';
import { serveHub, type HubCalls, type MemberSession } from './server.ts';
import { createToken, readToken, verifyToken } from '../../lib/pki/join-token.ts';

const now = Date.now();
const noExports = { onExports: () => undefined, onPods: () => undefined };

test('a token can be read without a key, is accepted only by its own hub, and cannot be altered', async () => {
  const [ours, theirs] = [await createHubAuthority(now), await createHubAuthority(now)];
  const token = createToken(ours, { cluster: 'east', hub: 'h:1', expiresMs: now, replace: false });
  assert.equal((verifyToken(ours, token) as { cluster: string }).cluster, 'east');
  assert.equal((verifyToken(theirs, token) as Problem).code, 'TokenForeign');
  const [head, body, signature] = token.split('.');
  const altered = Buffer.from(
    Buffer.from(body ?? '', 'base64url')
      .toString()
      .replace('east', 'west'),
  ).toString('base64url');
  assert.equal((readToken(`${head}.${altered}.${signature}`) as { cluster: string }).cluster, 'west');
  assert.equal((verifyToken(ours, `${head}.${altered}.${signature}`) as Problem).code, 'TokenForeign');
  assert.equal((readToken('hello') as Problem).code, 'TokenMalformed');
});

test('a request must be signed by the key it carries', async () => {
  const request = await createRequest(await createKey(), 'east');
  assert.ok(await verifyRequest(request));
  assert.equal(
    await verifyRequest('-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----'),
    undefined,
  );
  const lines = request.split('\n');
  const der = Buffer.from(lines.slice(1, -1).join(''), 'base64');
  der[der.length - 1] = (der.at(-1) ?? 0) ^ 1;
  const forged = [
    '-----BEGIN CERTIFICATE REQUEST-----',
    der.toString('base64'),
    '-----END CERTIFICATE REQUEST-----',
  ].join('\n');
  assert.equal(await verifyRequest(forged), undefined);
});

const state: MemberState = {
  revision: 3,
  gateways: [
    {
      chassis: 'a1',
      hostname: 'n1',
      encaps: [{ type: 'geneve', ip: '172.30.0.11', options: { csum: 'true' } }],
      wireGuard: { publicKey: 'key', endpoints: ['172.30.0.11:51820'], address: '100.126.0.1', nextKey: 'next' },
    },
  ],
  attachments: [
    {
      transitSwitch: 'ts',
      vpc: 'ovn-cluster',
      routerId: 'r',
      prefixes: [
        {
          cidr: '10.16.0.0/16',
          origin: 'connected',
          tags: ['shop'],
          via: ['north'],
          only: ['west'],
          except: ['south'],
        },
      ],
      ends: [{ index: 1, gateways: ['a1', 'a2'], holder: 'a2', draining: true }],
      held: [{ switch: 'ts1', mac: '0a:58:64:64:20:01', networks: ['100.100.32.1/19'], tunnelKey: 1 }],
      cidrs: ['100.100.0.0/16'],
      paths: 2,
      clusters: ['east', 'west'],
    },
  ],
  unreachable: ['south'],
  tellsExports: true,
  tellsPaths: true,
  tellsPods: true,
  encryption: { mode: 'preferred', clusters: { west: 'required' } },
  acceptedKeys: [{ cluster: 'west', publicKey: 'theirs' }],
};
const port = {
  switch: 'ts1',
  logicalPort: 'ts1-east',
  mac: '0a:58:64:64:20:01',
  networks: ['100.100.32.1/19'],
  tunnelKey: 1,
  gateways: ['a1', 'a2'],
  holder: 'a2',
  draining: true,
};
const path = { index: 1, switch: 'ts1', cidrs: ['100.100.32.0/19'], tunnelKey: 16_711_682, retiring: true };
const update: HubUpdate = {
  revision: 3,
  full: true,
  transitSwitches: [
    {
      name: 'ts',
      cidrs: ['100.100.0.0/16'],
      definedBy: 'east',
      clusters: ['east', 'west'],
      paths: [
        { ...path, port },
        { ...path, port: null },
      ],
    },
  ],
  members: [
    {
      name: 'west',
      foreign: false,
      connected: false,
      lastSeenMs: now,
      gateways: state.gateways,
      ports: [port],
      routes: [
        {
          transitSwitch: 'ts',
          prefix: '10.17.0.0/16',
          origin: 'bgp',
          tags: ['shop'],
          via: ['north', 'west'],
          nextHops: [{ switch: 'ts1', address: '100.100.32.2' }],
        },
      ],
      lacksPods: true,
      encryption: 'required',
    },
  ],
  removed: ['south'],
  silentDatabases: [{ name: 'OVN_IC_Southbound', sinceMs: now }],
  unreachedBy: ['west'],
  tellsUnreached: true,
  carriesExports: true,
  carriesPods: true,
  takesPaths: true,
  rejections: [
    { kind: 'prefix', value: '10.0.0.0/8', code: 'PrefixOverlap', message: 'no', holder: 'west', transitSwitch: 'ts' },
  ],
  expected: ['north'],
  tunnelCidr: '100.126.0.0/16',
  tunnelAddresses: { a1: '100.126.0.1' },
  keyAcceptances: [{ publicKey: 'next', clusters: ['west'] }],
};

const service = exported('shop/web', [], {
  createdMs: now,
  type: 'Headless',
  ports: [{ name: 'http', protocol: 'UDP', port: 80, appProtocol: 'h2c' }],
  affinitySeconds: 10_800,
  isInternalPolicyLocal: true,
  trafficDistribution: 'PreferClose',
  ipFamilies: [6, 4],
  labels: { a: 'b' },
  annotations: { c: 'd' },
  endpoints: [
    endpoint('10.16.0.5', { hostname: 'web-0', isServingWhileTerminating: true }),
    endpoint('fd00::5', { isReady: false }),
    endpoint('fd00::6'),
  ],
  shared: {
    pool: 'world',
    ranges: ['198.51.100.0/28'],
    clusters: ['east', 'west'],
    requested: ['198.51.100.5'],
    held: ['198.51.100.4'],
    sinceMs: now,
  },
});
const change = changeOf({ ...service, endpoints: [endpoint('10.0.0.1'), ...service.endpoints.slice(1)] }, service);
assert.ok(change);
assert.deepEqual([change.isWhole, change.removedAddresses], [true, []]);
const report: ExportReport = {
  revision: 7,
  begins: true,
  isComplete: true,
  changed: [change, { ...change, isWhole: false, removedAddresses: ['10.0.0.1'] }],
  removed: ['shop/db'],
  namespacesAdded: ['shop'],
  namespacesRemoved: ['team'],
};
const exportUpdate: ExportUpdate = {
  revision: 7,
  begins: true,
  isComplete: true,
  members: [{ member: 'west', changed: report.changed, removed: ['shop/db'] }],
  expected: ['north'],
  known: ['south'],
  wanted: ['shop/web'],
  shared: [
    {
      service: 'shop/web',
      addresses: ['198.51.100.4'],
      sinceMs: now,
      clusters: ['west'],
      code: 'PoolDiffers',
      message: 'no',
    },
  ],
  rejections: {
    rejections: [{ kind: 'export', value: 'shop/x', code: 'C', message: 'm', holder: '', transitSwitch: '' }],
    unlisted: [{ code: 'C', exports: ['shop/y', 'shop/z'] }],
  },
};

/** Speaks the protocol as no agent does. */
function clientOf(address: string, { ca, key, certificate }: LinkIdentity): grpc.Client {
  const credentials = grpc.credentials.createSsl(Buffer.from(ca), Buffer.from(key), Buffer.from(certificate));
  return new grpc.Client(address, credentials, { 'grpc.ssl_target_name_override': hubName });
}

/** Far more than a connection takes by itself. */
function overwhelm(session: MemberSession): void {
  for (let count = 0; count < 20; count += 1) session.send({ ...update, removed: ['x'.repeat(8_000_000)] });
}

/** Runs a hub that issues a certificate for every request and answers each state with `update`. */
async function withHub(
  run: (hub: {
    address: string;
    ca: string;
    token: string;
    seen: MemberState[];
    reports: ExportReport[];
    logged: string[];
  }) => Promise<void>,
): Promise<void> {
  const logged: string[] = [];
  const authority = await createHubAuthority(now);
  const seen: MemberState[] = [];
  const reports: ExportReport[] = [];
  const calls: HubCalls = {
    join: async (_, pem) => {
      const request = await verifyRequest(pem);
      if (request === undefined) return { code: 'RequestInvalid', message: 'not a request' };
      return { certificate: await issueMember(authority, request.publicKey, 'east', now), ca: authority.certificate };
    },
    renew: (caller) => Promise.resolve({ code: 'Tested', message: `${caller.cluster} ${caller.fingerprint}` }),
    leave: () => Promise.resolve(undefined),
    session: (session) => {
      session.onExports((received) => {
        reports.push(received);
        session.sendExports(exportUpdate, () =>
          session.sendExports({ ...exportUpdate, rejections: null }, () => undefined),
        );
      });
      session.onState((state) => {
        seen.push(state);
        if (state.unreachable.includes('hub is ill')) session.refuse({ code: hubUnavailable, message: 'not now' });
        else if (state.unreachable.includes('refuse me'))
          session.refuse({ code: 'Refused', message: `${session.caller.cluster} asked for it` });
        else if (state.unreachable.includes('overwhelm me')) overwhelm(session);
        else session.send(update);
      });
    },
  };
  const server = await serveHub({
    listen: '127.0.0.1:0',
    calls,
    authority: authority.certificate,
    endpoint: await issueHub(authority, now),
    log: { info: (_, message) => logged.push(message) },
  });
  try {
    const address = `127.0.0.1:${server.port}`;
    const token = createToken(authority, { cluster: 'east', hub: address, expiresMs: now + 1000, replace: false });
    await run({ address, ca: (readToken(token) as { ca: string }).ca, token, seen, reports, logged });
  } finally {
    server.close();
  }
}

test('joining pins the hub, the session carries every field both ways, refusals keep their code', async () => {
  await withHub(async ({ address, ca, token, seen, reports }) => {
    const key = await createKey();
    const identity = await joinHub(address, ca, token, await createRequest(key, 'east'));
    assert.ok(validityOf(identity.certificate).notAfterMs > now + 80 * 86_400_000);
    const link = openHubLink(address, { ...identity, key });
    const received = await new Promise<HubUpdate>((resolve, reject) => {
      const session = link.session({
        ...noExports,
        onUpdate: resolve,
        onEnd: (error) => reject(error ?? new Error('ended')),
      });
      session.send(state);
    });
    assert.deepEqual(structuredClone(seen), [state]);
    assert.deepEqual(structuredClone(received), update);
    const receivedExports = await new Promise<readonly ExportUpdate[]>((resolve, reject) => {
      const updates: ExportUpdate[] = [];
      const session = link.session({
        onUpdate: () => session.sendExports(report),
        onPods: () => undefined,
        onExports: (one) => updates.push(one) === 2 && resolve(updates),
        onEnd: (error) => reject(error ?? new Error('ended')),
      });
      session.send(state);
    });
    assert.deepEqual(structuredClone(reports), [report]);
    assert.deepEqual(structuredClone(receivedExports), [exportUpdate, { ...exportUpdate, rejections: null }]);
    await assert.rejects(link.renew('x'), (error: HubRefused) => {
      assert.equal(error.code, 'Tested');
      assert.equal(error.message, `east ${keyFingerprint(identity.certificate)}`);
      return true;
    });
    const ended = await new Promise<unknown>((resolve) => {
      const session = link.session({ ...noExports, onUpdate: () => {}, onEnd: resolve });
      session.send({ ...state, unreachable: ['refuse me'] });
    });
    assert.ok(ended instanceof HubRefused);
    assert.equal(ended.code, 'Refused');
    const ill = await new Promise<unknown>((resolve) => {
      const session = link.session({ ...noExports, onUpdate: () => {}, onEnd: resolve });
      session.send({ ...state, unreachable: ['hub is ill'] });
    });
    assert.ok(ill instanceof HubUnreachable, 'what passes by itself is tried again soon');
    assert.equal(ill.message, 'not now');
    await link.leave();
    link.close();
  });
});

test('another hub is not trusted with the token, another authority not with a session, a dead one is unreachable', async () => {
  let dead = '';
  await withHub(async ({ address, token, ca }) => {
    dead = address;
    const key = await createKey();
    const request = await createRequest(key, 'east');
    await assert.rejects(
      joinHub(address, '0'.repeat(64), token, request),
      (error: HubRefused) => error.code === 'HubNotTrusted',
    );
    const { ca: realCa } = await joinHub(address, ca, token, request);
    const stranger = await createHubAuthority(now);
    const publicKey = (await verifyRequest(request))?.publicKey;
    assert.ok(publicKey);
    const forged = { key, certificate: await issueMember(stranger, publicKey, 'east', now), ca: realCa };
    const link = openHubLink(address, forged);
    await assert.rejects(link.leave(), (error: HubRefused) => error.code === 'CertificateInvalid');
    link.close();
  });
  await assert.rejects(joinHub(dead, '0'.repeat(64), 'x', 'y'), HubUnreachable);
});

test('a state with too many parts of any kind is refused before it is decoded', async () => {
  const field = (number: number, inner: Uint8Array): Buffer => {
    const length = [0, 7, 14, 21].map((shift) => ((inner.length >> shift) & 127) | (shift < 21 ? 128 : 0));
    return Buffer.concat([Uint8Array.of((number << 3) | 2, ...length), inner]);
  };
  const many = (number: number, count: number): Buffer => Buffer.alloc(2 * count, Uint8Array.of((number << 3) | 2, 0));
  const prefixes = field(3, many(4, 1_200_000));
  const crowds = [
    many(2, 1_200_000),
    many(3, 1_200_000),
    field(2, many(3, 1_200_000)),
    field(2, field(3, many(3, 1_200_000))),
    prefixes,
    field(3, many(5, 1_200_000)),
    field(3, many(6, 1_200_000)),
    field(3, field(4, many(3, 8_000_001))),
    field(6, many(4, 200_001)),
    field(6, field(4, many(5, 200_001))),
    field(6, field(4, many(11, 200_001))),
    field(6, field(4, field(13, many(7, 200_001)))),
    field(6, many(5, 1_000_001)),
    field(6, field(4, field(9, Buffer.alloc(1_000_001)))),
    Buffer.concat([many(4, 1_000_001), field(6, new Uint8Array())]),
    field(9, many(4, 2000)),
  ];
  for (const crowd of crowds) assert.equal(refuseOversized(crowd)?.code, 'StateTooLarge');
  assert.equal(refuseOversized(field(3, many(4, 1_000_000))), undefined, 'as many as a HubMember may allow');
  assert.equal(refuseOversized(field(6, field(4, many(13, 10_001)))), undefined, 'one more than a HubMember may allow');
  assert.equal(refuseOversized(field(6, field(4, field(9, Buffer.of(4, 6))))), undefined, 'IP families');
  assert.equal(refuseOversized(field(9, many(4, 64))), undefined, 'a report of paths');
  const disguises = {
    'a length without end': [0x1a, 0xff, 0xff, 0xff, 0xff, 0xff],
    'a group': [0x7b, 0x7c],
    'a message with the wire type of a number': [0x30, 0],
    'a text with the wire type of a number': [0x20, 0],
    'a number with the wire type of a text': [0x2a, 0],
    'a number with more bytes than are read of it': [0x28, 0x80, 0x80, 0x80, 0x80, 0x80, 0],
  };
  for (const [what, bytes] of Object.entries(disguises))
    assert.equal(refuseOversized(Uint8Array.from(bytes))?.code, 'StateInvalid', what);
  const unknown = [0xf8, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0xf9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xfa, 1, 1, 0];
  assert.equal(refuseOversized(Uint8Array.from(unknown)), undefined, 'fields of a later release');
  await withHub(async ({ address, ca, token, seen }) => {
    const request = await createRequest(await createKey(), 'east');
    await assert.rejects(joinHub(address, ca, 'x'.repeat(70_000), request), HubUnreachable);
    const key = await createKey();
    const client = clientOf(address, { ...(await joinHub(address, ca, token, await createRequest(key, 'east'))), key });
    const error = await new Promise<grpc.ServiceError>((resolve) => {
      const stream = client.makeBidiStreamRequest('/isthmus.hub.v1.Hub/Session', (bytes: Buffer) => bytes, String);
      stream.on('error', resolve).on('data', () => undefined);
      stream.write(prefixes);
    });
    assert.deepEqual(error.metadata.get('isthmus-code'), ['StateTooLarge']);
    assert.equal(seen.length, 0);
    client.close();
  });
});

test('the session of a member that never reads is ended, and other sessions continue', async () => {
  await withHub(async ({ address, ca, token, logged }) => {
    const key = await createKey();
    const identity = { ...(await joinHub(address, ca, token, await createRequest(key, 'east'))), key };
    const deaf = clientOf(address, identity);
    const { Session: session } = hubService();
    assert.ok(session);
    const stream = deaf.makeBidiStreamRequest(session.path, session.requestSerialize, String);
    stream.on('error', () => undefined);
    stream.write({ ...state, unreachable: ['overwhelm me'] });
    const link = openHubLink(address, identity);
    while (logged.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.match(logged.join(), /^the session is ended: \d+ bytes wait to be read by the member$/);
    await new Promise<HubUpdate>((resolve, reject) => {
      const session = link.session({
        ...noExports,
        onUpdate: resolve,
        onEnd: (error) => reject(error ?? new Error('ended')),
      });
      session.send(state);
    });
    deaf.close();
    link.close();
  });
});

test('a session stalls when the member reads nothing for a minute; a slow reader or a closed session does not', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const taken: (() => void)[] = [];
  const reasons: string[] = [];
  const open = (): Outbox =>
    new Outbox({ write: (_, onTaken) => taken.push(onTaken), onStalled: (reason) => reasons.push(reason) });
  const [outbox, closed] = [open(), open()];
  for (let count = 0; count < 3; count += 1) outbox.send(Buffer.alloc(10));
  for (let count = 0; count < 2; count += 1) {
    t.mock.timers.tick(59_000);
    taken.shift()?.();
  }
  t.mock.timers.tick(59_000);
  assert.deepEqual(reasons, []);
  t.mock.timers.tick(1000);
  assert.deepEqual(reasons, ['the member has read nothing for 60 seconds']);
  for (let count = 0; count < 2; count += 1) closed.send(Buffer.alloc(10));
  closed.close();
  taken.at(-2)?.();
  t.mock.timers.tick(120_000);
  assert.equal(reasons.length, 1);
});

test('the fields of a state are known as the protocol declares them', () => {
  type Field = { number: number; type: string; typeName: string };
  type Message = {
    type: { field: readonly Field[]; nestedType: readonly { name: string; field: readonly Field[] }[] };
  };
  const file = join(import.meta.dirname, '../../proto/hub/v1/hub.proto');
  const messages = loadSync(file) as unknown as Readonly<Record<string, Message>>;
  const scalars: Readonly<Record<string, string>> = {
    TYPE_STRING: 'text',
    TYPE_BOOL: 'number',
    TYPE_UINT32: 'number',
    TYPE_UINT64: 'long',
  };
  const shapeOf = (fields: readonly Field[], nested: Message['type']['nestedType']): object =>
    Object.fromEntries(
      fields.map(({ number, type, typeName, ...rest }) => {
        if (type !== 'TYPE_MESSAGE') {
          const isPacked = type !== 'TYPE_STRING' && (rest as { label?: string }).label === 'LABEL_REPEATED';
          return [number, isPacked ? 'packed' : scalars[type]];
        }
        const entry = nested.find(({ name }) => typeName.endsWith(name));
        const message = messages[`isthmus.hub.v1.${typeName}`]?.type;
        return [number, entry ? shapeOf(entry.field, []) : shapeOf(message?.field ?? [], message?.nestedType ?? [])];
      }),
    );
  const state = messages['isthmus.hub.v1.MemberState']?.type;
  assert.deepEqual(memberState, shapeOf(state?.field ?? [], state?.nestedType ?? []));
});
