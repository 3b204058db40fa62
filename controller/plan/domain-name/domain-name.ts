/**
 * The address sets of the domain names that policies of the whole cluster name. In: the addresses of names (`settle/domain-name`). Out: for each name and
 * family a set for new connections, and one of all addresses to which connections stay. All policies share them, in every VPC.
 */
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { leftEntries } from '../../model/domain.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { clusterPolicies, domainSet } from '../network-policy/names.ts';

const families = [4, 6] as const;

function planDomainName({ domains, policies }: View, name: string): Desired {
  const isNamed = [...policies.ofDomain(name)].length > 0;
  if (!isNamed) return nothing;
  const { current, left } = domains.record(name);
  const rows = families.flatMap((family): readonly DesiredRow[] => {
    const isOwn = (address: string): boolean => address.includes(':') === (family === 6);
    const addresses = current.filter(isOwn);
    const former = new Map([...left].filter(([address]) => isOwn(address)));
    const ids = { ...vendorIds, type: 'domain_name', domain: name };
    return [
      { table: 'Address_Set', key: domainSet(name, 'new', family), columns: { addresses, external_ids: ids } },
      {
        table: 'Address_Set',
        key: domainSet(name, 'kept', family),
        columns: {
          addresses: [...addresses, ...former.keys()].sort(),
          // A restart reads them.
          external_ids: { ...ids, ...leftEntries(former) },
        },
      },
    ];
  });
  return { rows, together: clusterPolicies };
}

/** Keys: domain names. */
export const domainNameFeature: Feature = {
  name: 'domain-name',
  all: (view) => view.domains.names(),
  *reads(change) {
    if (change.kind === 'domains') yield change.name;
  },
  plan: planDomainName,
};
