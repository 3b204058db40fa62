/**
 * Keeps the kernel from answering on interfaces whose packets a userspace Open vSwitch reads: it gets copies of them, and
 * would take each packet to the node twice. One nftables table, replaced as a whole.
 */
import { run } from './program.ts';

const table = 'netdev isthmus';

export interface GuardedNic {
  readonly name: string;
  readonly index: number;
}

/** @throws ProgramError. The hook of an interface goes with it: one that comes again has another index. */
export async function setIngressGuard(nics: readonly GuardedNic[]): Promise<void> {
  const chains = nics.map(
    ({ name, index }) =>
      `chain nic${index} {\ntype filter hook ingress device ${JSON.stringify(name)} priority 0; policy drop;\n}\n`,
  );
  const body = nics.length === 0 ? '' : `table ${table} {\n${chains.join('')}}\n`;
  await run('nft', ['-f', '-'], `table ${table}\ndelete table ${table}\n${body}`);
}
