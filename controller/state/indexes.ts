/** The indexes of the objects that `settle/` and `plan/` look up by something else than their name. */
import { annotation, defaultVpc, externalSubnet, label } from '../../lib/api/names.ts';
import { isExternalLocal } from '../../lib/services/service.ts';
import { index } from '../../lib/store/index.ts';
import { selectorIndex } from '../../lib/store/selector-index.ts';
import type { Store } from '../../lib/store/store.ts';
import { nodeTraits } from '../model/node-traits.ts';
import { placesOfGateway } from '../model/egress-gateway.ts';
import { insidePorts } from '../model/external-objects.ts';
import type { OvnDnatRule, OvnFip, OvnSnatRule, RouterLbRule } from '../model/external-objects.ts';
import { outsideId, outsideText, podRuleStores } from '../model/external-rules.ts';
import { vpcNameOf } from '../model/objects.ts';
import type { Kinds, LbRule } from '../model/objects.ts';
import { securityPortGroup } from '../model/ovn-names.ts';
import { namedGroupsOf, passesOn, vipSelector } from '../model/selections.ts';
import { readRule, isProblem } from '../../lib/services/switch-lb-rule.ts';
import type { Indexes } from '../model/view.ts';

export type Stores = { readonly [K in keyof Kinds]: Store<Kinds[K]> };

/** An index of the rules of each kind that use addresses outside and are objects of their own. */
function rulesIndex(
  stores: Stores,
  keysOf: (rule: OvnFip | OvnSnatRule | OvnDnatRule | RouterLbRule) => readonly string[],
): Indexes['externalRulesByPort'] {
  return {
    ovnFips: index(stores.ovnFips, keysOf),
    ovnSnatRules: index(stores.ovnSnatRules, keysOf),
    ovnDnatRules: index(stores.ovnDnatRules, keysOf),
    routerLbRules: index(stores.routerLbRules, keysOf),
    iptablesFips: index(stores.iptablesFips, keysOf),
    iptablesSnats: index(stores.iptablesSnats, keysOf),
    iptablesDnats: index(stores.iptablesDnats, keysOf),
  };
}

function listed(key: string | undefined): readonly string[] {
  return key === undefined ? [] : [key];
}

/** An index of the rules of each kind that have a headless Service. */
function lbRulesIndex(stores: Stores, keysOf: (rule: LbRule) => readonly string[]): Indexes['rulesByNamespace'] {
  return {
    switchLbRules: index(stores.switchLbRules, keysOf),
    routerLbRules: index(stores.routerLbRules, keysOf),
  };
}

