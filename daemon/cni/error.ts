/**
 * CNI errors, which the runtime shows to its user. Codes below 100 belong to the specification and its reference runtime; codes from 100
 * are ours and are listed in daemon/README.md.
 */
export const errorCode = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  invalidEnvironment: 4,
  io: 5,
  decode: 6,
  invalidConfig: 7,
  /** CNI_NETNS is the network namespace of the node itself. */
  ownNetns: 8,
  tryAgainLater: 11,
  /** STATUS: ADD cannot work. */
  notAvailable: 50,
  /** STATUS: ADD cannot work, and existing pods are affected as well. */
  limited: 51,
  /** A defect, or an unexpected answer of the kernel or Open vSwitch; the log of the daemon has the details. */
  internal: 100,
  /** The sandbox already has an interface of that name. */
  interfaceExists: 101,
  /** The local Open vSwitch refused the port. */
  portRefused: 102,
  /** The annotations of the pod are wrong: it cannot start before they are corrected. */
  podRefused: 103,
  /** CHECK found that the pod no longer has what ADD gave it. */
  attachmentBroken: 104,
} as const;

export type ErrorCode = (typeof errorCode)[keyof typeof errorCode];

export class CniError extends Error {
  readonly code: ErrorCode;
  readonly details: string | undefined;

  constructor(code: ErrorCode, message: string, details?: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

/** The JSON that runtimes expect on stdout; its shape is the same in all versions. */
export function renderError(cniVersion: string, error: CniError): string {
  const body = {
    cniVersion,
    code: error.code,
    msg: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
  };
  return `${JSON.stringify(body)}\n`;
}
