/**
 * Our nftables table of one family, replaced as a whole in one transaction of the kernel, by nft(8) reading stdin.
 * What tells our table from an edited one stands in the table itself, so that a restarted daemon finds its own, changes
 * nothing, and also notices what was edited while no daemon ran: a digest of the wanted text as the table's comment, and a
 * digest of the listing as the comment of a chain that nothing leads to.
 */
import { createHash } from 'node:crypto';
import { rulesetGeneration } from './nft-generation.ts';
import { run } from './program.ts';

export const tableName = 'isthmus';
export type TableFamily = 'inet' | 'netdev';

/** The chain with the listing's digest. */
const seal = 'unchanged';
const sealPattern = new RegExp(`^\\tchain ${seal} \\{\\n\\t\\tcomment "([^"]*)"\\n\\t\\}\\n`, 'm');
/** How often a table is written anew at once where others write rules of their own at that moment. */
const tries = 5;

export class NftTable {
  readonly #table: string;
  readonly #family: TableFamily;

  constructor(family: TableFamily) {
    this.#family = family;
    this.#table = `${family} ${tableName}`;
  }

  /** @throws ProgramError */
  async remove(): Promise<void> {
    if ((await this.#list()) !== '') await run('nft', ['-f', '-'], `delete table ${this.#table}\n`);
  }

  /** Returns whether anything was written. @throws ProgramError */
  async set(body: string): Promise<boolean> {
    const digest = digestOf(body);
    if (isIntact(await this.#list(), digest)) return false;
    for (let left = tries; left > 0; left -= 1) {
      const before = await rulesetGeneration();
      await run('nft', ['-f', '-'], render(this.#table, body, digest));
      const listing = await this.#list();
      // Whatever came between may have been an edit, and an edited listing must not pass for ours.
      if ((await rulesetGeneration()) !== before + 1) continue;
      await run('nft', ['-f', '-'], `table ${this.#table} {\nchain ${seal} { comment "${sealOf(listing)}"; }\n}\n`);
      if (isIntact(await this.#list(), digest)) return true;
    }
    // Without a seal that fits, the next application, which the writes themselves bring about, writes it again.
    return true;
  }

  /** Empty where there is no such table. */
  async #list(): Promise<string> {
    const listing = await run('nft', ['list', 'ruleset', this.#family]);
    return new RegExp(`^table ${this.#table} \\{\\n[^]*?^\\}`, 'm').exec(listing)?.[0] ?? '';
  }
}

function isIntact(listing: string, digest: string): boolean {
  return listing.includes(`comment "isthmus ${digest}"`) && sealPattern.exec(listing)?.[1] === sealOf(listing);
}

/** Blank lines part the chains, and so there is one more with the seal. */
function sealOf(listing: string): string {
  return digestOf(listing.replace(sealPattern, '').replaceAll(/^\s*\n/gm, ''));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Declaring the table first makes the delete work where there is none. */
function render(table: string, body: string, digest: string): string {
  return `table ${table}\ndelete table ${table}\ntable ${table} {\ncomment "isthmus ${digest}"\n${body}}\n`;
}
