import { conditionsOf } from '../../api/conditions.ts';
import { fieldsOf, textsOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import { formatCidr } from '../../net/cidr.ts';
import { cidrsOf } from '../../net/range.ts';
import { parsePoolRange } from '../../services/load-balancer.ts';

/** The networks of a pool if the controller accepted the pool, otherwise none. An edit that the controller has not judged yet counts as accepted. */
export function parseLoadBalancerPool(raw: RawObject): readonly string[] {
  const validated = conditionsOf(fieldsOf(raw['status'])).find(({ type }) => type === 'Validated');
  if (validated?.status !== 'True') return [];
  return textsOf(fieldsOf(raw['spec'])['addresses']).flatMap((text) => {
    const range = parsePoolRange(text);
    return range === undefined ? [] : cidrsOf(range).map(formatCidr);
  });
}
