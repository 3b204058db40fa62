/** The numbers of named ports that a rule contains. Each is a port group or an address set of every policy that names the port, and any author of a pod may add one. */
import type { NamedPort, PolicyRule } from './policy.ts';
import { namedKeys, namedPortKey } from './selection.ts';

export const mostNumbers = 64;

/** Of all numbers that pods give a named port, those that rules contain; sorted. */
export function lowestNumbers(all: Iterable<number>): readonly number[] {
  return [...all].sort((a, b) => a - b).slice(0, mostNumbers);
}

/** The numbers that pods give named ports, as `namedPortKey` names them. */
export interface PortNumbers {
  /** Whether rules with the named port contain a number that pods give it. */
  hasNumber(key: string, number: number): boolean;
  /** Whether pods give the named port more numbers than rules contain. */
  hasMoreNumbers(key: string): boolean;
}

/** Of a cluster in which no pod names a port: no limit is reached. */
export const noNumbers: PortNumbers = { hasNumber: () => true, hasMoreNumbers: () => false };

/** The numbers of named ports, from the ports of all pods that have the network of the cluster. */
export function portNumbersOf(
  pods: Iterable<{ readonly namespace: string; readonly namedPorts: readonly NamedPort[] }>,
): PortNumbers {
  const all = new Map<string, Set<number>>();
  for (const { namespace, namedPorts } of pods)
    for (const { protocol, name, number } of namedPorts)
      for (const place of [namespace, undefined]) {
        const key = namedPortKey(place, protocol, name);
        const known = all.get(key);
        if (known === undefined) all.set(key, new Set([number]));
        else known.add(number);
      }
  const hasMoreNumbers = (key: string): boolean => (all.get(key)?.size ?? 0) > mostNumbers;
  return {
    hasMoreNumbers,
    hasNumber: (key, number) => !hasMoreNumbers(key) || lowestNumbers(all.get(key) ?? []).includes(number),
  };
}

/**
 * Says that pods give a named port of the rule more numbers than the rule contains; undefined if they do not.
 * @param namespace that of the rule's destinations, if they have one
 */
export function tooManyNumbers(
  numbers: PortNumbers,
  rule: PolicyRule,
  namespace: string | undefined,
): string | undefined {
  const key = namedKeys(rule, namespace).find((one) => numbers.hasMoreNumbers(one));
  if (key === undefined) return undefined;
  const name = key.slice(key.lastIndexOf('/') + 1);
  return `pods give port ${name} too many numbers; the rule contains the lowest ${mostNumbers}`;
}
