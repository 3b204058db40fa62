/** What users of Kube-OVN may write and this release refuses, so that nothing is silently left undone. */

export const unsupportedSubnetFields: readonly string[] = ['enableExternalLBAddress', 'nodeNetwork'];

export const unsupportedVpcFields: readonly string[] = [
  'enableExternal',
  'enableBfd',
  'extraExternalSubnets',
  'bfdPort',
];

const prefix = 'ovn.kubernetes.io/';

export const unsupportedPodAnnotations: readonly string[] = ['layer2_forward', 'north_gateway', 'eip', 'snat'].map(
  (key) => prefix + key,
);
