import { fieldsOf, recordsOf, textOf } from '../../kube/fields.ts';
import type { RemoteRoute } from '../../api/kinds/remote-route-slice.ts';
import { remotePrefixes, remoteRoutes } from '../../slices/remote-routes.ts';
import { formatCidr } from '../../net/cidr.ts';
import { learnedOrigin } from '../../route-policy/policy.ts';
import type { SlicedView } from '../../slices/slice.ts';
import type { Remote } from '../objects.ts';

type Prefixes = Pick<Remote, 'routes' | 'owned'>;

function prefixesOf(entries: readonly RemoteRoute[]): Prefixes {
  const { listed, unlisted } = remotePrefixes(entries);
  const byPrefix = new Map<string, Remote['routes'][number]>();
  for (const { cidr, isActive, origin, tags } of listed) {
    const prefix = formatCidr(cidr);
    if (isActive) byPrefix.set(prefix, { prefix, origin, tags });
  }
  const owned = [...listed.filter(({ origin }) => origin !== learnedOrigin), ...unlisted];
  return {
    routes: [...byPrefix.values()],
    owned: owned.map(({ cidr, transitSwitch }) => ({ prefix: formatCidr(cidr), transitSwitch })),
  };
}

/** Another cluster with those of its prefixes that are routes here. */
export const remoteView: SlicedView<RemoteRoute, Prefixes, Remote> = {
  kind: remoteRoutes,
  merge: prefixesOf,
  parse: ({ metadata, ...raw }) => {
    const facts = {
      name: metadata.name,
      labels: metadata.labels ?? {},
      gateways: recordsOf(fieldsOf(raw['status'])['gateways']).map(({ address }) => textOf(address)),
    };
    return (prefixes) => ({ ...facts, ...prefixes });
  },
};
