/**
 * VpcEgressGateways. In: changes of the gateways and of what they name. Out: a verdict on each, from which `plan/egress-gateway/egress-gateway.ts`
 * makes rows. The addresses of its ports are requested by `settle/address/holders/egress-gateway.ts`. Rules: of
 * two gateways of a VPC with overlapping networks the one in force stays, of new ones the older is first; a gateway keeps its link; a change costs the
 * gateways of the VPCs that it concerns.
 */
import { byRight, unlessRefused } from '../../../lib/desired/rights.ts';
import { formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import type { Change } from '../../model/change.ts';
import { egressConflict, isLeading, vpcOfGateway } from '../../model/egress-gateway.ts';
import type { EgressGateway, EgressNetwork, VpcEgressGateway } from '../../model/egress-gateway.ts';
import { podKey } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { egressNodeText, judgeAlone } from './judge.ts';
import { chooseLinks } from './links.ts';
import { TakenNetworks } from './taken-networks.ts';

export interface EgressGatewaysOptions {
  readonly view: View;
  /** By `namespace/name`. */
  readonly onChange: (key: string, before: EgressGateway | undefined, after: EgressGateway | undefined) => void;
}

const inOrder = byRight<VpcEgressGateway>(unlessRefused(new Set([egressConflict])));

function specText(gateway: VpcEgressGateway | undefined): string {
  if (gateway === undefined) return '';
  const { uid, spec, isDeleting, needsPods, unsupported, conditions } = gateway;
  // The status says who was first.
  const validated = conditions.find(({ type }) => type === 'Validated')?.reason;
  return JSON.stringify([uid, spec, isDeleting, needsPods, unsupported, validated === egressConflict]);
}

function cidrsOf(networks: readonly EgressNetwork[]): readonly Cidr[] {
  return networks.flatMap(({ cidr }) => parseCidr(cidr) ?? []);
}

export class EgressGateways {
  readonly gateways = new Map<string, EgressGateway>();
  readonly #options: EgressGatewaysOptions;
  #due = new Set<string>();

  constructor(options: EgressGatewaysOptions) {
    this.#options = options;
  }

  changed(change: Change): void {
    for (const vpc of this.#concerned(change)) this.#due.add(vpc);
  }

  *#concerned(change: Change): Generator<string> {
    const { view } = this.#options;
    const { kind, name } = change;
    if (kind === 'vpcEgressGateways') {
      if (specText(change.before) === specText(change.after)) return;
      for (const gateway of [change.before, change.after]) if (gateway !== undefined) yield vpcOfGateway(gateway);
    } else if (view.vpcEgressGateways.size === 0) return;
    else if (kind === 'nodes') {
      if (egressNodeText(change.before) !== egressNodeText(change.after)) yield* this.#vpcs('');
    } else if (kind === 'subnets' || kind === 'usage') {
      if (kind === 'subnets' && change.before?.isDeleting === change.after?.isDeleting) return;
      if (kind === 'usage' && view.subnets.get(name)?.isDeleting !== true) return;
      yield* this.#vpcs(`subnet/${name}`);
      yield view.verdicts.get(name)?.vpc ?? '';
      // A network of a VPC may overlap one outside, or a link.
    } else if (kind === 'verdicts' || kind === 'vpcs' || kind === 'transitSwitches') yield* this.#vpcs('');
    else if (kind === 'ipPools') yield* this.#vpcs('');
  }

  /** VPCs of the gateways with a key in the index. */
  *#vpcs(key: string): Generator<string> {
    const { vpcEgressGateways, indexes } = this.#options.view;
    for (const name of indexes.egressGatewaysBy.of(key)) {
      const gateway = vpcEgressGateways.get(name);
      if (gateway !== undefined) yield vpcOfGateway(gateway);
    }
  }

  settle(): void {
    const due = this.#due;
    this.#due = new Set();
    for (const vpc of due) this.#judge(vpc);
  }

  #judge(vpc: string): void {
    const { view } = this.#options;
    const all = [...view.indexes.egressGatewaysBy.of(`vpc/${vpc}`)].flatMap(
      (key) => view.vpcEgressGateways.get(key) ?? [],
    );
    const gateways = all.filter(({ isDeleting }) => !isDeleting).sort(inOrder);
    const links = chooseLinks(view, vpc, gateways, (key) => this.gateways.get(key)?.link ?? []);
    const taken = new TakenNetworks();
    const after = new Map<string, EgressGateway>();
    for (const gateway of gateways) {
      const key = podKey(gateway);
      const judged = { ...judgeAlone(view, gateway), link: links.get(key) ?? [] };
      const own = cidrsOf(judged.networks);
      const network = own.find((cidr) => taken.holderOf(cidr) !== undefined);
      if (judged.refusal === undefined && network !== undefined) {
        const message = `spec.policies: ${formatCidr(network)} overlaps a network of VpcEgressGateway ${taken.holderOf(network)}, which had it before: use another network, or delete one of the two`;
        after.set(key, { ...judged, ports: [], refusal: { code: egressConflict, message } });
        continue;
      }
      if (judged.refusal === undefined) taken.add(key, own);
      const isStuck = isLeading(judged) && judged.link.length === 0;
      const message = `Vpc ${vpc} has no free network for the link to the gateway: delete other VpcEgressGateways`;
      after.set(key, isStuck ? { ...judged, obstacle: { code: 'NoLink', message } } : judged);
    }
    const known = [...this.gateways].filter(([, { vpc: of }]) => of === vpc).map(([key]) => key);
    // A gateway of this name may be in another VPC by now.
    const gone = known.filter((key) => !after.has(key));
    for (const key of gone) this.#set(key, undefined);
    for (const [key, verdict] of after) this.#set(key, verdict);
  }

  #set(key: string, after: EgressGateway | undefined): void {
    const before = this.gateways.get(key);
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    if (after === undefined) this.gateways.delete(key);
    else this.gateways.set(key, after);
    this.#options.onChange(key, before, after);
  }
}
