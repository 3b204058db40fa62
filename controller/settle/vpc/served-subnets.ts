/**
 * The Subnets of each VPC that have rows, in the order of their names. In: changes of verdicts, Subnets and their use. Out: lists, which
 * plans and judges of a VPC read for each of its changes. Rule: a change costs what it touches.
 */
import type { Change } from '../../model/change.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';

const none: readonly string[] = [];

export class ServedSubnets {
  readonly #view: View;
  readonly #byVpc = new Map<string, readonly string[]>();
  /** The VPC in whose list a Subnet is. */
  readonly #vpcOf = new Map<string, string>();

  constructor(view: View) {
    this.#view = view;
  }

  /** By name. A list is never changed, but replaced. */
  of(vpc: string): readonly string[] {
    return this.#byVpc.get(vpc) ?? none;
  }

  changed({ kind, name }: Change): void {
    if (kind === 'verdicts' || kind === 'subnets' || kind === 'usage') this.look(name);
  }

  /** Looks again whether a Subnet has rows, and in which VPC. */
  look(subnet: string): void {
    const before = this.#vpcOf.get(subnet);
    const after = servedNet(this.#view, subnet) && this.#view.verdicts.get(subnet)?.vpc;
    if (before === after) return;
    if (before !== undefined) this.#replace(before, subnet, []);
    if (after !== undefined) this.#replace(after, subnet, [subnet]);
    if (after === undefined) this.#vpcOf.delete(subnet);
    else this.#vpcOf.set(subnet, after);
  }

  #replace(vpc: string, subnet: string, by: readonly string[]): void {
    const names = this.of(vpc);
    let [low, high] = [0, names.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((names[middle] ?? '') < subnet) low = middle + 1;
      else high = middle;
    }
    const replaced = names.toSpliced(low, names[low] === subnet ? 1 : 0, ...by);
    if (replaced.length === 0) this.#byVpc.delete(vpc);
    else this.#byVpc.set(vpc, replaced);
  }
}
