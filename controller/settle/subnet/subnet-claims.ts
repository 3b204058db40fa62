/**
 * The networks and OVN names that each Subnet has or wants. In: the claims of one Subnet at a time. Out: the Subnets that claim
 * anything of the same, on which alone its verdict depends.
 */
import { defaultVpc, routerSwitchPort, switchRouterPort } from '../../../lib/api/names.ts';
import { addTo, allOf, removeFrom } from '../../../lib/desired/few.ts';
import type { Few } from '../../../lib/desired/few.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { PrefixIndex } from '../../../lib/net/prefix-index.ts';
import { hasRouterPort, routingInForce } from '../../model/net-in-force.ts';
import type { NetInForce } from '../../model/net-in-force.ts';
import { partsOf } from '../../model/net-parts.ts';
import { portGroupPart } from '../../model/ovn-names.ts';

/** Both ends of the patch between a subnet and its VPC. In northd, ports of switches and routers share one namespace. */
export function patchOf(subnet: string, vpc: string): readonly string[] {
  return [routerSwitchPort(vpc, subnet), switchRouterPort(subnet, vpc)];
}

/** The scopes in which a network must not overlap others: its VPC if the VPC routes it, the default VPC if nodes do, and its VLAN. */
export function scopesOf(vpc: string, net: NetInForce): readonly string[] {
  const { underlay } = net;
  return [
    ...(hasRouterPort(net) ? [vpc] : []),
    ...(routingInForce(net) === 'nodes' ? [defaultVpc] : []),
    // No VPC can have such a name.
    ...(underlay === undefined ? [] : [`${underlay.provider}/${underlay.vlan}`]),
  ];
}

interface Claim {
  readonly owner: string;
  readonly scope: string;
  readonly cidr: Cidr;
}

interface Claims {
  readonly networks: readonly Claim[];
  readonly names: readonly string[];
}

const none: Claims = { networks: [], names: [] };

function claimsOf(owner: string, vpc: string, nets: readonly NetInForce[]): Claims {
  return {
    networks: nets.flatMap((net) =>
      scopesOf(vpc, net).flatMap((scope) => partsOf(net).map(({ cidr }) => ({ owner, scope, cidr }))),
    ),
    // A port group is never mistaken for a port: the slash is in no name.
    names: [`group/${portGroupPart(owner)}`, ...patchOf(owner, vpc)],
  };
}

export class SubnetClaims {
  readonly #claims = new Map<string, Claims>();
  readonly #networks = new Map<string, PrefixIndex<Claim>>();
  readonly #names = new Map<string, Few>();

  /** Sets the networks that a Subnet has and wants; without any it claims nothing. */
  set(subnet: string, vpc: string, nets: readonly NetInForce[]): void {
    const [before, after] = [this.#of(subnet), nets.length === 0 ? none : claimsOf(subnet, vpc, nets)];
    for (const claim of before.networks) this.#remove(claim);
    for (const claim of after.networks) this.#add(claim);
    for (const name of before.names) removeFrom(this.#names, name, subnet);
    for (const name of after.names) addTo(this.#names, name, subnet);
    if (after === none) this.#claims.delete(subnet);
    else this.#claims.set(subnet, after);
  }

  /** These Subnets, those that claim the same name or an overlapping network as one of them, and those that do as one of these. */
  connectedTo(subnets: Iterable<string>): ReadonlySet<string> {
    const found = new Set(subnets);
    const seen = new Set<string>();
    // The iteration visits what is added meanwhile.
    for (const subnet of found) for (const rival of this.#rivalsOf(subnet, seen)) found.add(rival);
    return found;
  }

  /** Passes over claims that others had as well: many Subnets may claim one network. */
  *#rivalsOf(subnet: string, seen: Set<string>): Generator<string> {
    const { networks, names } = this.#of(subnet);
    for (const { scope, cidr } of networks) {
      const key = `${scope} ${formatCidr(cidr)}`;
      if (seen.has(key)) continue;
      seen.add(key);
      for (const { owner } of this.#networks.get(scope)?.allOverlapping(cidr) ?? []) yield owner;
    }
    for (const name of names) {
      if (seen.has(name)) continue;
      seen.add(name);
      yield* allOf(this.#names.get(name));
    }
  }

  #of(subnet: string): Claims {
    return this.#claims.get(subnet) ?? none;
  }

  #add(claim: Claim): void {
    const index = this.#networks.get(claim.scope) ?? new PrefixIndex<Claim>();
    index.add(claim);
    this.#networks.set(claim.scope, index);
  }

  #remove(claim: Claim): void {
    const index = this.#networks.get(claim.scope);
    index?.remove(claim);
    if (index?.isEmpty === true) this.#networks.delete(claim.scope);
  }
}
