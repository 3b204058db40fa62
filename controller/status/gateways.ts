/** Events about centralized gateways that moved, and about ports groups that two gateways want. */
import type { EventSubject } from '../../lib/kube/events.ts';
import { apiVersionOf, subnets } from '../../lib/kube/resources.ts';
import type { Desk } from './desk.ts';

export class Gateways {
  readonly #desk: Desk;
  /** Nodes told last, by Subnet. */
  readonly #nodes = new Map<string, string>();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** A centralized gateway, by its Subnet; the first look after a start tells nothing. */
  publishCentral(name: string): void {
    const { view, events } = this.#desk;
    const subject = this.#subject(name);
    const choice = view.gateways.get(name);
    const nodes = choice?.hops.map(({ node }) => node).join(', ');
    const before = this.#nodes.get(name);
    if (subject === undefined || nodes === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, nodes);
    if (subject === undefined || before === undefined || nodes === undefined || before === nodes) return;
    const message =
      nodes === ''
        ? `no node is left: the last one was ${before}`
        : `traffic leaves through ${nodes}, no longer ${before || 'nowhere'}`;
    events.record(subject, 'Normal', 'GatewayChanged', message);
  }

  #subject(name: string): EventSubject | undefined {
    const uid = this.#desk.view.subnets.get(name)?.uid;
    return uid === undefined ? undefined : { apiVersion: apiVersionOf(subnets), kind: subnets.kind, name, uid };
  }
}
