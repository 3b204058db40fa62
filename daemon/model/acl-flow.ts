import type { AclOrigin } from '../../lib/policies/acl-text.ts';

/** The logical flow of an ACL of a policy. */
export type AclFlow = AclOrigin & {
  readonly pipeline: 'ingress' | 'egress';
  /** Its table in the pipeline. */
  readonly stage: number;
};
