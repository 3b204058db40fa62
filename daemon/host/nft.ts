/**
 * Our nftables table of one family, replaced as a whole in one transaction of the kernel, by nft(8) reading stdin.
 * A digest of the wanted text stands in the table's comment, so that a restarted daemon finds its own table and
 * changes nothing; edits by others are noticed by comparing the listing with the one after our last write.
 */
import { createHash } from 'node:crypto';
import { run } from './program.ts';

export const tableName = 'isthmus';
export type TableFamily = 'inet' | 'netdev';

export class NftTable {
  readonly #table: string;
  readonly #family: TableFamily;
  #written: { readonly digest: string; readonly listing: string } | undefined;

  constructor(family: TableFamily) {
    this.#family = family;
    this.#table = `${family} ${tableName}`;
  }

  /** @throws ProgramError */
  async remove(): Promise<void> {
    this.#written = undefined;
    if ((await this.#list()) !== '') await run('nft', ['-f', '-'], `delete table ${this.#table}\n`);
  }

  /** Returns whether anything was written. @throws ProgramError */
  async set(body: string): Promise<boolean> {
    const digest = createHash('sha256').update(body).digest('hex').slice(0, 32);
    const listing = await this.#list();
    const isOurs =
      this.#written === undefined
        ? listing.includes(`comment "isthmus ${digest}"`)
        : this.#written.digest === digest && this.#written.listing === listing;
    if (!isOurs) await run('nft', ['-f', '-'], render(this.#table, body, digest));
    this.#written = { digest, listing: isOurs ? listing : await this.#list() };
    return !isOurs;
  }

  /** Empty where there is no such table. */
  async #list(): Promise<string> {
    const listing = await run('nft', ['list', 'ruleset', this.#family]);
    return new RegExp(`^table ${this.#table} \\{\\n[^]*?^\\}`, 'm').exec(listing)?.[0] ?? '';
  }
}

/** Declaring the table first makes the delete work where there is none. */
function render(table: string, body: string, digest: string): string {
  return `table ${table}\ndelete table ${table}\ntable ${table} {\ncomment "isthmus ${digest}"\n${body}}\n`;
}
