/**
 * A key, its certificate and the trusted certificates, as files for programs that read them again when they change. In: texts. Out: files
 * below one link, which moves atomically from one folder to the next, so that no program reads a key with the certificate of another.
 */
import { mkdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export class CredentialFiles {
  readonly #link: string;
  #count = 0;

  /** `link`: where the files are found. Its parent is made where it is missing. */
  constructor(link: string) {
    this.#link = link;
  }

  path(name: string): string {
    return join(this.#link, name);
  }

  /** Undefined if there is no such file. */
  async read(name: string): Promise<string | undefined> {
    return await orUndefined(readFile(this.path(name), 'utf8'));
  }

  /** Replaces all files. They are the owner's alone to read. @throws system errors */
  async write(files: Readonly<Record<string, string>>): Promise<void> {
    const parent = dirname(this.#link);
    const before = await orUndefined(readlink(this.#link));
    const folder = `.${basename(this.#link)}-${process.pid}-${Date.now()}-${this.#count++}`;
    await mkdir(join(parent, folder), { recursive: true, mode: 0o700 });
    for (const [name, text] of Object.entries(files))
      await writeFile(join(parent, folder, name), text, { mode: 0o600 });
    const next = `${this.#link}.next`;
    await rm(next, { force: true });
    await symlink(folder, next);
    await rename(next, this.#link);
    if (before !== undefined) await rm(join(parent, before), { recursive: true, force: true });
  }

  /** @throws system errors */
  async remove(): Promise<void> {
    const before = await orUndefined(readlink(this.#link));
    await rm(this.#link, { force: true });
    if (before !== undefined) await rm(join(dirname(this.#link), before), { recursive: true, force: true });
  }
}

async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
