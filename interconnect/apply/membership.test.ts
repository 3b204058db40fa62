import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../lib/desired/problem.ts';
import {
  createAuthority,
  createKey,
  createRequest,
  issueHub,
  issueMember,
  verifyRequest,
} from '../link/certificate.ts';
import { serveHub, type MemberSession } from '../link/server.ts';
import type { StoredIdentity } from './identity.ts';
import { Membership } from './membership.ts';

const none: Problem = { code: 'Unexpected', message: 'not asked for here' };

/** A member with an identity, and a hub that answers its sessions as told. */
async function connect(answer: (session: MemberSession) => void) {
  const authority = await createAuthority(Date.now());
  const key = await createKey();
  const request = await verifyRequest(await createRequest(key, 'east'));
  assert.ok(request);
  const certificate = await issueMember(authority, request.publicKey, 'east', Date.now());
  const server = await serveHub({
    listen: '127.0.0.1:0',
    authority: authority.certificate,
    endpoint: await issueHub(authority, Date.now()),
    calls: {
      join: () => Promise.resolve(none),
      renew: () => Promise.resolve(none),
      leave: () => Promise.resolve(none),
      session: answer,
    },
  });
  const identity: StoredIdentity = { key, certificate, ca: authority.certificate, token: 't' };
  const changes: (() => void)[] = [];
  const membership = new Membership({
    store: { load: () => Promise.resolve(identity), save: () => Promise.resolve(), remove: () => Promise.resolve() },
    now: Date.now,
    random: Math.random,
    log: { info: () => undefined, warn: () => undefined },
    onUpdate: () => undefined,
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
  membership.want({ cluster: 'east', hub: `127.0.0.1:${server.port}`, readToken: () => Promise.resolve(undefined) });
  const close = async (): Promise<void> => {
    await membership.close();
    server.close();
  };
  return { membership, until, close };
}

const update = {
  revision: 0,
  full: true,
  transitSwitches: [],
  members: [],
  removed: [],
  rejections: [],
  expected: [],
};

describe('a membership', () => {
  it('is over when the hub says so, until it takes the member again', { timeout: 30_000 }, async () => {
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
});
