/**
 * Keeps the kernel from processing packets of interfaces that a userspace Open vSwitch reads. Open vSwitch only gets copies, so the node
 * would receive each packet twice. The hook of an interface disappears with it; an interface that comes back has another index.
 */
import { NftTable } from './nft.ts';

export interface GuardedNic {
  readonly name: string;
  readonly index: number;
}

export class IngressGuard {
  readonly #table = new NftTable('netdev');

  /** Takes all interfaces to guard; writes nothing if they are guarded already. @throws ProgramError */
  async set(nics: readonly GuardedNic[]): Promise<void> {
    if (nics.length === 0) return this.#table.remove();
    const chains = nics.map(
      ({ name, index }) =>
        `chain nic${index} {\ntype filter hook ingress device ${JSON.stringify(name)} priority 0; policy drop;\n}\n`,
    );
    await this.#table.set(chains.join(''));
  }
}
