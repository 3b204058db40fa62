// Finds the neighbours on links that BgpPeers name. A neighbour that was found stays until another neighbour replaces it or the link is removed: a
// link without carrier has no neighbours, but its session may outlive that.
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import { splitLinkLocal } from '../../lib/bgp/neighbor.ts';
import type { BgpState, LinkNeighbor } from '../../lib/bgp/objects.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { SeenLink } from '../model/link.ts';

/** Link-local addresses of the two ends. */
interface Ends {
  readonly theirs: string | undefined;
  readonly own: string | undefined;
}

export class Neighbors {
  readonly #node: string;
  readonly #all = new Map<string, LinkNeighbor>();
  /** The last known ends, by link. */
  readonly #found = new Map<string, Ends>();
  #doubtful: readonly string[] = [];

  constructor(node: string) {
    this.#node = node;
  }

  /** Neighbours by link; always the same map. */
  get all(): ReadonlyMap<string, LinkNeighbor> {
    return this.#all;
  }

  /** Neighbours of links with several neighbours, each with its link: some may be gone without the kernel having noticed. */
  get doubtful(): readonly string[] {
    return this.#doubtful;
  }

  /** Restores the neighbours that an earlier process had found. */
  remember(status: BgpNodeStateStatus | undefined): void {
    for (const { address, localAddress } of status?.peers ?? []) {
      const local = splitLinkLocal(address);
      if (local) this.#found.set(local.device, { theirs: local.ip, own: localAddress });
    }
  }

  /** @param links present links by name */
  see(links: ReadonlyMap<string, SeenLink>): void {
    for (const map of [this.#all, this.#found]) for (const name of map.keys()) if (!links.has(name)) map.delete(name);
    for (const [name, link] of links) {
      const { theirs, own, problem } = judge(name, link, this.#found.get(name), this.#node);
      this.#found.set(name, { theirs, own });
      const isKnown = theirs !== undefined && own !== undefined;
      const [address, ownAddress] = isKnown ? [`${theirs}%${name}`, `${own}%${name}`] : [];
      this.#all.set(name, { address, ownAddress, problem });
    }
    this.#doubtful = [...links].flatMap(([name, { neighbors }]) =>
      this.#all.get(name)?.problem?.code === severalNeighbors
        ? neighbors.map(({ address }) => `${address}%${name}`)
        : [],
    );
  }
}

const severalNeighbors = 'SeveralNeighbors';

function judge(
  name: string,
  { isRunning, ownAddresses, neighbors }: SeenLink,
  found: Ends | undefined,
  node: string,
): Ends & Pick<LinkNeighbor, 'problem'> {
  const where = `${name} of node ${node}`;
  const own = ownAddresses.find((address) => address === found?.own) ?? ownAddresses[0] ?? found?.own;
  if (!isRunning) return { theirs: found?.theirs, own, problem: downProblem(where) };
  const { theirs, problem } = chosen(neighbors, found?.theirs, where);
  return { theirs, own, problem: ownAddresses.length === 0 ? speechlessProblem(where) : problem };
}

/** The neighbour on a running link. */
function chosen(
  neighbors: SeenLink['neighbors'],
  found: string | undefined,
  where: string,
): { readonly theirs: string | undefined; readonly problem: Problem | undefined } {
  const routers = neighbors.filter(({ isRouter }) => isRouter);
  const likely = (routers.length > 0 ? routers : neighbors).map(({ address }) => address);
  const [first] = likely;
  if (found !== undefined && neighbors.some(({ address }) => address === found)) {
    const all = [found, ...likely.filter((address) => address !== found)];
    return { theirs: found, problem: all.length === 1 ? undefined : severalProblem(where, all) };
  }
  if (first === undefined) return { theirs: found, problem: nobodyProblem(where) };
  return likely.length === 1
    ? { theirs: first, problem: undefined }
    : { theirs: undefined, problem: severalProblem(where, likely) };
}

function downProblem(where: string): Problem {
  return { code: 'InterfaceDown', message: `${where} is down or has no carrier; set it up, or check its cable` };
}

function speechlessProblem(where: string): Problem {
  return {
    code: 'NoLinkLocalAddress',
    message: `${where} has no link-local address that can be used; IPv6 must be enabled there (sysctl disable_ipv6), and no other host may have the address`,
  };
}

function nobodyProblem(where: string): Problem {
  return {
    code: 'NoNeighbor',
    message: `no neighbour is known on ${where}; check that the router runs and sends router advertisements, as FRR does on an interface that it has as a neighbour`,
  };
}

function severalProblem(where: string, addresses: readonly string[]): Problem {
  const named = addresses.toSorted().slice(0, 4).join(', ');
  return {
    code: severalNeighbors,
    message: `${addresses.length} neighbours are on ${where} (${named}), and spec.interface is for a link with one router; give the router's own address in spec.address, or remove the others from the link`,
  };
}

/** Links that a BgpPeer names. */
export function namedLinks({ peers }: Pick<BgpState, 'peers'>): ReadonlySet<string> {
  const links = [...peers.values()].flatMap(({ spec }) => ('value' in spec ? (spec.value.interface ?? []) : []));
  return new Set(links);
}
