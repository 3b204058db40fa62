import { digestOf } from './digest.ts';

/** Length of the digest in a name. Among a hundred thousand names, the probability of two equal ones is one in a billion. */
const length = 16;

/** The name of a template variable of OVN for the given parts. A load balancer refers to it as `^name`. */
export function variableName(prefix: string, ...parts: readonly string[]): string {
  return `${prefix}_${digestOf(parts.join(' ')).slice(0, length)}`;
}
