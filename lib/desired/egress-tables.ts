/** Subnets with externalEgressGateway: which of two has the routing table that both name. */
import { unlessRefused } from './rights.ts';

/** Why the controller refuses such a gateway: reasons of the Subnet's condition Validated. */
export const egressInvalid = 'EgressGatewayInvalid';
/** Another subnet has the table. */
export const egressConflict = 'EgressTableConflict';

/** How good the right of a Subnet to its table is, by its conditions; for `byRight`. */
export const egressRight = unlessRefused(new Set([egressInvalid, egressConflict]));
