/** What of a Subnet is in force, as the controller notes it on the object and the other rooms read it. Pure. */
import { parseCidr, type Cidr } from '../net/cidr.ts';
import { annotation } from './names.ts';

/**
 * The CIDRs that pods of a Subnet have, by its annotations: those accepted last. They differ from `spec.cidrBlock` while
 * that is not judged yet, and after an edit that was refused. Empty where nothing is in force.
 */
export function networksInForce(annotations: Readonly<Record<string, string>> | undefined): readonly Cidr[] {
  const [cidrs = ''] = (annotations?.[annotation.accepted] ?? '').split(' ');
  return cidrs.split(',').flatMap((text) => parseCidr(text) ?? []);
}
