import { fieldsOf, textOf } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { VpcDns } from '../model/objects.ts';
import { apiFactsOf } from './fields.ts';

export function parseVpcDns(raw: RawObject): VpcDns {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    spec: { vpc: textOf(spec['vpc']), subnet: textOf(spec['subnet']), corefile: textOf(spec['corefile']) },
  };
}
