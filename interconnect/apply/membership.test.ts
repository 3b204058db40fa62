import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual, promisify } from 'node:util';
import { eventually, notYet } from '../../lib/testing-eventually.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { createKey, createRequest, verifyRequest } from '../../lib/pki/certificate.ts';
import { createHubAuthority, issueHub, issueMember } from '../link/certificate.ts';
import { serveHub, type MemberSession } from '../link/server.ts';
import type { ExportReport, ExportUpdate } from '../model/export-messages.ts';
import { exported } from '../model/testing-exports.ts';
import type { StoredIdentity } from './identity.ts';
import { Membership } from './membership.ts';

const none: Problem = { code: 'Unexpected', message: 'not asked for here' };

/** A member with an identity, and a hub that answers its sessions as the test says. */
async function connect(
  answer: (session: MemberSession) => void,
  {
    address,
    leave,
    onExports = () => true,
  }: {
    readonly address?: string;
    readonly leave?: () => Promise<undefined>;
    readonly onExports?: (update: ExportUpdate) => boolean;
  } = {},
) {
  const authority = await createHubAuthority(Date.now());
  const key = await createKey();
  const request = await verifyRequest(await createRequest(key, 'east'));
  assert.ok(request);
  const certificate = await issueMember(authority, request.publicKey, 'east', Date.now());
  const server = await serveHub({
    listen: '127.0.0.1:0',
    log: { info: () => undefined },
    authority: authority.certificate,
    endpoint: await issueHub(authority, Date.now()),
    calls: {
      join: () => Promise.resolve(none),
      renew: () => Promise.resolve(none),
      leave: leave ?? (() => Promise.resolve(none)),
      session: answer,
    },
  });
  const identity: StoredIdentity = { key, certificate, ca: authority.certificate, token: 't' };
  const changes: (() => void)[] = [];
  let removed = 0;
  const membership = new Membership({
    store: {
      load: () => Promise.resolve(identity),
      save: () => Promise.resolve(),
      remove: () => {
        removed += 1;
        return Promise.resolve();
      },
    },
    now: Date.now,
    random: Math.random,
    log: { info: () => undefined, warn: () => undefined },
    onExports,
    onPods: () => true,
    onUpdate: () => undefined,
    connectMs: 200,
    onChange: () => changes.forEach((change) => change()),
    refusedMs: 50,
  });
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (isSo()) resolve();
      };
      changes.push(look);
      look();
    });
  membership.want({
    cluster: 'east',
    hub: address ?? `127.0.0.1:${server.port}`,
    tokenRef: 'token',
    readToken: () => Promise.resolve(undefined),
  });
  const close = async (): Promise<void> => {
    await membership.close();
    server.close();
  };
  const hub = `127.0.0.1:${server.port}`;
  return { membership, until, close, hub, removals: () => removed };
}

const update = {
  revision: 0,
  full: true,
  transitSwitches: [],
  members: [],
  removed: [],
  rejections: [],
  expected: [],
  silentDatabases: [],
  unreachedBy: [],
  tellsUnreached: true,
  carriesExports: true,
  carriesPods: true,
  takesPaths: true,
};

