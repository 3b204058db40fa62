/** Fields and annotations of Kube-OVN that this release does not support. They are refused, so that none is silently ignored. */

export const unsupportedSubnetFields: readonly string[] = ['enableExternalLBAddress', 'nodeNetwork'];

export const unsupportedVpcFields: readonly string[] = ['bfdPort'];

const prefix = 'ovn.kubernetes.io/';

export const unsupportedPolicyAnnotations: readonly string[] = [
  'enable_log',
  'log_acl_actions',
  'acl_log_meter_rate',
  'network_policy_enforcement',
].map((key) => prefix + key);

export const unsupportedPodAnnotations: readonly string[] = ['layer2_forward', 'north_gateway'].map(
  (key) => prefix + key,
);
