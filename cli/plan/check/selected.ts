/** The nodes that a selector of the chart chooses. Pure. */
import type { Machine } from '../../model/cluster-facts.ts';
import type { Question } from './outcome.ts';

type Labels = Readonly<Record<string, string>>;

export function chosenBy(machines: readonly Machine[], selector: Labels): readonly Machine[] {
  const wanted = Object.entries(selector);
  return machines.filter(({ labels }) => wanted.every(([key, value]) => labels[key] === value));
}

/** Nodes that get their network from Isthmus; undefined if Nodes could not be read. */
export function ownMachines({ facts, values }: Question): readonly Machine[] | undefined {
  return facts.machines && chosenBy(facts.machines, values.daemon.nodeSelector);
}

/** The format of `kubectl label`: `a=b c=d`. */
export function asLabels(selector: Labels): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}
