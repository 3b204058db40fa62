/**
 * BFD sessions with the routers outside of a VPC. In: its ports, and the states of the sessions. Out: a row for each session, a route that
 * keeps it running, and what statuses say. Rule: OVN withdraws a route whose session is down, so that only a route refers to a session that has
 * another one to take its place.
 */
import { ref, type DesiredRow } from '../../../lib/desired/row.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { ApiObjectFacts } from '../../model/object-facts.ts';
import { upstreamKey } from '../../model/ovn-names.ts';
import type { GatewayPort, Upstream } from '../../model/settled.ts';
import { vendorIds } from '../names.ts';
import type { WantedCondition } from '../report.ts';

/** It finds a dead router in 300 ms. */
const timing = { min_tx: 100, min_rx: 100, detect_mult: 3 } as const;
/** No port has this route table, so that no packet takes a route in it. */
const probeTable = 'isthmus.bfd';
export const upstreamCondition = 'UpstreamReachable';

const everything = { 4: '0.0.0.0/0', 6: '::/0' } as const;

/** The row of the session of a router's port. */
export function sessionRef(port: string, { address }: Pick<Upstream, 'address'>) {
  return ref('BFD', upstreamKey(port, address));
}

/** @param families those in which the port has an address */
export function sessionRows(
  { vpc, name, upstreams }: Pick<GatewayPort, 'vpc' | 'upstreams'> & { readonly name: string },
  families: readonly Family[],
): readonly DesiredRow[] {
  return upstreams
    .filter(({ family }) => families.includes(family))
    .flatMap((upstream): readonly DesiredRow[] => {
      const { family, address, state } = upstream;
      // A start takes the state from here.
      const known = state === 'silent' ? {} : { upstream: state };
      const columns = { logical_port: name, dst_ip: address, ...timing, external_ids: { ...vendorIds, ...known } };
      return [
        { table: 'BFD', key: upstreamKey(name, address), columns },
        {
          // OVN runs only sessions that a route refers to.
          table: 'Logical_Router_Static_Route',
          key: `${vpc}/bfd/${name}/ipv${family}`,
          columns: {
            ip_prefix: everything[family],
            nexthop: address,
            policy: 'dst-ip',
            route_table: probeTable,
            output_port: name,
            bfd: sessionRef(name, upstream),
            external_ids: vendorIds,
          },
          parent: { table: 'Logical_Router', key: vpc, column: 'static_routes' },
        },
      ];
    });
}

function sentenceOf({ vpc, subnet }: GatewayPort, { address, state }: Upstream): string {
  const router = `router ${address} of Subnet ${subnet}`;
  return state === 'down'
    ? `${router} does not answer by BFD any more: repair it, or, if it is not to speak BFD, set spec.enableBfd of Vpc ${vpc} to false`
    : `${router} has not answered by BFD yet, and is used all the same: configure BFD there for the router of Vpc ${vpc}, or set spec.enableBfd of the Vpc to false`;
}

/**
 * What a status says of the routers of ports outside; nothing where none is watched.
 * @param object has the conditions of now
 */
export function upstreamConditions(
  { generation, conditions }: Pick<ApiObjectFacts, 'generation' | 'conditions'>,
  ports: readonly GatewayPort[],
): { readonly conditions: readonly WantedCondition[]; readonly absentConditions?: readonly string[] } {
  const watched = ports.flatMap((port) => port.upstreams.map((upstream) => ({ port, upstream })));
  const isShown = conditions.some(({ type }) => type === upstreamCondition);
  if (watched.length === 0) return { conditions: [], ...(isShown && { absentConditions: [upstreamCondition] }) };
  const of = (state: Upstream['state']): readonly string[] =>
    watched.filter(({ upstream }) => upstream.state === state).map(({ port, upstream }) => sentenceOf(port, upstream));
  const [down, silent] = [of('down'), of('silent')];
  const [status, reason] =
    down.length > 0
      ? (['False', 'UpstreamDown'] as const)
      : silent.length > 0
        ? (['Unknown', 'RouterHasNoBfd'] as const)
        : (['True', 'UpstreamUp'] as const);
  const message = [...down, ...silent].join('; ');
  return {
    conditions: [
      {
        type: upstreamCondition,
        status,
        reason,
        message,
        observedGeneration: generation,
      },
    ],
  };
}