export function indexesOf(stores: Stores): Indexes {
  const { pods, nodes, subnets, vpcs, vips, ipPools, securityGroups, services, endpointSlices } = stores;
  const { vpcDnses, ovnFips, ovnSnatRules, vpcNatGateways, iptablesEips, vpcEgressGateways } = stores;
  return {
    podsByNode: index(pods, ({ node }) => (node === undefined ? [] : [node])),
    podsByPortGroup: index(pods, (pod) => namedGroupsOf(pod).map(securityPortGroup)),
    podsWithAttachments: index(pods, ({ annotations }) =>
      annotations[annotation.networks] === undefined && annotations[annotation.defaultNetwork] === undefined
        ? []
        : [''],
    ),
    nodesByTrait: index(nodes, nodeTraits),
    groupsByPortGroup: index(securityGroups, ({ name }) => [securityPortGroup(name)]),
    groupsByRemoteGroup: index(securityGroups, ({ spec }) =>
      [...spec.ingressRules, ...spec.egressRules].flatMap(({ remoteSecurityGroup: remote }) =>
        remote === '' ? [] : [securityPortGroup(remote)],
      ),
    ),
    passingGroups: index(securityGroups, (group) => (passesOn(group) ? [''] : [])),
    groupsOfTier1: index(securityGroups, ({ spec }) => (spec.tier === 1 ? [''] : [])),
    poolsBySubnet: index(ipPools, ({ spec }) => [spec.subnet]),
    poolsByNamespace: index(ipPools, ({ spec }) => spec.namespaces),
    vpcDnsesByVpc: index(vpcDnses, ({ spec }) => [spec.vpc]),
    vpcDnsesBySubnet: index(vpcDnses, ({ spec }) => (spec.subnet === '' ? [] : [spec.subnet])),
    vpcsByNamespace: index(vpcs, ({ spec }) => spec.namespaces),
    vpcsByDefaultSubnet: index(vpcs, ({ spec }) => [spec.defaultSubnet]),
    // A ConfigMap may connect the default one.
    vpcsByExternalSubnet: index(vpcs, ({ name, spec }) =>
      spec.enableExternal || name === defaultVpc ? ['', externalSubnet, ...spec.extraExternalSubnets] : [],
    ),
    natGatewaysByVpc: index(vpcNatGateways, ({ spec }) => [spec.vpc]),
    natGatewaysByExternalSubnet: index(vpcNatGateways, ({ spec }) => ['', ...spec.externalSubnets]),
    selectingNatGateways: index(vpcNatGateways, ({ spec }) => (spec.nodeSelectors.length > 0 ? [''] : [])),
    eipsByQosPolicy: index(iptablesEips, ({ spec }) => (spec.qosPolicy === '' ? [] : [spec.qosPolicy])),
    natGatewaysByQosPolicy: index(vpcNatGateways, ({ spec }) => (spec.qosPolicy === '' ? [] : [spec.qosPolicy])),
    eipsByNatGateway: index(iptablesEips, ({ spec }) => [spec.natGateway ?? '']),
    externalRulesByEip: {
      ...rulesIndex(stores, ({ spec }) => [spec.eip]),
      podFips: index(pods, (pod) => listed(outsideId(pod, 'podFips'))),
      podSnats: index(pods, (pod) => listed(outsideId(pod, 'podSnats'))),
    },
    podsByRule: index(pods, (pod) => podRuleStores.filter((store) => outsideText(pod, store) !== undefined)),
    externalRulesByPort: rulesIndex(stores, ({ spec }) => insidePorts({ ipType: '', ipName: '', ...spec })),
    snatRulesBySubnet: index(ovnSnatRules, ({ spec }) => (spec.vpcSubnet === '' ? [] : [spec.vpcSubnet])),
    egressGatewaysBy: index(vpcEgressGateways, placesOfGateway),
    egressSelectors: selectorIndex(vpcEgressGateways, ({ spec }) => spec.selectors),
    distributedFips: index(ovnFips, ({ spec }) => (spec.type === 'centralized' ? [] : [spec.type])),
    subnetsByVpc: index(subnets, ({ spec }) => [vpcNameOf(spec)]),
    subnetsByVlan: index(subnets, ({ spec }) => (spec.vlan === '' ? [] : [spec.vlan])),
    subnetsByNamespace: index(subnets, ({ spec }) => spec.namespaces),
    subnetsByProvider: index(subnets, ({ spec }) => [spec.provider]),
    slicesByService: index(endpointSlices, ({ service }) => (service === '' ? [] : [service])),
    slicesByPod: index(endpointSlices, ({ endpoints }) => endpoints.flatMap(({ pod }) => pod ?? [])),
    hintedSlicesByService: index(endpointSlices, ({ service, endpoints }) =>
      endpoints.some(({ nodeHints, zoneHints }) => nodeHints.length > 0 || zoneHints.length > 0) ? [service] : [],
    ),
    rulesByNamespace: lbRulesIndex(stores, ({ spec }) => [spec.namespace]),
    rulesByAddress: lbRulesIndex(stores, (rule) => {
      const read = readRule(rule);
      if (isProblem(read)) return [];
      const listed = read.slices?.flatMap(({ endpoints }) => endpoints.map(({ address }) => address)) ?? [];
      return [...read.service.clusterIps, ...listed];
    }),
    servicesByRule: {
      switchLbRules: index(services, ({ labels: { [label.switchLbRule]: rule } }) =>
        rule === undefined ? [] : [rule],
      ),
      routerLbRules: index(services, ({ labels: { [label.routerLbRule]: rule } }) =>
        rule === undefined ? [] : [rule],
      ),
    },
    servicesByAddress: index(services, ({ clusterIps, loadBalancerIps, externalIps }) => [
      ...clusterIps,
      ...loadBalancerIps,
      ...externalIps,
    ]),
    localServices: index(services, ({ isInternalPolicyLocal }) => (isInternalPolicyLocal ? [''] : [])),
    externalLocalServices: index(services, (service) => (isExternalLocal(service) ? [''] : [])),
    namespaceSelectors: selectorIndex(subnets, ({ spec }) => spec.namespaceSelectors),
    vipSelectors: selectorIndex(vips, (vip) => {
      const selector = vipSelector(vip);
      return selector === undefined ? [] : [selector];
    }),
  };
}
