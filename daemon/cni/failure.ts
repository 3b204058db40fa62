/** Turns the errors of an attachment's steps into CniErrors that name the pod, the cause and what to do. */
import { LinkExists } from '../host/pod-links.ts';
import { isOwnNetns, NetnsError, openNetns, type Netns } from '../host/netns.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { PortRefused, type PortStage } from '../apply/sandbox-ports.ts';
import type { Sandbox } from '../model/sandbox.ts';
import { CniError, errorCode } from './error.ts';

const netnsCode = {
  // This code tells the runtime that the sandbox is gone and needs no DEL.
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

/** @throws CniError 8 if the path is the network namespace of the node, which is no sandbox */
export function refuseOwnNetns(path: string): void {
  if (isOwnNetns(path))
    throw new CniError(errorCode.ownNetns, `CNI_NETNS: ${path} is the network namespace of the node itself`);
}

/** Unexpected errors are returned as they are. */
export function explainFailure(error: unknown, sandbox: Sandbox, signal: AbortSignal): unknown {
  const pod = describe(sandbox);
  if (error instanceof CniError) return error;
  if (error instanceof LinkExists)
    return new CniError(errorCode.interfaceExists, `${pod}: ${error.message}`, undefined, { cause: error });
  if (error instanceof PortRefused)
    return new CniError(errorCode.portRefused, `${pod}: ${error.message}`, undefined, { cause: error });
  if (error instanceof NetlinkError)
    return new CniError(errorCode.internal, `${pod}: the kernel refused ${error.message}`, undefined, { cause: error });
  if (error instanceof Error && 'syscall' in error)
    return new CniError(errorCode.internal, `${pod}: ${error.message}`, undefined, { cause: error });
  if (signal.aborted)
    return new CniError(errorCode.tryAgainLater, `${pod}: the request was abandoned`, String(signal.reason));
  return error;
}

/** The error for a port that was not ready in time; it names the program that has not done its part. */
export function explainTimeout(stage: PortStage, sandbox: Sandbox, controllerSockets: string): CniError {
  const { hostInterface } = sandbox;
  const [what, advice] = {
    database: [
      `the local Open vSwitch database did not accept port ${hostInterface} in time`,
      'look at ovsdb-server on this node',
    ],
    switch: [`ovs-vswitchd did not attach port ${hostInterface} in time`, 'look at ovs-vswitchd on this node'],
    controller: [
      `ovn-controller did not install port ${hostInterface} in time`,
      `ovn-controller must run on this node and be connected to the southbound database: ovn-appctl -t ${controllerSockets}/ovn-controller.<pid>.ctl connection-status`,
    ],
    guard: [
      `ovs-vswitchd did not install the flows that guard port ${hostInterface} in time`,
      'the bridge br-int of ovs-vswitchd must have its socket beside that of the local database: look at the log of ovs-vswitchd on this node',
    ],
  }[stage];
  return new CniError(errorCode.tryAgainLater, `${describe(sandbox)}: ${what}`, advice);
}

function describe({ podNamespace, podName }: Sandbox): string {
  return `pod ${podNamespace}/${podName}`;
}

export function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}
