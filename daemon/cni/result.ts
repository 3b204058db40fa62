/** Renders a finished attachment as result JSON, in the version that the runtime asked for. */
import type { PreviousResult } from './configuration.ts';
import { hasSince, supportedVersions, type CniVersion } from './protocol.ts';
import { familyOf } from '../../lib/net/ip.ts';

export interface Attachment {
  readonly hostInterface: { readonly name: string; readonly mac: string };
  readonly podInterface: { readonly name: string; readonly mac: string; readonly netns: string };
  /** MTU of both ends in bytes. */
  readonly mtu: number;
  /** One per family: `10.16.0.5/16` and its gateway. */
  readonly addresses: readonly { readonly address: string; readonly gateway: string | undefined }[];
  readonly routes: readonly { readonly destination: string; readonly gateway: string }[];
}

/** The entries of `prevResult` come first, which shifts the indexes of our interfaces. */
export function renderResult(cniVersion: CniVersion, attachment: Attachment, prevResult?: PreviousResult): string {
  const before = prevResult?.interfaces ?? [];
  const podIndex = before.length + 1;
  const { hostInterface, podInterface } = attachment;
  const mtu = hasSince(cniVersion, '1.1.0') ? { mtu: attachment.mtu } : {};
  const result = {
    cniVersion,
    interfaces: [
      ...before,
      { name: hostInterface.name, mac: hostInterface.mac, ...mtu },
      { name: podInterface.name, mac: podInterface.mac, ...mtu, sandbox: podInterface.netns },
    ],
    ips: [...(prevResult?.ips ?? []), ...attachment.addresses.map((ip) => renderIp(cniVersion, ip, podIndex))],
    routes: [
      ...(prevResult?.routes ?? []),
      ...attachment.routes.map(({ destination, gateway }) => ({ dst: destination, gw: gateway })),
    ],
    dns: prevResult?.dns ?? {},
  };
  return `${JSON.stringify(result)}\n`;
}

function renderIp(cniVersion: CniVersion, ip: Attachment['addresses'][number], podIndex: number): object {
  const body = {
    interface: podIndex,
    address: ip.address,
    ...(ip.gateway === undefined ? {} : { gateway: ip.gateway }),
  };
  // `version` is required up to 0.4 and does not exist since 1.0.
  return hasSince(cniVersion, '1.0.0') ? body : { version: String(familyOf(ip.address)), ...body };
}

export function renderVersion(cniVersion: string): string {
  return `${JSON.stringify({ cniVersion, supportedVersions })}\n`;
}
