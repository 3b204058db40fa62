/**
 * Frontends of UDP that lost endpoints, or got their first one → the connections that Open vSwitch may still track: to lost endpoints, or not
 * translated. Pure.
 */
import { protocolNumber, type Frontend } from '../../model/service.ts';
import { familyOf } from '../../../lib/net/ip.ts';

export interface GoneEndpoint {
  /** Of the frontend. */
  readonly key: string;
  /** `address . port`; that of the frontend itself for connections that were not translated. */
  readonly slot: string;
}

/** Of more endpoints of one frontend, all its connections are deleted: each deletion reads all tracked connections. */
const mostAlone = 8;

function slotsOf(frontend: Frontend | undefined): ReadonlySet<string> {
  // A NodePort is translated on the node alone.
  return new Set(frontend?.isUdp === true && !frontend.isNodePort ? frontend.all : []);
}

/** By an id of the pair; `served` are the ids of those that serve now. */
export function goneEndpoints(
  before: Frontend | undefined,
  after: Frontend | undefined,
): { readonly gone: ReadonlyMap<string, GoneEndpoint>; readonly served: readonly string[] } {
  const key = (after ?? before)?.key ?? '';
  const now = slotsOf(after);
  const idOf = (slot: string): string => `${key} ${slot}`;
  const gone = [...slotsOf(before)].filter((slot) => !now.has(slot));
  // With internalTrafficPolicy Local and no endpoint on the node, OVN has no flow for the frontend and tracks packets to it as they are.
  if (before?.all.length === 0 && now.size > 0) gone.push(ownSlot(key));
  return {
    gone: new Map(gone.map((slot) => [idOf(slot), { key, slot }])),
    served: [...now].map(idOf),
  };
}

function ownSlot(key: string): string {
  const [address = '', , port = ''] = key.split(' . ');
  return `${address} . ${port}`;
}

/** Pairs of an original tuple and one of the reply, as ovs-vswitchd reads them; an empty one matches every reply. */
export function switchMatches(gone: readonly GoneEndpoint[]): readonly (readonly [original: string, reply: string])[] {
  const byKey = Map.groupBy(gone, ({ key }) => key);
  return [...byKey].flatMap(([key, endpoints]) => {
    const [address = '', , port = ''] = key.split(' . ');
    const original = tuple('dst', address, port);
    if (endpoints.length > mostAlone) return [[original, ''] as const];
    return endpoints.map(({ slot }) => {
      const [endpoint = '', target = ''] = slot.split(' . ');
      return [original, tuple('src', endpoint, target)] as const;
    });
  });
}

function tuple(side: 'src' | 'dst', address: string, port: string): string {
  const field = familyOf(address) === 6 ? `ct_ipv6_${side}` : `ct_nw_${side}`;
  return `${field}=${address},ct_nw_proto=${protocolNumber.UDP},ct_tp_${side}=${port}`;
}
