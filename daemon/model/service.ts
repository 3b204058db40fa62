/** A Service at this node: its virtual addresses and NodePorts with their endpoints. */
import type { Family } from '../../lib/net/ip.ts';
import type { Place } from '../../lib/services/backends.ts';

/** The number of a transport protocol in IP. */
export const protocolNumber = { TCP: 6, UDP: 17, SCTP: 132 } as const;

/** Endpoints by number, as `address . port`. Endpoints that stay keep their numbers, so that a change writes few elements. */
export type Slots = readonly string[];

/** A virtual address or NodePort with its endpoints. */
export interface Frontend {
  /** `address . protocol . port`; the address is `0.0.0.0` or `::` for a NodePort. */
  readonly key: string;
  readonly family: Family;
  readonly isNodePort: boolean;
  readonly isUdp: boolean;
  /** The endpoints for clients in the cluster, and for external clients if they have no list of their own. Empty: not translated. */
  readonly all: Slots;
  /** The endpoints for external clients under policy Local, whose source address is kept; undefined if `all` is for them too. */
  readonly local: Slots | undefined;
  /** Answer to all clients while `all` is empty. */
  readonly refusal: 'reject' | 'drop' | undefined;
  /** Answer to external clients that are not served. */
  readonly outsideRefusal: 'reject' | 'drop' | undefined;
  /** Whether packets from pods are dropped, because OVN sends these clients to the endpoints of their own node. */
  readonly isOfClientsNode: boolean;
  /** CIDRs of clients that may use it; undefined if all may. */
  readonly sourceRanges: readonly string[] | undefined;
  readonly affinitySeconds: number | undefined;
}

/** A health check server, from which a load balancer learns whether the node has endpoints. */
export interface HealthCheck {
  readonly port: number;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Ready endpoints on this node. */
  readonly localEndpoints: number;
}

export interface ServedService {
  readonly frontends: readonly Frontend[];
  readonly clusterIps: readonly string[];
  readonly healthCheck: HealthCheck | undefined;
}

/** The values of the node that plans of Services read. */
export interface ServiceNode extends Place {
  /** Families in which external clients are served under policy Cluster: those in which the node has an address to masquerade them. */
  readonly masqueraded: ReadonlySet<Family>;
}
