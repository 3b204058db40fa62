import type { PolicyRules } from '../../lib/policies/policy.ts';
import type { PolicyDirection } from '../../lib/policies/selection.ts';

/** A NetworkPolicy without its rules: the pods that it isolates, and in which directions. */
export interface IsolatingPolicy extends Pick<PolicyRules, 'namespace' | 'pods' | 'providers'> {
  readonly name: string;
  readonly directions: readonly PolicyDirection[];
}
