import {
  iptablesDnats,
  iptablesEips,
  iptablesFips,
  iptablesSnats,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  ovnSnatRules,
  qosPolicies,
  routerLbRules,
  vpcEgressGateways,
  vpcNatGateways,
} from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';

/** Addresses outside, and the rules that use them. */
export const outsideKinds: readonly Resource[] = [
  ovnEips,
  ovnFips,
  ovnSnatRules,
  ovnDnatRules,
  vpcNatGateways,
  iptablesEips,
  iptablesFips,
  iptablesSnats,
  iptablesDnats,
  qosPolicies,
  routerLbRules,
  vpcEgressGateways,
];
