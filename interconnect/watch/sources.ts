/** Everything the agent watches, and which database changes can matter to it. */
import type { Change } from 'ovsdb-client';
import { reflect } from '../../lib/kube/reflector.ts';
import { interconnects, nodes, remoteClusters, subnets, transitSwitches } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import {
  parseInterconnect,
  parseNode,
  parseReport,
  parseSubnet,
  type Interconnect,
  type Node,
  type Report,
  type Subnet,
} from './objects.ts';

export interface Sources {
  readonly interconnects: Reflector<Interconnect>;
  readonly subnets: Reflector<Subnet>;
  readonly nodes: Reflector<Node>;
  readonly remoteClusters: Reflector<Report>;
  readonly transitSwitches: Reflector<Report>;
}

export function watchSources(client: KubeClient, signal: AbortSignal): Sources {
  const watch = <T>(resource: Resource, parse: (raw: RawObject) => T): Reflector<T> =>
    reflect({ client, resource, parse, signal });
  return {
    interconnects: watch(interconnects, parseInterconnect),
    subnets: watch(subnets, parseSubnet),
    nodes: watch(nodes, parseNode),
    remoteClusters: watch(remoteClusters, parseReport),
    transitSwitches: watch(transitSwitches, parseReport),
  };
}

const relevantTables = new Set(['Chassis', 'Encap', 'Gateway_Chassis', 'Logical_Router', 'Logical_Router_Port']);

/** Most changes are pods coming and going. */
export function matters({ table, before, after }: Change): boolean {
  if (table === 'Port_Binding') return (after ?? before)?.['type'] === 'chassisredirect';
  return relevantTables.has(table);
}
