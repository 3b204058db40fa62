import { defaultVpc } from '../../../lib/api/names.ts';
import { type Cidr, parseCidr } from '../../../lib/net/cidr.ts';
import { PrefixIndex } from '../../../lib/net/prefix-index.ts';
import type { Change } from '../../model/change.ts';
import type { BgpNodeState, RemoteCluster } from '../../model/objects.ts';
import type { LearnedRoute } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { partsOf } from '../../model/net-parts.ts';
import { subnetFingerprint, text, verdictFingerprint } from '../fingerprint.ts';
import { healthText } from '../gateway/choice.ts';
import { nodesInLan } from '../node/network-owner.ts';
import { servedNet } from '../subnet/served-net.ts';
import { isReachable } from '../vpc/next-hops.ts';
import { routeTableOf } from '../vpc/routers.ts';
import { readStaticRoutes } from '../vpc/static-routes.ts';
import { chooseLearned, rivalsOf } from './learned-route.ts';

export interface LearnedRoutesOptions {
  readonly view: View;
  readonly onChange: (prefix: string) => void;
}

/** What routes depend on of a Subnet in the default VPC. */
interface Network {
  readonly cidrs: readonly Cidr[];
  readonly table: string;
  readonly fingerprint: string;
}

const noNetwork: Network = { cidrs: [], table: '', fingerprint: '' };

function networkOf(view: View, subnet: string): Network {
  const verdict = view.verdicts.get(subnet);
  if (verdict?.net === undefined || verdict.vpc !== defaultVpc) return noNetwork;
  const table = routeTableOf(view, subnet);
  const isServed = servedNet(view, subnet) !== undefined;
  const cidrs = partsOf(verdict.net).map(({ cidr }) => cidr);
  return { cidrs, table, fingerprint: text([verdictFingerprint(verdict), table, isServed]) };
}

/** The route of each learned prefix. It is settled before any plan, because it depends on all nodes that learned the prefix. */
export class LearnedRoutes {
  readonly routes = new Map<string, LearnedRoute>();
  readonly #options: LearnedRoutesOptions;
  readonly #due = new Set<string>();
  /** Prefixes that have an entry in `routes`. */
  readonly #index = new PrefixIndex<{ readonly cidr: Cidr; readonly prefix: string }>();
  readonly #indexed = new Map<string, { readonly cidr: Cidr; readonly prefix: string }>();
  readonly #dueSubnets = new Set<string>();
  /** Networks of Subnets by which the routes were chosen. */
  readonly #networks = new Map<string, Network>();
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
    else if (kind === 'vpcs' || kind === 'transitSwitches') this.markAll();
    else if (kind === 'verdicts') this.#dueSubnets.add(name);
    else if (kind === 'subnets' && subnetFingerprint(change.before) !== subnetFingerprint(change.after))
      this.#dueSubnets.add(name);
    else if (kind === 'remoteClusters' && clusterText(change.before) !== clusterText(change.after)) this.markAll();
    else if (kind === 'serviceCidrs') this.markAll();
    else if (kind === 'usage' && nodesInLan(this.#options.view, name).length > 0) this.markAll();
  }

  markAll(): void {
    this.#isAllDue = true;
  }

  settle(): void {
    const { view } = this.#options;
    for (const name of this.#dueSubnets) this.#markNetwork(name);
    this.#dueSubnets.clear();
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

  /** Marks the prefixes that share addresses with the network of a Subnet. Peerings, next hops and tables may concern all prefixes. */
  #markNetwork(subnet: string): void {
    const { view } = this.#options;
    const [before, after] = [this.#networks.get(subnet) ?? noNetwork, networkOf(view, subnet)];
    if (after === noNetwork) this.#networks.delete(subnet);
    else this.#networks.set(subnet, after);
    const spec = view.vpcs.get(defaultVpc)?.spec;
    if ((spec?.vpcPeerings.length ?? 0) > 0) this.markAll();
    if (before.fingerprint === after.fingerprint) return;
    const cidrs = [...before.cidrs, ...after.cidrs];
    const leadsThere = readStaticRoutes(spec).routes.some(({ nextHop }) => isReachable(cidrs, nextHop));
    if (leadsThere || before.table !== '' || after.table !== '') this.markAll();
    for (const cidr of cidrs) for (const { prefix } of this.#index.allOverlapping(cidr)) this.#due.add(prefix);
  }

  #markNode(node: string): void {
    for (const prefix of this.#options.view.bgpNodeStates.get(node)?.learned.keys() ?? []) this.#due.add(prefix);
  }

  #become(prefix: string, route: LearnedRoute | undefined): void {
    if (text(this.routes.get(prefix)) === text(route)) return;
    if (route === undefined) this.#forget(prefix);
    else this.#keep(prefix, route);
    this.#options.onChange(prefix);
  }

  #keep(prefix: string, route: LearnedRoute): void {
    const cidr = parseCidr(prefix);
    if (cidr !== undefined && !this.#indexed.has(prefix)) {
      const entry = { cidr, prefix };
      this.#indexed.set(prefix, entry);
      this.#index.add(entry);
    }
    this.routes.set(prefix, route);
  }

  #forget(prefix: string): void {
    const entry = this.#indexed.get(prefix);
    if (entry !== undefined) this.#index.remove(entry);
    this.#indexed.delete(prefix);
    this.routes.delete(prefix);
  }
}

function clusterText(cluster: RemoteCluster | undefined): string {
  return text([cluster?.routes, cluster?.unlisted, cluster?.gateways]);
}
