/** What the steps of an attachment throw → CniErrors that name the pod, the cause and what to do. */
import { LinkExists } from '../host/pod-links.ts';
import { isOwnNetns, NetnsError, openNetns, type Netns } from '../host/netns.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { PortRefused } from '../ovs/sandbox-ports.ts';
import type { Sandbox } from '../state/facts.ts';
import { CniError, errorCode } from './error.ts';

const netnsCode = {
  // It tells the runtime that no DEL is needed: the sandbox is gone.
  missing: errorCode.unknownContainer,
  foreign: errorCode.invalidEnvironment,
  own: errorCode.ownNetns,
} as const;

/** @throws CniError */
export function openSandboxNetns(path: string): Netns {
  try {
    return openNetns(path);
  } catch (error) {
    if (!(error instanceof NetnsError)) throw error;
    throw new CniError(netnsCode[error.code], `CNI_NETNS: ${error.message}`, undefined, { cause: error });
  }
}

/** @throws CniError 8 where a runtime takes the node itself for a sandbox */
export function refuseOwnNetns(path: string): void {
  if (isOwnNetns(path))
    throw new CniError(errorCode.ownNetns, `CNI_NETNS: ${path} is the network namespace of the node itself`);
}

/** Errors that nobody foresaw come back as they are. */
export function explainFailure(
  error: unknown,
  sandbox: Sandbox,
  signal: AbortSignal,
  controllerSockets: string,
): unknown {
  const pod = `pod ${sandbox.podNamespace}/${sandbox.podName}`;
  if (error instanceof LinkExists)
    return new CniError(errorCode.interfaceExists, `${pod}: ${error.message}`, undefined, { cause: error });
  if (error instanceof PortRefused)
    return new CniError(errorCode.portRefused, `${pod}: ${error.message}`, undefined, { cause: error });
  if (error instanceof NetlinkError)
    return new CniError(errorCode.internal, `${pod}: the kernel refused ${error.message}`, undefined, { cause: error });
  if (error instanceof Error && 'syscall' in error)
    return new CniError(errorCode.internal, `${pod}: ${error.message}`, undefined, { cause: error });
  if (signal.aborted)
    return new CniError(errorCode.tryAgainLater, `${pod}: the request was given up`, String(signal.reason));
  if (isTimeout(error)) {
    const message = `${pod}: ovn-controller did not install port ${sandbox.hostInterface} in time`;
    return new CniError(
      errorCode.tryAgainLater,
      message,
      `ovn-controller must run on this node and be connected to the southbound database: ovn-appctl -t ${controllerSockets}/ovn-controller.<pid>.ctl connection-status`,
      { cause: error },
    );
  }
  return error;
}

export function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}
