/**
 * What the hub must not forget and the IC databases have no place for: its authority, who is a member with which
 * key, and which tokens were redeemed. Small JSON files, each written whole and renamed into place, so that a crash
 * leaves the old or the new one. Called by the hub's commands; one `serve` at a time, `token` and `init` beside it.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createAuthority, type KeyAndCertificate } from '../../link/certificate.ts';

const memberFile = z.object({
  cluster: z.string(),
  fingerprint: z.string(),
  token: z.string(),
  joinedMs: z.int(),
  /** It said that it leaves; its rows may still be there. */
  leaving: z.boolean().default(false),
});
export type Membership = z.infer<typeof memberFile>;

const tokenFile = z.object({
  id: z.string(),
  cluster: z.string(),
  fingerprint: z.string(),
  /** The membership it made has ended. */
  spent: z.boolean(),
});
export type RedeemedToken = z.infer<typeof tokenFile>;

const hubFile = z.object({ address: z.string() });

/** The state directory cannot be used as it is; the message says what to do. */
export class HubStateError extends Error {
  readonly code = 'HubStateError';
  override name = 'HubStateError';
}

/** Makes the authority and records the hub's address; an authority that is there stays. Returns whether it was made. */
export async function initState(directory: string, address: string, nowMs: number): Promise<boolean> {
  for (const part of ['', 'members', 'tokens']) await mkdir(join(directory, part), { recursive: true, mode: 0o700 });
  const isNew = (await readOptional(join(directory, 'ca.json'))) === undefined;
  if (isNew) await writeWhole(join(directory, 'ca.json'), JSON.stringify(await createAuthority(nowMs)));
  await writeWhole(join(directory, 'hub.json'), JSON.stringify({ address }));
  return isNew;
}

export class Registry {
  readonly authority: KeyAndCertificate;
  /** Host that members reach the hub by, as `init` was told. */
  readonly address: string;
  readonly #directory: string;
  readonly #members: Map<string, Membership>;

  private constructor(
    directory: string,
    authority: KeyAndCertificate,
    address: string,
    members: Map<string, Membership>,
  ) {
    this.#directory = directory;
    this.authority = authority;
    this.address = address;
    this.#members = members;
  }

  /** @throws HubStateError when `init` was not run or a file is damaged */
  static async open(directory: string): Promise<Registry> {
    const ca = await readOptional(join(directory, 'ca.json'));
    const hub = await readOptional(join(directory, 'hub.json'));
    if (ca === undefined || hub === undefined)
      throw new HubStateError(`${directory} holds no hub; run \`init --state-dir ${directory} --address HOST\` first`);
    const members = new Map<string, Membership>();
    for (const name of await readdir(join(directory, 'members'))) {
      if (!name.endsWith('.json')) continue;
      const file = join(directory, 'members', name);
      const member = parseFile(file, memberFile, await readFile(file, 'utf8'));
      members.set(member.cluster, member);
    }
    const authority = parseFile('ca.json', z.object({ key: z.string(), certificate: z.string() }), ca);
    return new Registry(directory, authority, parseFile('hub.json', hubFile, hub).address, members);
  }

  member(cluster: string): Membership | undefined {
    return this.#members.get(cluster);
  }

  members(): MapIterator<Membership> {
    return this.#members.values();
  }

  async setMember(member: Membership): Promise<void> {
    await writeWhole(this.#memberPath(member.cluster), JSON.stringify(member));
    this.#members.set(member.cluster, member);
  }

  async removeMember(cluster: string): Promise<void> {
    await rm(this.#memberPath(cluster), { force: true });
    this.#members.delete(cluster);
  }

  async token(id: string): Promise<RedeemedToken | undefined> {
    const file = join(this.#directory, 'tokens', `${id}.json`);
    const text = await readOptional(file);
    return text === undefined ? undefined : parseFile(file, tokenFile, text);
  }

  async setToken(token: RedeemedToken): Promise<void> {
    await writeWhole(join(this.#directory, 'tokens', `${token.id}.json`), JSON.stringify(token));
  }

  #memberPath(cluster: string): string {
    return join(this.#directory, 'members', `${cluster}.json`);
  }
}

async function readOptional(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parseFile<T>(file: string, schema: z.ZodType<T>, text: string): T {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new HubStateError(`${file} is not JSON; restore it from a backup`, { cause: error });
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new HubStateError(`${file}: ${z.prettifyError(parsed.error)}; restore it from a backup`);
  return parsed.data;
}

async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  const directory = await open(join(file, '..'), 'r');
  await directory.sync();
  await directory.close();
}
