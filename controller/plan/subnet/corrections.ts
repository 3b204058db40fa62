/** Sentences about the changes that the controller makes to a spec. A default for an empty field is not a correction. */
import { defaultSubnet } from '../../../lib/api/names.ts';
import type { View } from '../../model/view.ts';

export function specCorrections(view: View, name: string): readonly string[] {
  const given = view.subnets.get(name)?.spec;
  const wanted = view.verdicts.get(name)?.spec;
  if (given === undefined || wanted === undefined) return [];
  const corrections: string[] = [];
  if (given.isDefault === true && !wanted.default)
    corrections.push(
      `spec.default is set to false: ${defaultSubnet} is the default subnet; name namespaces in spec.namespaces to bind them to this one`,
    );
  if (given.protocol !== '' && given.protocol !== wanted.protocol)
    corrections.push(`spec.protocol ${given.protocol} is set to ${wanted.protocol}: it is derived from spec.cidrBlock`);
  if (given.cidrBlock !== wanted.cidrBlock)
    corrections.push(
      `spec.cidrBlock ${given.cidrBlock} is set to ${wanted.cidrBlock}: CIDRs begin at their network's address, IPv4 first`,
    );
  return corrections;
}
