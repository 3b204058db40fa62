/**
 * Our nftables table of one family, replaced as a whole in one transaction of the kernel, by nft(8) reading stdin. The table itself
 * records whether it was edited: its comment has a digest of the wanted text, and the comment of a chain that no rule jumps to has a
 * digest of the listing. So a restarted daemon recognizes its own table and changes nothing, and finds edits from while no daemon ran.
 */
import { createHash } from 'node:crypto';
import type { Netns } from './netns.ts';
import { rulesetGeneration } from './nft-generation.ts';
import { ProgramError, run, type RunOptions } from './program.ts';

export const tableName = 'isthmus';
export type TableFamily = 'inet' | 'netdev';

/** The chain with the digest of the listing. */
const seal = 'unchanged';
const sealPattern = new RegExp(`^\\tchain ${seal} \\{\\n\\t\\tcomment "([^"]*)"\\n\\t\\}\\n`, 'm');
/** Number of attempts in a row to write the table while others write rules of their own. */
const tries = 5;

export class NftTable {
  readonly #table: string;
  readonly #family: TableFamily;
  readonly #netns: Netns | undefined;

  /** `netns`: where the table is, if not in the namespace of the node. */
  constructor(family: TableFamily, netns?: Netns) {
    this.#family = family;
    this.#table = `${family} ${tableName}`;
    this.#netns = netns;
  }

  /** @throws ProgramError */
  async remove(): Promise<void> {
    if ((await this.#list()) !== '') await this.#run(`delete table ${this.#table}\n`);
  }

  /** Returns whether anything was written. @throws ProgramError */
  async set(body: string): Promise<boolean> {
    const digest = digestOf(body);
    if (isIntact(await this.#list(), digest)) return false;
    for (let left = tries; left > 0; left -= 1) {
      const before = await this.#generation();
      await this.#run(render(this.#table, body, digest));
      const listing = await this.#list();
      // A transaction in between may have edited the table, and an edited listing must not be sealed.
      if ((await this.#generation()) !== before + 1) continue;
      await this.#run(`table ${this.#table} {\nchain ${seal} { comment "${sealOf(listing)}"; }\n}\n`);
      if (isIntact(await this.#list(), digest)) return true;
    }
    // Without a matching seal, the next application writes the table again; our own writes trigger it.
    return true;
  }

  /** Empty if there is no such table. */
  async #list(): Promise<string> {
    return (await listTable(this.#family, tableName, [], this.#options)).trimEnd();
  }

  #run(commands: string): Promise<string> {
    return run('nft', ['-f', '-'], commands, this.#options);
  }

  #generation(): Promise<number> {
    return this.#netns === undefined ? rulesetGeneration() : this.#netns.run(rulesetGeneration);
  }

  get #options(): RunOptions {
    return this.#netns === undefined ? {} : { netns: this.#netns };
  }
}

/** The listing of one table; empty if it does not exist. Other tables are not listed: that of Services has an element for every endpoint. @throws ProgramError */
export async function listTable(
  family: TableFamily,
  name: string,
  flags: readonly string[] = [],
  options: RunOptions = {},
): Promise<string> {
  try {
    return await run('nft', [...flags, 'list', 'table', family, name], '', options);
  } catch (error) {
    if (error instanceof ProgramError && error.message.includes('No such file or directory')) return '';
    throw error;
  }
}

function isIntact(listing: string, digest: string): boolean {
  return listing.includes(`comment "isthmus ${digest}"`) && sealPattern.exec(listing)?.[1] === sealOf(listing);
}

/** The listing without the seal chain and without blank lines, of which the seal chain adds one. */
function sealOf(listing: string): string {
  return digestOf(listing.replace(sealPattern, '').replaceAll(/^\s*\n/gm, ''));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** The table is declared first, so that the delete also works if there is none. */
function render(table: string, body: string, digest: string): string {
  return `table ${table}\ndelete table ${table}\ntable ${table} {\ncomment "isthmus ${digest}"\n${body}}\n`;
}
