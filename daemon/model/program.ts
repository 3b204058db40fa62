/** The programs of OVN and Open vSwitch on this node, and their answers on the control sockets. */

export type Program = 'ovs-vswitchd' | 'ovn-controller';

/**
 * Outcome of one question. `refused`: there is a socket, but no process listens. `silent`: no answer in time. `missing`:
 * the folder has no such socket. `unreachable`: there is no such folder here, or it may not be read.
 */
export type Answer = 'answered' | 'refused' | 'silent' | 'missing' | 'unreachable';

/** Milliseconds from one question to the next. */
export const periodMs = 2000;

/** A program that is down, and the folder of its control socket. */
export interface DownProgram {
  readonly program: Program;
  readonly folder: string;
}
