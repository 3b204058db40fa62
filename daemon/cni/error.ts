/**
 * A CNI error: what the runtime prints to its user. Those below 100 are codes of the specification and of its reference
 * runtime, 100 and above are ours (listed in daemon/README.md).
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
  /** STATUS: ADD cannot work, and pods that are there suffer as well. */
  limited: 51,
  /** A defect or an unforeseen answer of the kernel or Open vSwitch; the daemon's log has the details. */
  internal: 100,
  /** The sandbox has an interface of that name already. */
  interfaceExists: 101,
  /** The local Open vSwitch refused the port. */
  portRefused: 102,
  /** The pod's own annotations are wrong: it will not start before they are mended. */
  podRefused: 103,
  /** CHECK found that the pod has no longer what ADD gave it. */
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

/** The JSON a runtime expects on stdout; the same shape in all versions. */
export function renderError(cniVersion: string, error: CniError): string {
  const body = {
    cniVersion,
    code: error.code,
    msg: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
  };
  return `${JSON.stringify(body)}\n`;
}
