import type { Change } from '../../model/change.ts';
import type { BgpNodeState, RemoteCluster } from '../../model/objects.ts';
import type { LearnedRoute } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { subnetFingerprint, text } from '../fingerprint.ts';
import { healthText } from '../gateway/choice.ts';
import { nodesInLan } from '../node/network-owner.ts';
import { chooseLearned, rivalsOf } from './learned-route.ts';

export interface LearnedRoutesOptions {
  readonly view: View;
  readonly onChange: (prefix: string) => void;
}

/** The route of each learned prefix. It is settled before any plan, because it depends on all nodes that learned the prefix. */
export class LearnedRoutes {
  readonly routes = new Map<string, LearnedRoute>();
  readonly #options: LearnedRoutesOptions;
  readonly #due = new Set<string>();
  #isAllDue = false;

  constructor(options: LearnedRoutesOptions) {
    this.#options = options;
  }

  /** Takes in whatever changed under a choice. */
  changed(change: Change): void {
    const { kind, name } = change;
    if (kind === 'bgpNodeStates') this.#stateChanged(change.before, change.after);
    else if (kind === 'nodes' && text(change.before?.addresses) !== text(change.after?.addresses)) this.markAll();
    else if (kind === 'nodes' && healthText(change.before) !== healthText(change.after)) this.#markNode(name);
    else if (kind === 'ports' && name.startsWith('node/')) this.#markNode(name.slice('node/'.length));
    else if (kind === 'verdicts' || kind === 'vpcs' || kind === 'transitSwitches') this.markAll();
    else if (kind === 'subnets' && subnetFingerprint(change.before) !== subnetFingerprint(change.after)) this.markAll();
    else if (kind === 'remoteClusters' && clusterText(change.before) !== clusterText(change.after)) this.markAll();
    else if (kind === 'serviceCidrs') this.markAll();
    else if (kind === 'usage' && nodesInLan(this.#options.view, name).length > 0) this.markAll();
  }

  markAll(): void {
    this.#isAllDue = true;
  }

  settle(): void {
    const { view } = this.#options;
    if (this.#isAllDue) {
      for (const prefix of this.routes.keys()) this.#due.add(prefix);
      for (const { learned } of view.bgpNodeStates.values()) for (const prefix of learned.keys()) this.#due.add(prefix);
    }
    this.#isAllDue = false;
    if (this.#due.size === 0) return;
    const rivals = rivalsOf(view);
    for (const prefix of this.#due) this.#become(prefix, chooseLearned(view, prefix, rivals));
    this.#due.clear();
  }

  #stateChanged(before: BgpNodeState | undefined, after: BgpNodeState | undefined): void {
    const [was, is] = [before?.learned ?? new Map<string, number>(), after?.learned ?? new Map<string, number>()];
    for (const prefix of was.keys()) if (was.get(prefix) !== is.get(prefix)) this.#due.add(prefix);
    for (const prefix of is.keys()) if (!was.has(prefix)) this.#due.add(prefix);
  }

  #markNode(node: string): void {
    for (const prefix of this.#options.view.bgpNodeStates.get(node)?.learned.keys() ?? []) this.#due.add(prefix);
  }

  #become(prefix: string, route: LearnedRoute | undefined): void {
    if (text(this.routes.get(prefix)) === text(route)) return;
    if (route === undefined) this.routes.delete(prefix);
    else this.routes.set(prefix, route);
    this.#options.onChange(prefix);
  }
}

function clusterText(cluster: RemoteCluster | undefined): string {
  return text([cluster?.routes, cluster?.unlisted, cluster?.gateways]);
}
