/** CHECK of one attachment: whether the pod still has what ADD gave it. Nothing is changed. */
import type { Netns } from '../host/netns.ts';
import type { PodLinks } from '../host/pod-links.ts';
import type { SandboxPorts } from '../ovs/sandbox-ports.ts';
import type { Sandbox } from '../state/facts.ts';
import { CniError, errorCode } from './error.ts';

export interface CheckParts {
  readonly links: Pick<PodLinks, 'inspect'>;
  readonly ports: Pick<SandboxPorts, 'findFault'>;
}

/** @throws CniError 104 with the first thing that is not as it was */
export async function checkAttachment({ links, ports }: CheckParts, sandbox: Sandbox, netns: Netns): Promise<void> {
  const { ifname, mac, ips } = sandbox;
  const refuse = (what: string): CniError =>
    new CniError(
      errorCode.attachmentBroken,
      `pod ${sandbox.podNamespace}/${sandbox.podName}: ${what}`,
      'delete the pod, so that it is attached anew',
    );
  const link = await links.inspect(ifname, netns);
  if (link === undefined) throw refuse(`interface ${ifname} is gone`);
  if (!link.isUp) throw refuse(`interface ${ifname} is down`);
  if (link.mac !== mac) throw refuse(`interface ${ifname} has MAC address ${link.mac}, not ${mac}`);
  const missing = ips.find((ip) => !link.addresses.includes(ip));
  if (missing !== undefined) throw refuse(`interface ${ifname} has lost address ${missing}`);
  const fault = ports.findFault(sandbox);
  if (fault !== undefined) throw refuse(fault);
}
