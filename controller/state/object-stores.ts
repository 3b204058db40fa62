/**
 * The objects of one cluster, by kind and name. In: changed objects from `watch/`. Out: maps and indexes that `settle/` and
 * `plan/` read. Nothing is decided here.
 */
import { Store } from '../../lib/store/store.ts';
import type { ObjectChange } from '../model/change.ts';
import type { Kinds } from '../model/objects.ts';
import type { Indexes, Stores } from '../model/view.ts';
import { indexesOf } from './indexes.ts';

export class ObjectStores implements Stores {
  readonly vpcs = new Store<Kinds['vpcs']>();
  readonly subnets = new Store<Kinds['subnets']>();
  readonly vlans = new Store<Kinds['vlans']>();
  readonly providerNetworks = new Store<Kinds['providerNetworks']>();
  readonly nodes = new Store<Kinds['nodes']>();
  readonly namespaces = new Store<Kinds['namespaces']>();
  readonly pods = new Store<Kinds['pods']>();
  readonly ips = new Store<Kinds['ips']>();
  readonly ipPools = new Store<Kinds['ipPools']>();
  readonly vips = new Store<Kinds['vips']>();
  readonly securityGroups = new Store<Kinds['securityGroups']>();
  readonly statefulSets = new Store<Kinds['statefulSets']>();
  readonly virtualMachines = new Store<Kinds['virtualMachines']>();
  readonly virtualMachineInstances = new Store<Kinds['virtualMachineInstances']>();
  readonly attachments = new Store<Kinds['attachments']>();
  readonly transitSwitches = new Store<Kinds['transitSwitches']>();
  readonly keySlices = new Store<Kinds['keySlices']>();
  readonly remoteClusters = new Store<Kinds['remoteClusters']>();
  readonly remotePods = new Store<Kinds['remotePods']>();
  readonly serviceCidrs = new Store<Kinds['serviceCidrs']>();
  readonly services = new Store<Kinds['services']>();
  readonly endpointSlices = new Store<Kinds['endpointSlices']>();
  readonly loadBalancerPools = new Store<Kinds['loadBalancerPools']>();
  readonly askedDomains = new Store<Kinds['askedDomains']>();
  readonly sharedAddresses = new Store<Kinds['sharedAddresses']>();
  readonly switchLbRules = new Store<Kinds['switchLbRules']>();
  readonly routerLbRules = new Store<Kinds['routerLbRules']>();
  readonly vpcDnses = new Store<Kinds['vpcDnses']>();
  readonly externalConfigs = new Store<Kinds['externalConfigs']>();
  readonly ovnEips = new Store<Kinds['ovnEips']>();
  readonly ovnFips = new Store<Kinds['ovnFips']>();
  readonly ovnSnatRules = new Store<Kinds['ovnSnatRules']>();
  readonly ovnDnatRules = new Store<Kinds['ovnDnatRules']>();
  readonly vpcNatGateways = new Store<Kinds['vpcNatGateways']>();
  readonly iptablesEips = new Store<Kinds['iptablesEips']>();
  readonly iptablesFips = new Store<Kinds['iptablesFips']>();
  readonly iptablesSnats = new Store<Kinds['iptablesSnats']>();
  readonly iptablesDnats = new Store<Kinds['iptablesDnats']>();
  readonly qosPolicies = new Store<Kinds['qosPolicies']>();
  readonly vpcEgressGateways = new Store<Kinds['vpcEgressGateways']>();
  readonly bgpNodeStates = new Store<Kinds['bgpNodeStates']>();
  readonly networkPolicies = new Store<Kinds['networkPolicies']>();
  readonly clusterNetworkPolicies = new Store<Kinds['clusterNetworkPolicies']>();
  readonly adminNetworkPolicies = new Store<Kinds['adminNetworkPolicies']>();
  readonly baselineAdminNetworkPolicies = new Store<Kinds['baselineAdminNetworkPolicies']>();
  readonly indexes: Indexes = indexesOf(this);

  /** Stores an object's new value, undefined for one that is gone; the change, where there is one. */
  protected store<K extends keyof Kinds>(kind: K, name: string, after: Kinds[K] | undefined): ObjectChange | undefined {
    const store = this[kind] as unknown as Store<Kinds[K]>;
    const before = store.get(name);
    if (before === undefined && after === undefined) return undefined;
    if (after === undefined) store.delete(name);
    else store.set(name, after);
    return { kind, name, before, after } as unknown as ObjectChange;
  }
}
