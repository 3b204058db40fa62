/** Owners of rows, ids in them, and keys of rows that carry none: plans write them, `watch/` recognises rows by them. Pure. */

const memberPrefix = 'member/';

/** Owner of the rows of one member, which a rename does not change. */
export function memberOwner(handle: string): string {
  return `${memberPrefix}${handle}`;
}

/** The handle of the member that an owner stands for; undefined for other owners. */
export function handleOfOwner(owner: string): string | undefined {
  return owner.startsWith(memberPrefix) ? owner.slice(memberPrefix.length) : undefined;
}

export function pathOwner(pathSwitch: string): string {
  return `network/${pathSwitch}`;
}

/** Keys of external_ids. */
export const hubId = {
  network: 'isthmus-network',
  cidrs: 'isthmus-cidrs',
  paths: 'isthmus-paths',
  definedBy: 'isthmus-defined-by',
  clusters: 'isthmus-clusters',
  vpc: 'isthmus-vpc',
  gateways: 'isthmus-gateways',
  draining: 'isthmus-draining',
  origin: 'isthmus-origin',
  tags: 'isthmus-tags',
  via: 'isthmus-via',
  /** Of a gateway: its end of encrypted tunnels, and the wish of its cluster, as JSON. */
  wireGuard: 'isthmus-wireguard',
  encryption: 'isthmus-encryption',
  /** Followed by the CIDR of a prefix that is offered to some members only. */
  hiddenPrefix: 'isthmus-prefix:',
} as const;

/** Key of an Encap row: the table has neither names nor external_ids, only this unique index. */
export function encapKey(type: string, ip: string): string {
  return `${type}/${ip}`;
}
