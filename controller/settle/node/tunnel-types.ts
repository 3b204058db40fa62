/** Nodes that offer no type of tunnel in common, which is a mistake in `ovn-encap-type` of a node. Read by the report of a Node. */
import type { Problem } from '../../../lib/desired/problem.ts';

/** A message names at most this many nodes, and not how many more: each node that changes would be an event of every other one. */
const namedNodes = 5;

export class TunnelTypes {
  readonly #onChange: (node: string) => void;
  #problems: ReadonlyMap<string, Problem> = new Map();

  /** `onChange`: the problem of a node changed. */
  constructor(onChange: (node: string) => void) {
    this.#onChange = onChange;
  }

  problem(node: string): Problem | undefined {
    return this.#problems.get(node);
  }

  /** Sets the types that nodes offer, all of them, sorted and joined by commas. */
  set(types: ReadonlyMap<string, string>): void {
    const before = this.#problems;
    this.#problems = problemsOf(types);
    for (const node of new Set([...before.keys(), ...this.#problems.keys()]))
      if (before.get(node)?.message !== this.#problems.get(node)?.message) this.#onChange(node);
  }
}

function problemsOf(types: ReadonlyMap<string, string>): ReadonlyMap<string, Problem> {
  const problems = new Map<string, Problem>();
  const groups = Map.groupBy(types.keys(), (node) => types.get(node) ?? '');
  if (groups.size < 2) return problems;
  for (const [own, nodes] of groups) {
    const others = [...groups]
      .filter(([other]) => !hasCommon(own, other))
      .map(([other, names]) => textOf(other, names));
    if (others.length === 0) continue;
    for (const node of nodes) {
      const message = `node ${node} offers tunnels of type ${own} and has none to ${others.sort().join(' and ')}: set networking.encapType to geneve,vxlan until all nodes have it`;
      problems.set(node, { code: 'NoCommonTunnelType', message });
    }
  }
  return problems;
}

function hasCommon(one: string, other: string): boolean {
  const types = other.split(',');
  return one.split(',').some((type) => types.includes(type));
}

function textOf(types: string, nodes: readonly string[]): string {
  const names = nodes.toSorted();
  const rest = names.length > namedNodes ? ' and others' : '';
  return `${names.slice(0, namedNodes).join(', ')}${rest} (${types})`;
}
