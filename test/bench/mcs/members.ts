/**
 * Members of a hub that exist as sessions only, in a process in the hub's network. Its first line of input says which; it prints a line once the
 * hub has all their exports, and they leave when the input ends. Their prefixes have no gateways, so that nobody has a path to them.
 */
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { attachment, TestMember } from '../../../interconnect/hub/hub-bed.ts';
import { joinHub } from '../../../interconnect/link/client.ts';
import { exported } from '../../../interconnect/model/testing-exports.ts';
import { createKey, createRequest } from '../../../lib/pki/certificate.ts';
import { readToken, type TokenClaims } from '../../../lib/pki/join-token.ts';

export interface MembersWish {
  readonly hub: string;
  readonly tokens: readonly string[];
  /** Exports of each in a namespace that real members have, and in one that they do not have. */
  readonly namespace: string;
  readonly shared: number;
  readonly others: number;
}

const nameOf = (at: number): string => `bench-${at}`;

async function join({ hub }: MembersWish, token: string): Promise<TestMember> {
  const { ca } = readToken(token) as TokenClaims;
  const key = await createKey();
  return new TestMember(hub, { ...(await joinHub(hub, ca, token, await createRequest(key, 'bench'), [])), key }).open();
}

async function send(member: TestMember, at: number, { namespace, shared, others }: MembersWish): Promise<void> {
  const prefix = `10.128.${at}.0/24`;
  const attachments = [attachment([prefix], { routerId: nameOf(at) })];
  await member.sendState({ gateways: [], attachments, unreachable: [], tellsExports: true, tellsPaths: true });
  const addresses = [1, 2].map((host) => `10.128.${at}.${host}`);
  const keys = [
    ...Array.from({ length: shared }, (_, index) => `${namespace}/${nameOf(at)}-${index}`),
    ...Array.from({ length: others }, (_, index) => `bench-elsewhere/${nameOf(at)}-${index}`),
  ];
  await member.sendExports(
    keys.map((key) => exported(key, addresses)),
    [],
  );
}

const lines = createInterface(process.stdin);
const [line] = (await once(lines, 'line')) as [string];
const wish = JSON.parse(line) as MembersWish;
const members: TestMember[] = [];
for (const [at, token] of wish.tokens.entries()) {
  const member = await join(wish, token);
  members.push(member);
  await send(member, at, wish);
}
process.stdout.write(`${JSON.stringify({ members: members.length })}\n`);
await once(lines, 'close');
for (const member of members) await member.leave();
process.stdout.write('{}\n');
process.exit();
