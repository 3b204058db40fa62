/**
 * Which of several Services has an address, or an address with protocol and port: the one whose ClusterIP it is, else the oldest one, and of
 * Services of the same second the first by name. The controller and all nodes decide by it, each on its own, and `isthmus why` explains by it. Pure.
 */

export interface Claimant {
  /** `namespace/name`. */
  readonly service: string;
  readonly createdMs: number;
  /** The API server gives a ClusterIP to one Service, and authors choose external IPs: these never take it, however old they are. */
  readonly isClusterIp: boolean;
}

/** The holder is first. */
export function byRight(a: Claimant, b: Claimant): number {
  return Number(b.isClusterIp) - Number(a.isClusterIp) || a.createdMs - b.createdMs || (a.service < b.service ? -1 : 1);
}
