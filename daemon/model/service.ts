/** A Service as the node serves it: its virtual addresses and NodePorts with their endpoints. */
import type { Family } from '../../lib/net/ip.ts';
import type { Place } from '../../lib/services/backends.ts';

/** The number of a transport protocol in IP. */
export const protocolNumber = { TCP: 6, UDP: 17, SCTP: 132 } as const;

/** Endpoints by number, as `address . port`. A list keeps the numbers of endpoints that stay, so that one change is few elements. */
export type Slots = readonly string[];

/** A virtual address or NodePort with its endpoints. */
export interface Frontend {
  /** `address . protocol . port`; the address is `0.0.0.0` or `::` for a NodePort. */
  readonly key: string;
  readonly family: Family;
  readonly isNodePort: boolean;
  readonly isUdp: boolean;
  /** For clients in the cluster, and for all clients where no policy says otherwise. Empty: not translated. */
  readonly all: Slots;
  /** For clients outside under policy Local, which keep their address; undefined where they have no list of their own. */
  readonly local: Slots | undefined;
  /** Answer to all clients while `all` is empty. */
  readonly refusal: 'reject' | 'drop' | undefined;
  /** Answer to clients outside that are not served. */
  readonly outsideRefusal: 'reject' | 'drop' | undefined;
  /** Clients in pods have the endpoints of their own node, by OVN: what comes from a pod is dropped. */
  readonly isOfClientsNode: boolean;
  /** Undefined where every client may use it. */
  readonly sourceRanges: readonly string[] | undefined;
  readonly affinitySeconds: number | undefined;
}

/** A health check server that a load balancer asks whether the node has endpoints. */
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

/** What plans of Services read of the node. */
export interface ServiceNode extends Place {
  /** Families in which clients outside are served under policy Cluster: those in which the node has an address to masquerade them with. */
  readonly masqueraded: ReadonlySet<Family>;
}
