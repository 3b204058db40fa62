/**
 * The objects of one cluster, by kind and name. In: changed objects from `watch/`. Out: maps and indexes that `settle/` and
 * `plan/` read. Nothing is decided here.
 */
import type { ObjectChange } from '../model/change.ts';
import type { Kinds } from '../model/objects.ts';
import type { Stores } from '../model/view.ts';
import { PodsOnNodes } from './pods-on-nodes.ts';

export class ObjectStores implements Stores {
  readonly vpcs = new Map<string, Kinds['vpcs']>();
  readonly subnets = new Map<string, Kinds['subnets']>();
  readonly vlans = new Map<string, Kinds['vlans']>();
  readonly providerNetworks = new Map<string, Kinds['providerNetworks']>();
  readonly nodes = new Map<string, Kinds['nodes']>();
  readonly namespaces = new Map<string, Kinds['namespaces']>();
  readonly pods = new Map<string, Kinds['pods']>();
  readonly ips = new Map<string, Kinds['ips']>();
  readonly ipPools = new Map<string, Kinds['ipPools']>();
  readonly vips = new Map<string, Kinds['vips']>();
  readonly securityGroups = new Map<string, Kinds['securityGroups']>();
  readonly statefulSets = new Map<string, Kinds['statefulSets']>();
  readonly virtualMachines = new Map<string, Kinds['virtualMachines']>();
  readonly virtualMachineInstances = new Map<string, Kinds['virtualMachineInstances']>();
  readonly attachments = new Map<string, Kinds['attachments']>();
  readonly transitSwitches = new Map<string, Kinds['transitSwitches']>();
  readonly remoteClusters = new Map<string, Kinds['remoteClusters']>();
  readonly serviceCidrs = new Map<string, Kinds['serviceCidrs']>();
  readonly bgpNodeStates = new Map<string, Kinds['bgpNodeStates']>();
  readonly #podsOn = new PodsOnNodes();

  podsOn(node: string): Iterable<string> {
    return this.#podsOn.on(node);
  }

  /** Stores an object's new value, undefined for one that is gone; the change, where there is one. */
  protected store<K extends keyof Kinds>(kind: K, name: string, after: Kinds[K] | undefined): ObjectChange | undefined {
    const store = this[kind] as Map<string, Kinds[K]>;
    const before = store.get(name);
    if (before === undefined && after === undefined) return undefined;
    if (after === undefined) store.delete(name);
    else store.set(name, after);
    const change = { kind, name, before, after } as unknown as ObjectChange;
    if (change.kind === 'pods') this.#podsOn.change(change.name, change.before, change.after);
    return change;
  }
}
