/**
 * Our nftables table of one family, by nft(8) reading stdin. It is replaced as a whole in one transaction of the kernel; only elements of its
 * sets are added and deleted by themselves. The table records whether it was edited: its comment has a digest of the wanted text, and
 * the comment of a chain that no rule jumps to has a digest of the listing, both without elements. So a restarted daemon
 * recognizes its own table and changes nothing, and finds edits from while no daemon ran.
 */
import { parseCidr, formatCidr } from '../../lib/net/cidr.ts';
import type { Netns } from './netns.ts';
import { rulesetGeneration } from './nft-generation.ts';
import { ProgramError, run, type RunOptions } from './program.ts';
import { digestOf, parseListing, sealChain } from './table-listing.ts';
import { familyOf, bitsOf } from '../../lib/net/ip.ts';

export const tableName = 'isthmus';
export type TableFamily = 'inet' | 'netdev';

/** Set → its networks. */
export type SetElements = ReadonlyMap<string, ReadonlySet<string>>;

export interface ElementChanges {
  readonly set: string;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Number of attempts in a row to write the table while others write rules of their own. */
const tries = 5;

export interface NftTableOptions {
  /** By default that of the host network. */
  readonly name?: string;
  /** Called with each netlink port by which elements are changed. */
  readonly onPort?: (port: number) => void;
  /** Where the table is, if not in the namespace of the node. */
  readonly netns?: Netns;
}

export class NftTable {
  readonly #name: string;
  readonly #table: string;
  readonly #family: TableFamily;
  readonly #onPort: (port: number) => void;
  readonly #netns: Netns | undefined;

  constructor(family: TableFamily, { name = tableName, onPort = () => undefined, netns }: NftTableOptions = {}) {
    this.#family = family;
    this.#name = name;
    this.#table = `${family} ${name}`;
    this.#onPort = onPort;
    this.#netns = netns;
  }

  /** @throws ProgramError */
  async remove(): Promise<void> {
    if ((await this.#list()) !== '') await this.#run(`delete table ${this.#table}\n`);
  }

  /** Compares the table with the wanted one. Returns whether anything was written. @param body without elements @throws ProgramError */
  async set(body: string, elements: SetElements = new Map()): Promise<boolean> {
    const digest = digestOf(body);
    const present = parseListing(await this.#list());
    if (isIntact(present, digest)) return this.change(differences(present.elements, elements));
    const all = [...elements].map(([set, networks]) => ({ set, removed: [], added: [...networks] }));
    const text = `${render(this.#table, body, digest)}${this.#render(all)}`;
    for (let left = tries; left > 0; left -= 1) {
      const before = await this.#generation();
      await this.#run(text);
      const written = parseListing(await this.#list());
      // A transaction in between may have edited the table, and an edited listing must not be sealed.
      if ((await this.#generation()) !== before + 1) continue;
      const seal = `chain ${sealChain} { comment "${written.digest}"; }`;
      await this.#run(`table ${this.#table} {\n${seal}\n}\n`);
      if (isIntact(parseListing(await this.#list()), digest)) return true;
    }
    // Without a matching seal, the next application writes the table again; our own writes trigger it.
    return true;
  }

  /** Changes elements in one transaction. Returns whether there was anything to write. @throws ProgramError */
  async change(changes: readonly ElementChanges[]): Promise<boolean> {
    const text = this.#render(changes);
    // The netlink port of a process that has one socket is its id.
    if (text !== '') await run('nft', ['-f', '-'], text, { ...this.#options, onStart: this.#onPort });
    return text !== '';
  }

  /** Elements that overlap must not be in a set at a time, so deletions come first. */
  #render(changes: readonly ElementChanges[]): string {
    const line = (verb: string, set: string, list: readonly string[]): string =>
      list.length === 0 ? '' : `${verb} element ${this.#table} ${set} { ${list.join(', ')} }\n`;
    return [
      ...changes.map(({ set, removed }) => line('delete', set, removed)),
      ...changes.map(({ set, added }) => line('add', set, added)),
    ].join('');
  }

  /** Empty if there is no such table. */
  async #list(): Promise<string> {
    return (await listTable(this.#family, this.#name, [], this.#options)).trimEnd();
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

function isIntact({ skeleton, seal, digest }: ReturnType<typeof parseListing>, wanted: string): boolean {
  return skeleton === wanted && seal === digest;
}

function differences(
  present: ReadonlyMap<string, ReadonlyMap<string, string>>,
  wanted: SetElements,
): readonly ElementChanges[] {
  return [...new Set([...present.keys(), ...wanted.keys()])].map((set) => {
    const left = new Map([...(present.get(set)?.keys() ?? [])].map((key) => [networkOf(key), key]));
    const added = [...(wanted.get(set) ?? [])].filter((network) => !left.delete(network));
    return { set, removed: [...left.values()], added };
  });
}

/** nft shows the network of one address without its prefix. */
function networkOf(key: string): string {
  const cidr = parseCidr(key.includes('/') ? key : `${key}/${bitsOf(familyOf(key))}`);
  return cidr === undefined ? key : formatCidr(cidr);
}

/** The table is declared first, so that the delete also works if there is none. */
function render(table: string, body: string, digest: string): string {
  return `table ${table}\ndelete table ${table}\ntable ${table} {\ncomment "isthmus ${digest}"\n${body}}\n`;
}