describe('a membership', () => {
  it('ends when the hub ends it, until the hub accepts the member again', { timeout: 300_000 }, async () => {
    let isMember = false;
    const { membership, until, close } = await connect((session) => {
      if (isMember) session.send(update);
      else session.refuse({ code: 'NotAMember', message: 'it left' });
    });
    await until(() => membership.state.problem?.code === 'NotAMember');
    assert.deepEqual([membership.state.isJoined, membership.state.isConnected], [false, false]);
    isMember = true;
    await until(() => membership.state.isConnected);
    assert.equal(membership.state.isJoined, true);
    await close();
  });

  it('reports a frozen hub, which accepts connections and does not answer', { timeout: 300_000 }, async () => {
    const frozen = createServer();
    await promisify((done: () => void) => frozen.listen(0, '127.0.0.1', done))();
    const sockets = new Set<Socket>();
    frozen.on('connection', (socket) => sockets.add(socket));
    const { port } = frozen.address() as AddressInfo;
    const { membership, until, close } = await connect(() => undefined, { address: `127.0.0.1:${port}` });
    await until(() => membership.state.problem !== undefined);
    assert.equal(membership.state.problem?.code, 'HubUnreachable');
    assert.match(membership.state.problem.message, /answers neither requests nor keep-alives: its process is frozen/);
    await close();
    for (const socket of sockets) socket.destroy();
    frozen.close();
  });

  it('does not end while an earlier membership is still being left', { timeout: 300_000 }, async () => {
    const asked = Promise.withResolvers<undefined>();
    const answer = Promise.withResolvers<undefined>();
    const { membership, until, close, hub, removals } = await connect((session) => session.send(update), {
      leave: () => {
        asked.resolve(undefined);
        return answer.promise;
      },
    });
    await until(() => membership.state.isConnected);
    const run = new AbortController();
    const left = membership.leave(hub, run.signal);
    await asked.promise;
    run.abort();
    membership.want({ cluster: 'east', hub, tokenRef: 'token', readToken: () => Promise.resolve(undefined) });
    answer.resolve(undefined);
    await left;
    await until(() => membership.state.isConnected);
    assert.equal(removals(), 0, 'the identity is the next one’s');
    const end = new AbortController();
    await membership.leave(hub, end.signal);
    assert.equal(removals(), 1);
    await close();
  });

  it('waits for a hub that is connected and has not sent an update yet', { timeout: 300_000 }, async () => {
    const opened = Promise.withResolvers<MemberSession>();
    const { membership, until, close } = await connect(opened.resolve);
    const session = await opened.promise;
    await sleep(400);
    assert.equal(membership.state.problem, undefined);
    session.send(update);
    await until(() => membership.state.isConnected);
    await close();
  });

  it('sends the newest state once the hub has answered to the one before', { timeout: 300_000 }, async () => {
    const sessions: MemberSession[] = [];
    const received: string[] = [];
    const { membership, until, close } = await connect((session) => {
      sessions.push(session);
      session.onState(({ unreachable }) => void received.push(unreachable.join()));
      session.send(update);
    });
    const send = (...unreachable: readonly string[]) =>
      membership.send({ gateways: [], attachments: [], unreachable, tellsExports: true, tellsPaths: true });
    const answer = () => sessions.at(-1)?.send({ ...update, revision: membership.revision });
    const have = (...states: readonly string[]) =>
      eventually('states at the hub', () => isDeepStrictEqual(received, states) || notYet(received.join(' ')));
    await until(() => membership.state.isConnected);
    for (const name of ['a', 'b', 'c']) send(name);
    await have('a');
    sessions.at(-1)?.send({ ...update, revision: 1 });
    await have('a', 'c');
    send('d');
    answer();
    await have('a', 'c', 'd');
    send('e');
    sessions.at(-1)?.refuse({ code: 'HubUnavailable', message: 'it starts again' });
    await have('a', 'c', 'd', 'e');
    await close();
  });

  const state = { gateways: [], attachments: [], unreachable: [], tellsExports: true, tellsPaths: true };
  const exportUpdate: ExportUpdate = {
    revision: 0,
    begins: false,
    isComplete: true,
    members: [],
    expected: [],
    known: [],
    wanted: [],
    rejections: null,
  };
  const service = (name: string) => [`shop/${name}`, exported(`shop/${name}`, [])] as const;

  /** A hub that notes each report as its revision and the names in it. */
  async function exporting(carriesExports: boolean, onExports?: () => boolean) {
    const sessions: MemberSession[] = [];
    const received: string[] = [];
    const member = await connect(
      (session) => {
        sessions.push(session);
        session.onExports(({ revision, changed, begins }: ExportReport) => {
          received.push(`${revision}${begins ? '!' : ''} ${changed.map(({ name }) => name).join()}`);
        });
        session.onState(() => received.push('state'));
        session.send({ ...update, carriesExports });
      },
      onExports === undefined ? {} : { onExports },
    );
    const have = (...wanted: readonly string[]) =>
      eventually('messages at the hub', () => isDeepStrictEqual(received, wanted) || notYet(received.join('; ')));
    const answer = (rest: Partial<ExportUpdate>) =>
      sessions.at(-1)?.sendExports({ ...exportUpdate, ...rest }, () => undefined);
    return { ...member, sessions, have, answer };
  }

  it(
    'sends its exports after its state, then changes, each after the answer to the one before',
    { timeout: 300_000 },
    async () => {
      const { membership, until, close, have, answer, sessions } = await exporting(true);
      await until(() => membership.state.isConnected);
      membership.sendExports(new Map([service('a')]), new Set(['shop']));
      await have();
      membership.send(state);
      await have('state', '1! a');
      membership.sendExports(new Map([service('a'), service('b')]), new Set(['shop']));
      membership.sendExports(new Map([service('a'), service('b'), service('c')]), new Set(['shop']));
      assert.equal(membership.areExportsKnown, false);
      answer({ revision: 1 });
      await have('state', '1! a', '2 b,c');
      answer({ revision: 2, wanted: ['shop/a'] });
      await have('state', '1! a', '2 b,c', '3 a');
      answer({ revision: 3 });
      await eventually('the answer', () => membership.areExportsKnown || notYet('unanswered'));
      sessions.at(-1)?.refuse({ code: 'HubUnavailable', message: 'it starts again' });
      await have('state', '1! a', '2 b,c', '3 a', 'state', '1! a,b,c');
      await close();
      assert.equal(membership.areExportsKnown, false);
    },
  );

  it('sends a hub of an earlier release no exports', { timeout: 300_000 }, async () => {
    const { membership, until, close, have, sessions } = await exporting(false);
    await until(() => membership.state.isConnected);
    membership.sendExports(new Map([service('a')]), new Set(['shop']));
    membership.send(state);
    await have('state');
    sessions.at(-1)?.send({ ...update, revision: 1, carriesExports: false, carriesPods: false });
    membership.send({ ...state, unreachable: ['x'] });
    await have('state', 'state');
    assert.equal(membership.areExportsKnown, false);
    await close();
  });

  it(
    'sends the report of its paths after its state and in each session, and none to an earlier hub',
    { timeout: 300_000 },
    async () => {
      const sessions: MemberSession[] = [];
      const received: string[] = [];
      let takesPaths = true;
      const { membership, until, close } = await connect((session) => {
        sessions.push(session);
        session.onPaths(({ version, clusters, listed }) =>
          received.push(
            `${version} ${clusters} ${listed.map(({ cluster, up, sinceMs }) => `${cluster} ${up} ${sinceMs}`).join()}`,
          ),
        );
        session.onState(({ tellsPaths }) => received.push(`state ${tellsPaths}`));
        session.send({ ...update, takesPaths });
      });
      const have = (...wanted: readonly string[]) =>
        eventually('messages at the hub', () => isDeepStrictEqual(received, wanted) || notYet(received.join('; ')));
      const west = {
        cluster: 'west',
        paths: 2,
        up: 1,
        state: 'Down',
        reason: 'TunnelDown',
        sinceMs: 1_700_000_000_000,
      };
      const report = { version: '0.1.0', clusters: 1, clustersUp: 0, listed: [west] };
      await until(() => membership.state.isConnected);
      membership.sendPaths(report);
      await have();
      membership.send(state);
      await have('state true', '0.1.0 1 west 1 1700000000000');
      membership.sendPaths(structuredClone(report));
      membership.sendPaths({ ...report, listed: [] });
      await have('state true', '0.1.0 1 west 1 1700000000000', '0.1.0 1 ');
      sessions.at(-1)?.refuse({ code: 'HubUnavailable', message: 'it starts again' });
      await eventually('the second session', () => received.length === 5 || notYet(received.join('; ')));
      assert.deepEqual(received.splice(0).slice(3), ['state true', '0.1.0 1 ']);
      takesPaths = false;
      sessions.at(-1)?.refuse({ code: 'HubUnavailable', message: 'an earlier release starts' });
      await have('state true');
      membership.sendPaths(report);
      membership.send({ ...state, unreachable: ['x'] });
      sessions.at(-1)?.send({ ...update, revision: 99, takesPaths });
      await have('state true', 'state true');
      await close();
    },
  );

  it('begins another session if a change builds on what it does not have', { timeout: 300_000 }, async () => {
    let isSound = false;
    const { membership, until, close, have, answer, sessions } = await exporting(true, () => isSound);
    membership.send(state);
    membership.sendExports(new Map([service('a')]), new Set(['shop']));
    await have('state', '1! a');
    answer({ revision: 1 });
    await have('state', '1! a', 'state', '1! a');
    isSound = true;
    answer({ revision: 1 });
    await until(() => membership.state.isConnected);
    await eventually('the answer', () => membership.areExportsKnown || notYet('unanswered'));
    assert.equal(sessions.length, 2);
    await close();
  });
});
