/**
 * The way out of a VPC by its ports outside: default routes, and the networks to which its rules' packets do not leave. In: the verdicts on its
 * ports, its networks. Out: rows. Rules: a default route of the user stays the only one, and the default VPC leaves by its nodes as before.
 */
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { ownNetworksSet } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortsOf } from '../../settle/external/external-subnets.ts';
import { gatewayIp } from '../../settle/subnet/subnet-net.ts';
import { routedSubnetsOf, routeTableOf } from '../../settle/vpc/routers.ts';
import { userDefaults } from '../../settle/vpc/user-defaults.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { isOfNetworks, ownCidrs } from '../underlay/own-cidrs.ts';
import { servedPort, togetherWith, type ServedPort } from './gateway-port.ts';

function routeRows(view: View, port: ServedPort): readonly DesiredRow[] {
  const { vpc, exitOf, parts } = port;
  const taken = userDefaults(view, vpc);
  const tables = new Set(['', ...routedSubnetsOf(view, vpc).map((subnet) => routeTableOf(view, subnet))]);
  return parts
    .filter(({ cidr: { family } }) => exitOf.includes(family))
    .flatMap((part) => {
      const { family } = part.cidr;
      const own = [...tables].filter((table) => !taken.has(`${table}/${family}`));
      return own.sort().map((table) => ({
        table: 'Logical_Router_Static_Route',
        key: `${vpc}/external/ipv${family}${table === '' ? '' : `/${table}`}`,
        columns: {
          ip_prefix: family === 4 ? '0.0.0.0/0' : '::/0',
          nexthop: gatewayIp(part),
          policy: 'dst-ip',
          route_table: table,
          external_ids: vendorIds,
        },
        parent: { table: 'Logical_Router', key: vpc, column: 'static_routes' },
      }));
    });
}

function setRows(vpc: string, families: readonly Family[]): readonly DesiredRow[] {
  return families.map((family) => ({
    table: 'Address_Set',
    key: ownNetworksSet(vpc, family),
    columns: { external_ids: { ...vendorIds, vpc } },
    collects: ['addresses'],
  }));
}

function planExit(view: View, vpc: string): Desired {
  const ports = gatewayPortsOf(view, vpc).flatMap(({ subnet }) => servedPort(view, vpc, subnet) ?? []);
  const [first] = ports;
  if (first === undefined) return nothing;
  const families = ([4, 6] as const).filter((family) =>
    ports.some(({ parts }) => parts.some(({ cidr }) => cidr.family === family)),
  );
  const outside = new Set(ports.flatMap(({ parts }) => parts.map(({ cidr }) => formatCidr(cidr))));
  const members = families.map((family): Contribution => ({
    table: 'Address_Set',
    key: ownNetworksSet(vpc, family),
    column: 'addresses',
    values: ownCidrs(view, vpc, family).filter((cidr) => !outside.has(cidr)),
  }));
  const exit = ports.find(({ exitOf }) => exitOf.length > 0) ?? first;
  return {
    rows: [...ports.flatMap((port) => routeRows(view, port)), ...setRows(vpc, families)],
    contributions: members,
    together: togetherWith(exit),
  };
}

function* vpcsOutside(view: View): Generator<string> {
  for (const { vpc } of view.gatewayPorts.values()) yield vpc;
}

/** Keys: the VPC. */
export const externalExitFeature: Feature = {
  name: 'external-exit',
  all: (view) => new Set(vpcsOutside(view)),
  *reads(change, view) {
    if (change.kind === 'gatewayPorts') yield change.name.slice(0, change.name.indexOf('/'));
    else if (isOfNetworks(change) || (change.kind === 'ports' && change.name.startsWith('eip/')))
      yield* new Set(vpcsOutside(view));
  },
  plan: planExit,
  statusOf: (vpc) => `vpc/${vpc}`,
};
