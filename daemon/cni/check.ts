/** CHECK of one attachment: compares the pod with the result of ADD and changes nothing. */
import type { Netns } from '../host/netns.ts';
import type { PodLinks } from '../host/pod-links.ts';
import type { SandboxPorts } from '../apply/sandbox-ports.ts';
import { findAttachmentFault } from '../plan/attachment-check.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { PreviousResult } from './configuration.ts';
import { CniError, errorCode } from './error.ts';

export interface CheckParts {
  readonly links: Pick<PodLinks, 'inspect' | 'inspectHost'>;
  readonly ports: Pick<SandboxPorts, 'findFault'>;
}

/** @throws CniError 104 with the first difference */
export async function checkAttachment(
  { links, ports }: CheckParts,
  sandbox: Sandbox,
  kept: PreviousResult,
  netns: Netns,
): Promise<void> {
  const pod = await links.inspect(sandbox.ifname, netns);
  const host = await links.inspectHost(sandbox.hostInterface);
  const fault = findAttachmentFault(sandbox, kept, { pod, host, portFault: ports.findFault(sandbox) });
  if (fault === undefined) return;
  throw new CniError(
    errorCode.attachmentBroken,
    `pod ${sandbox.podNamespace}/${sandbox.podName}: ${fault}`,
    'delete the pod; its replacement gets a new attachment',
  );
}
