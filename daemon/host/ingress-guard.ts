/**
 * Keeps the kernel from answering on interfaces whose packets a userspace Open vSwitch reads: it gets copies of them, and
 * would take each packet to the node twice. The hook of an interface goes with it: one that comes again has another index.
 */
import { NftTable } from './nft.ts';

export interface GuardedNic {
  readonly name: string;
  readonly index: number;
}

export class IngressGuard {
  readonly #table = new NftTable('netdev');

  /** Of all interfaces that are to be guarded; what is so already is not written. @throws ProgramError */
  async set(nics: readonly GuardedNic[]): Promise<void> {
    if (nics.length === 0) return this.#table.remove();
    const chains = nics.map(
      ({ name, index }) =>
        `chain nic${index} {\ntype filter hook ingress device ${JSON.stringify(name)} priority 0; policy drop;\n}\n`,
    );
    await this.#table.set(chains.join(''));
  }
}
