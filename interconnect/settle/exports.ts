/** Decides which prefixes are offered to other clusters, again only when one of the inputs changes (`policy/export.ts`). */
import { formatCidr, type Cidr } from '../../lib/net/cidr.ts';
import type { PolicySet } from '../../lib/route-policy/compile.ts';
import type { Decision } from '../../lib/route-policy/policy.ts';
import type { Prefix } from '../model/messages.ts';
import { candidatesOf, type CoverOf } from './candidates.ts';
import { exportPrefixes } from './policy/export.ts';
import type { Edges } from '../model/edges.ts';
import type { LocalView, TransitRequest } from '../model/local.ts';
import type { NativePrefixes } from '../state/native-prefixes.ts';

export interface ExportFacts {
  readonly local: LocalView;
  readonly policies: PolicySet;
  readonly edges: Edges;
  /** Of the other clusters. */
  readonly natives: Pick<NativePrefixes, 'revision' | 'cover'>;
}

export class Exports {
  #basis: readonly unknown[] = [];
  #offered: ReadonlyMap<string, readonly Prefix[]> = new Map();
  decisions: readonly Decision[] = [];
  /** Aggregates that are not routes of this cluster themselves, by router. */
  aggregates: ReadonlyMap<string, readonly Cidr[]> = new Map();

  get count(): number {
    return this.#offered.values().reduce((sum, prefixes) => sum + prefixes.length, 0);
  }

  on(network: string): readonly Prefix[] {
    return this.#offered.get(network) ?? [];
  }

  update({ local, policies, edges, natives }: ExportFacts): void {
    // Only prefixes of routers depend on the addresses of other clusters.
    const basis = [local, policies, edges, edges.size === 0 ? 0 : natives.revision];
    if (basis.every((part, index) => part === this.#basis[index])) return;
    this.#basis = basis;
    const decisions: Decision[] = [];
    const offered = new Map<string, readonly Prefix[]>();
    const aggregates = new Map<string, Map<string, Cidr>>();
    for (const { name, vpc: router } of local.transitRequests) {
      const vpc = local.vpcs.get(router);
      if (vpc === undefined) continue;
      const { prefixes } = candidatesOf(
        vpc,
        edges.get(router) ?? new Map(),
        coverOn(networksOf(local, router), natives),
      );
      const result = exportPrefixes(policies, { vpc: router, transitSwitch: name, prefixes });
      decisions.push(...result.decisions);
      offered.set(name, result.prefixes);
      const held = aggregates.get(router) ?? new Map<string, Cidr>();
      aggregates.set(router, held);
      for (const cidr of result.aggregates) held.set(formatCidr(cidr), cidr);
    }
    this.#offered = offered;
    this.decisions = decisions;
    this.aggregates = new Map([...aggregates].map(([router, held]) => [router, [...held.values()]]));
  }

  clear(): void {
    this.#basis = [];
    this.#offered = new Map();
    this.aggregates = new Map();
  }
}

/** The networks that a VPC is joined to; each connects other clusters. */
function networksOf({ transitRequests }: LocalView, router: string): readonly string[] {
  return transitRequests.flatMap(({ name, vpc }: TransitRequest) => (vpc === router ? [name] : []));
}

function coverOn(networks: readonly string[], natives: ExportFacts['natives']): CoverOf {
  return (cidr) => networks.map((network) => natives.cover(network, cidr)).find((cover) => cover !== undefined);
}
