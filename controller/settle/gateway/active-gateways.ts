import type { GatewayChoice } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { chooseGateways } from './choice.ts';
import { partsOf } from './scope.ts';

export interface ActiveGatewaysOptions {
  readonly view: View;
  readonly onChange: (subnet: string) => void;
}

/**
 * The nodes that centralized gateways use. Each choice depends on the previous one, which is kept here, and at a start
 * read from the Subnet's status, where it stands by then.
 */
export class ActiveGateways {
  readonly choices = new Map<string, GatewayChoice>();
  readonly #options: ActiveGatewaysOptions;
  readonly #last = new Map<string, readonly string[]>();
  readonly #due = new Set<string>();

  constructor(options: ActiveGatewaysOptions) {
    this.#options = options;
  }

  mark(subnet: string): void {
    this.#due.add(subnet);
  }

  markAll(): void {
    for (const subnet of this.#options.view.subnets.keys()) this.#due.add(subnet);
  }

  settle(): void {
    for (const subnet of this.#due) this.#choose(subnet);
    this.#due.clear();
  }

  #choose(subnet: string): void {
    const { view, onChange } = this.#options;
    const noted = view.subnets.get(subnet)?.status['activateGateway'];
    const last = this.#last.get(subnet) ?? (typeof noted === 'string' ? partsOf(noted) : []);
    const before = this.choices.get(subnet);
    const after = chooseGateways(view, subnet, last);
    if (after === undefined) {
      this.#last.delete(subnet);
      if (this.choices.delete(subnet)) onChange(subnet);
      return;
    }
    if (after.hops.length > 0)
      this.#last.set(
        subnet,
        after.hops.map(({ node }) => node),
      );
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    this.choices.set(subnet, after);
    onChange(subnet);
  }
}
