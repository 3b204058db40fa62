/**
 * Whether the switch of this node runs. In: the kernel's list of unix sockets. Out: `isDown`, and a call after each change. Where ovs-vswitchd ends, the
 * kernel closes its sockets at once; the nodes around need a few BFD intervals to notice. The list is readable without privileges, but reports no
 * changes, so it is polled, and only while this node may have the port of a router.
 */
import { readFileSync } from 'node:fs';
import { integrationBridge } from '../../lib/api/names.ts';

const lookMs = 100;
/** A socket that accepts connections (flag 0x10000) at the path of the integration bridge. */
const listening = new RegExp(` 00010000 0001 01 +\\d+ \\S*/${integrationBridge}\\.mgmt$`, 'm');

export interface SwitchOptions {
  /** `/proc/net/unix` of the network namespace of the switch. */
  readonly file: string;
  /** Whether it matters now. */
  readonly isNeeded: () => boolean;
  readonly onChange: () => void;
}

export class SwitchWatch {
  readonly #options: SwitchOptions;
  readonly #timer: NodeJS.Timeout;
  /** A switch that was never seen may be in another namespace, and tells nothing. */
  #wasSeen = false;
  #isDown = false;

  constructor(options: SwitchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** @throws the errors of readFileSync */
  #look(): void {
    const { file, isNeeded, onChange } = this.#options;
    // One that is down is watched until it is back, also where the node lost the port meanwhile.
    if (!isNeeded() && !this.#isDown) return;
    const isThere = listening.test(readFileSync(file, 'latin1'));
    this.#wasSeen ||= isThere;
    const isDown = this.#wasSeen && !isThere;
    if (isDown === this.#isDown) return;
    this.#isDown = isDown;
    onChange();
  }
}
