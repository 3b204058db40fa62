/**
 * Decides which Vlans are in force. In: all Vlans and ProviderNetworks. Out: a verdict for each Vlan. Called when one of them is
 * created or deleted, or its spec changes. Rule: of two Vlans with one id in one network the one in force prevails, of new ones the older.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { byRight, unlessRefused } from '../../../lib/desired/rights.ts';
import type { ProviderNetwork, Vlan } from '../../model/objects.ts';
import type { VlanVerdict } from '../../model/settled.ts';

const conflictCode = 'VlanConflict';

function providerProblem({ spec }: Vlan, providerNetworks: ReadonlyMap<string, ProviderNetwork>): Problem | undefined {
  const network = providerNetworks.get(spec.provider);
  if (network?.spec.routedByNodes === true && spec.id !== 0) {
    const message = `ProviderNetwork ${spec.provider} has routedByNodes, and no wire for packets with a tag: use id 0 instead of ${spec.id}`;
    return { code: 'VlanNotServed', message };
  }
  if (network !== undefined) return undefined;
  const message = `spec.provider names ProviderNetwork ${spec.provider}, which does not exist: create it, or name another`;
  return { code: 'ProviderNetworkNotFound', message };
}

function closingOf(
  { spec, isDeleting }: Vlan,
  providerNetworks: ReadonlyMap<string, ProviderNetwork>,
): Problem | undefined {
  if (isDeleting) return { code: 'VlanNotFound', message: 'is being deleted' };
  if (providerNetworks.get(spec.provider)?.isDeleting !== true) return undefined;
  return { code: 'ProviderNetworkNotFound', message: `is in ProviderNetwork ${spec.provider}, which is being deleted` };
}

export function judgeVlans(
  vlans: Iterable<Vlan>,
  providerNetworks: ReadonlyMap<string, ProviderNetwork>,
): ReadonlyMap<string, VlanVerdict> {
  const holders = new Map<string, string>();
  const verdicts = new Map<string, VlanVerdict>();
  for (const vlan of [...vlans].sort(byRight(unlessRefused(new Set([conflictCode]))))) {
    const { name, spec } = vlan;
    const place = `${spec.provider}/${spec.id}`;
    const holder = holders.get(place);
    if (holder === undefined) holders.set(place, name);
    const message = `id ${spec.id} in ProviderNetwork ${spec.provider} belongs to Vlan ${holder}, which had it first: choose another id, or move the subnets to ${holder}`;
    const conflict = holder === undefined ? undefined : { code: conflictCode, message };
    const problem = conflict ?? providerProblem(vlan, providerNetworks);
    verdicts.set(name, {
      ...spec,
      isByNodes: providerNetworks.get(spec.provider)?.spec.routedByNodes === true,
      isConflict: holder !== undefined,
      closing: closingOf(vlan, providerNetworks),
      problem,
    });
  }
  return verdicts;
}
