/** Transit switches that this cluster takes part in, with the state of its own end of each path. Immutable values. */
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Port } from './messages.ts';
import type { LocalVpc } from './local.ts';

export type AnchorPhase = 'settled' | 'draining' | 'moving';

/** This cluster's end of one path. */
export interface OwnPath {
  readonly index: number;
  readonly switch: string;
  readonly cidrs: readonly string[];
  readonly tunnelKey: number;
  readonly port: Port;
  /** Chassis that may hold the port, in their order; the first is the anchor. Empty: none may. */
  readonly order: readonly string[];
  /** Chassis that holds it; empty while none does. */
  readonly holder: string;
  readonly phase: AnchorPhase;
  /** It will be gone soon. */
  readonly isRetiring: boolean;
}

export interface OwnNetwork {
  readonly name: string;
  readonly vpc: LocalVpc;
  readonly cidrs: readonly Cidr[];
  readonly definedBy: string;
  /** In the order of their indexes. */
  readonly paths: readonly OwnPath[];
}

/** The state of this cluster's end of a path. */
export interface EndState {
  readonly index: number;
  readonly order: readonly string[];
  readonly holder: string;
  readonly phase: AnchorPhase;
}

/** The ends of one network by index of the path. */
export type Ends = ReadonlyMap<number, EndState>;
