import { networksInForce, routingInForce } from '../../api/in-force.ts';
import { isThroughRouter } from '../../api/subnet-routing.ts';
import { defaultVpc } from '../../api/names.ts';
import { fieldsOf, textOf } from '../../kube/fields.ts';
import type { RawObject } from '../../kube/types.ts';
import { formatCidr } from '../../net/cidr.ts';
import type { Subnet } from '../objects.ts';
import { parseBgpAnnotation } from './annotation.ts';

/** A subnet as far as announcing it goes. */
export function parseSubnet(raw: RawObject): Subnet {
  const routing = routingInForce(raw.metadata.annotations);
  return {
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    labels: raw.metadata.labels ?? {},
    vpc: textOf(fieldsOf(raw['spec'])['vpc']) || defaultVpc,
    ...(isThroughRouter(routing) ? {} : { isPhysical: true }),
    ...(routing === 'nodes' ? { isByNodes: true } : {}),
    prefixes: networksInForce(raw.metadata.annotations).map(formatCidr),
    annotation: parseBgpAnnotation(raw.metadata.annotations),
  };
}
