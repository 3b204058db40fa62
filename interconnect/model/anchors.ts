/** Facts about paths and gateways of this cluster that the choice of anchors depends on. */

export interface PathFacts {
  readonly index: number;
  /** Order in the northbound database. */
  readonly present: readonly string[];
  readonly holder: string;
  readonly isRetiring: boolean;
}

export interface HubFacts {
  readonly isConnected: boolean;
  /** The newest revision of this cluster's state that the others know. */
  readonly knownRevision: number;
}

export interface GatewayFacts {
  readonly chassis: string;
  readonly isSelected: boolean;
  readonly isDrained: boolean;
  /** Known to the southbound database and able to have tunnels to other clusters. */
  readonly isUsable: boolean;
  readonly isGone: boolean;
  /** When it last was seen to come up, in milliseconds of the same clock; undefined while it is not up. */
  readonly upSinceMs: number | undefined;
}
