/** Stands in for the table of Services in a dry run: nft and the kernel check the whole table, and nothing is written. */
import type { PresentTable, TableElement } from '../model/service-table.ts';
import { run } from './program.ts';
import { chainsBesides, renderServiceTable } from './service-table.ts';

export interface ServiceCheckOptions {
  /** Body of the table without elements, in the language of nft. */
  readonly skeleton: string;
  /** A chain for a number of endpoints in that language; undefined for another chain. */
  readonly renderChain: (name: string) => string | undefined;
}

/** Time for the elements of ten thousand Services on a busy node. */
const timeoutMs = 120_000;
const absent: PresentTable = { isIntact: false, elements: new Map(), chains: new Set() };

export class ServiceCheck {
  readonly #options: ServiceCheckOptions;
  #isOutdated = false;

  constructor(options: ServiceCheckOptions) {
    this.#options = options;
  }

  /** Whether the table has changed since it was checked as a whole. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  read(): Promise<PresentTable> {
    return Promise.resolve(absent);
  }

  /** @throws ProgramError with the words of nft */
  async create(elements: readonly TableElement[], chains: ReadonlySet<string>): Promise<void> {
    const { skeleton, renderChain } = this.#options;
    this.#isOutdated = false;
    // The rules of other chains differ from the sample in the skeleton in a timeout only.
    const rendered = [...chainsBesides(skeleton, chains)].map((name) => renderChain(name) ?? `chain ${name} {\n}`);
    await run('nft', ['--check', '-f', '-'], renderServiceTable(skeleton + rendered.join('\n'), elements), {
      timeoutMs,
    });
  }

  /** A check of single elements would need the table. */
  apply(): Promise<void> {
    this.#isOutdated = true;
    return Promise.resolve();
  }
}
