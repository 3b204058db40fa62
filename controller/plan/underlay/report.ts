/** Common parts of the reports of ProviderNetworks and Vlans. */
import type { ApiObjectFacts } from '../../model/object-facts.ts';
import type { WantedCondition, WantedEvent } from '../report.ts';

/** Reasons that pass by themselves: the condition is enough. */
const transient: ReadonlySet<string | undefined> = new Set(['Pending', 'Deleting', 'DryRun']);

function isOfWhole({ type, node = '' }: WantedCondition): boolean {
  return type === 'Ready' && node === '';
}

/** An event if the status or the reason of Ready differs from the observed object. */
export function readinessEvents(
  kind: string,
  { name, conditions: observed }: ApiObjectFacts,
  conditions: readonly WantedCondition[],
): readonly WantedEvent[] {
  const is = conditions.find(isOfWhole);
  const was = observed.find(isOfWhole);
  if (is === undefined || (was?.status === is.status && was.message === is.message)) return [];
  if (is.status === 'True' && was?.status === 'False')
    return [{ type: 'Normal', reason: `${kind}Ready`, message: is.message || `${kind} ${name} is in force` }];
  if (is.status !== 'False' || transient.has(is.reason)) return [];
  return [{ type: 'Warning', reason: `${kind}NotReady`, message: `${is.reason}: ${is.message}` }];
}
