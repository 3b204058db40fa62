/**
 * The pods that VpcEgressGateways select. In: a pod, its Namespace and its addresses. Out: the addresses as members of the gateway's address sets. Rule: of
 * several gateways that select a pod, the oldest has it.
 */
import type { Contribution, Desired } from '../../../lib/desired/row.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { policyLabels } from '../../../lib/policies/selection.ts';
import { isDropping, isLeading } from '../../model/egress-gateway.ts';
import type { EgressGateway, VpcEgressGateway } from '../../model/egress-gateway.ts';
import { podKey } from '../../model/objects.ts';
import type { Pod } from '../../model/objects.ts';
import { egressSet } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';

/** Gateways that select the pod, the oldest first. */
export function selectingGateways(view: View, pod: Pod): readonly VpcEgressGateway[] {
  const namespace = view.namespaces.get(pod.namespace);
  if (namespace === undefined) return [];
  const keys = view.indexes.egressSelectors.matching(policyLabels(pod, namespace.labels));
  return [...keys]
    .sort()
    .flatMap((key) => view.vpcEgressGateways.get(key) ?? [])
    .sort(byAge);
}

function isServing(gateway: EgressGateway | undefined): gateway is EgressGateway {
  return isLeading(gateway) || isDropping(gateway);
}

function planMember(view: View, key: string): Desired {
  const pod = view.vpcEgressGateways.size === 0 ? undefined : view.pods.get(key);
  if (pod === undefined) return nothing;
  const gateways = selectingGateways(view, pod).map((gateway) => podKey(gateway));
  if (gateways.length === 0) return nothing;
  const contributions = view.ports(`pod/${key}`).flatMap(({ allocation }): Contribution[] => {
    const vpc = view.verdicts.get(allocation.subnet)?.vpc;
    const gateway = gateways.find((one) => {
      const verdict = view.egressGateways.get(one);
      return isServing(verdict) && verdict.vpc === vpc;
    });
    if (gateway === undefined) return [];
    const into = (family: 4 | 6, address: string | undefined): readonly Contribution[] =>
      address === undefined
        ? []
        : [{ table: 'Address_Set', key: egressSet(gateway, family), column: 'addresses', values: [address] }];
    return [...into(4, allocation.v4), ...into(6, allocation.v6)];
  });
  return contributions.length === 0 ? nothing : { rows: [], contributions };
}

/** The parts of a verdict that memberships depend on. */
function servingText(gateway: EgressGateway | undefined): string {
  return isServing(gateway) ? `in ${gateway.vpc}` : '';
}

function selectorText(gateway: VpcEgressGateway | undefined): string {
  return gateway === undefined ? '' : JSON.stringify([gateway.uid, gateway.spec.selectors]);
}

function* selectedBy(view: View, ...gateways: readonly (VpcEgressGateway | undefined)[]): Generator<string> {
  for (const gateway of gateways)
    for (const selector of gateway?.spec.selectors ?? []) yield* view.policies.podsMatching(selector);
}

/** Keys: `namespace/name` of the pod. */
export const egressMemberFeature: Feature = {
  name: 'egress-member',
  all: (view) => (view.vpcEgressGateways.size === 0 ? [] : view.pods.keys()),
  *reads(change, view) {
    const { kind, name } = change;
    if (kind === 'vpcEgressGateways') {
      if (selectorText(change.before) !== selectorText(change.after))
        yield* selectedBy(view, change.before, change.after);
    } else if (view.vpcEgressGateways.size === 0) return;
    else if (kind === 'pods') yield name;
    else if (kind === 'ports') {
      if (name.startsWith('pod/')) yield name.slice('pod/'.length);
    } else if (kind === 'namespaces') {
      if (JSON.stringify(change.before?.labels) !== JSON.stringify(change.after?.labels))
        yield* view.policies.podsOfNamespace(name);
    } else if (kind === 'egressGateways') {
      if (servingText(change.before) !== servingText(change.after))
        yield* selectedBy(view, view.vpcEgressGateways.get(name));
    } else if (kind === 'verdicts' && change.before?.vpc !== change.after?.vpc)
      for (const key of view.keysIn(name)) if (key.startsWith('pod/')) yield key.slice('pod/'.length);
  },
  plan: planMember,
};
