/** The gateways of another cluster that tunnels may lead to. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { EncryptionMode, Gateway } from '../model/messages.ts';

export interface AcceptedGateways {
  readonly gateways: readonly Gateway[];
  /** Chassis of the others → why this cluster cannot take them. */
  readonly refused: ReadonlyMap<string, Problem>;
  /** Of the pair of clusters. */
  readonly mode: EncryptionMode;
  /** Chassis of those that have their address within encrypted tunnels. */
  readonly encrypted: ReadonlySet<string>;
}
