import { defaultVpc } from '../../lib/api/names.ts';
import { fieldsOf, textOf } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';

/** The VPC that a VpcDns names; undefined for one that never gets gates. */
export function parseVpcDns(raw: RawObject): string | undefined {
  const vpc = textOf(fieldsOf(raw['spec'])['vpc']);
  return vpc === '' || vpc === defaultVpc ? undefined : vpc;
}
