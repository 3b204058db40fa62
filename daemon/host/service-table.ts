/**
 * The nftables table of Services in the kernel. It is written as a whole once; afterwards elements are written, and chains that the first
 * Service of a kind needs. The table has a seal: digests of the text that was written and of its listing. By the seal, a restarted daemon
 * recognizes its own table and changes nothing, and detects edits by other programs.
 */
import { nodeInterface } from '../../lib/api/names.ts';
import type { Family } from '../../lib/net/ip.ts';
import { newChains } from '../../lib/netlink/nftables.ts';
import {
  affinityMaps,
  learnChainName,
  type PresentTable,
  type TableChanges,
  type TableElement,
} from '../model/service-table.ts';
import { listTable } from './nft.ts';
import { rulesetGeneration } from './nft-generation.ts';
import { NftTransactions } from './nft-transaction.ts';
import { ProgramError, run } from './program.ts';
import { chainOf } from './service-chains.ts';
import { encodeElements } from './service-elements.ts';
import { digestOf, parseAffinity, parseListing, sampleSeconds, sealChain } from './table-listing.ts';

export const serviceTableName = 'isthmus-services';
const table = `inet ${serviceTableName}`;
/** Time for the elements of ten thousand Services on a busy node. */
const timeoutMs = 120_000;
/** Attempts in a row while other programs write their own rules. */
const tries = 5;

export interface ServiceTableOptions {
  /** Body of the table without elements, in the language of nft. */
  readonly skeleton: string;
  /** A chain for a number of endpoints in that language; undefined for another chain. */
  readonly renderChain: (name: string) => string | undefined;
  /** Called with each netlink port by which this daemon changes the table. */
  readonly onPort?: (port: number) => void;
}

export class ServiceTable {
  readonly #options: ServiceTableOptions;
  readonly #digest: string;
  readonly #transactions: NftTransactions;
  #chains: ReadonlySet<string> = new Set();
  #exists = false;

  constructor(options: ServiceTableOptions) {
    this.#options = options;
    this.#digest = digestOf(options.skeleton);
    this.#transactions = new NftTransactions((port) => options.onPort?.(port));
  }

  /** @throws ProgramError */
  async read(): Promise<PresentTable> {
    const listing = await this.#list();
    const { skeleton, seal, digest, elements, chains } = parseListing(listing);
    this.#chains = chains;
    this.#exists = listing !== '';
    return { isIntact: skeleton === this.#digest && seal === digest, elements, chains };
  }

  /** Creates or replaces the table in one transaction, so that no packet meets an empty table. @throws ProgramError, NetlinkError */
  async create(elements: readonly TableElement[], chains: ReadonlySet<string>): Promise<void> {
    const { skeleton, renderChain } = this.#options;
    // Chains that nft cannot write are added afterwards, and elements that lead to them.
    const besides = chainsBesides(skeleton, chains);
    const rendered = new Map(
      [...besides].flatMap((name) => {
        const text = renderChain(name);
        return text === undefined ? [] : [[name, text] as const];
      }),
    );
    const isLate = ({ value }: TableElement): boolean =>
      value.startsWith('goto ') && besides.has(value.slice(5)) && !rendered.has(value.slice(5));
    const [first, late] = this.#exists
      ? [elements.filter((one) => !isLate(one)), elements.filter(isLate)]
      : [[], elements];
    const picks = this.#exists ? [...rendered.values()] : [];
    const text = renderServiceTable(`comment "isthmus ${this.#digest}"\n${skeleton}${picks.join('\n')}`, first);
    for (let left = tries; left > 0; left -= 1) {
      const before = await rulesetGeneration();
      await this.#write(text);
      await this.#addChains([learnChainName(sampleSeconds)]);
      const { digest, chains: present } = parseListing(await this.#list('-t'));
      this.#chains = present;
      // A transaction in between may have edited the table, and an edited listing must not be sealed. Without a seal, the next reading
      // finds the table edited.
      if ((await rulesetGeneration()) !== before + 2) continue;
      await this.#write(`table ${table} {\nchain ${sealChain} { comment "${digest}"; }\n}\n`);
      break;
    }
    await this.apply({ removed: [], added: late }, chains);
  }

  /** Writes the elements in one transaction. Missing chains are added before in another one, because no packet reaches them yet. @throws ProgramError, NetlinkError */
  async apply({ removed, added }: TableChanges, chains: Iterable<string>): Promise<void> {
    const missing = [...chains].filter((name) => !this.#chains.has(name));
    if (missing.length > 0) {
      await this.#addChains(missing);
      this.#chains = new Set([...this.#chains, ...missing]);
    }
    const changes = encodeElements(serviceTableName, { removed, added });
    if (changes !== undefined) await this.#transactions.execute(changes, `elements of table ${serviceTableName}`);
    else await this.#write([...render('delete', removed), ...render('add', added)].join(''));
  }

  /** Forgets clients whose endpoint may not serve them. @throws ProgramError */
  async forgetClients(family: Family, isStale: (client: string, endpoint: string) => boolean): Promise<void> {
    const set = affinityMaps[family];
    for (let left = tries; left > 0; left -= 1) {
      const listing = await run('nft', ['-n', 'list', 'map', ...table.split(' '), set], '', { timeoutMs });
      const stale = [...parseAffinity(listing)].filter(([client, endpoint]) => isStale(client, endpoint));
      if (stale.length === 0) return;
      try {
        await this.#write(
          [
            ...render(
              'delete',
              stale.map(([key, value]) => ({ set, key, value })),
            ),
          ].join(''),
        );
        return;
      } catch (error) {
        // One of the records has expired meanwhile.
        if (!(error instanceof ProgramError) || left === 1) throw error;
      }
    }
  }

  /** @throws ProgramError */
  async remove(): Promise<void> {
    const tables = await run('nft', ['list', 'tables', 'inet']);
    if (tables.split('\n').includes(`table ${table}`)) await this.#write(`delete table ${table}\n`);
  }

  async #addChains(names: readonly string[]): Promise<void> {
    const chains = names.flatMap((name) => chainOf(name) ?? []);
    await this.#transactions.execute(newChains(serviceTableName, chains), `chains of table ${serviceTableName}`);
  }

  async #write(text: string): Promise<void> {
    // The netlink port of a process that has one socket is its id.
    await run('nft', ['-f', '-'], text, { timeoutMs, onStart: (pid) => this.#options.onPort?.(pid) });
  }

  /** @param flags `-t`: without elements */
  #list(...flags: readonly string[]): Promise<string> {
    return listTable('inet', serviceTableName, ['-n', ...flags], { timeoutMs });
  }
}

/** Those of the chains that the skeleton does not have: of a chain that is declared twice, nft adds all rules twice. */
export function chainsBesides(skeleton: string, chains: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...chains].filter((name) => !skeleton.includes(`chain ${name} {`)));
}

/** The whole table in the language of nft, in place of a present one. */
export function renderServiceTable(body: string, elements: readonly TableElement[]): string {
  return `table ${table}\ndelete table ${table}\ntable ${table} {\n${body}\n}\n${[...render('add', elements)].join('')}`;
}

function* render(verb: 'add' | 'delete', elements: readonly TableElement[]): Generator<string> {
  const bySet = Map.groupBy(elements, ({ set }) => set);
  for (const [set, members] of bySet) {
    const list = members.map(({ key, value }) => {
      const name = key === nodeInterface ? `"${key}"` : key;
      return verb === 'delete' || value === '' ? name : `${name} : ${value}`;
    });
    yield `${verb} element ${table} ${set} { ${list.join(', ')} }\n`;
  }
}
