/** The ports of OVN at which the backends of a SwitchLBRule or RouterLBRule are, for health checks. */
import { annotation } from '../../../lib/api/names.ts';
import { parseIp, type Ip } from '../../../lib/net/ip.ts';
import type { Endpoint } from '../../../lib/services/service.ts';
import type { LbRule } from '../../model/objects.ts';
import type { CheckedPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { slicesOf } from './frontends.ts';

export interface PortReading {
  /** By address. */
  readonly checked: Readonly<Record<string, CheckedPort>>;
  /** Ports whose addresses the answer depends on. */
  readonly ports: readonly string[];
}

/** The pod of a port `<pod>.<namespace>` or `<pod>.<namespace>.<attachment>`. */
function podOfPort(view: View, port: string): string | undefined {
  const parts = port.split('.');
  for (let end = 1; end < parts.length; end += 1) {
    const pod = `${parts[end]}/${parts.slice(0, end).join('.')}`;
    if (view.ports(`pod/${pod}`).some((held) => held.port === port)) return pod;
  }
  return undefined;
}

function portOfPod(view: View, pod: string, address: string): CheckedPort | undefined {
  const held = view.ports(`pod/${pod}`).find(({ allocation: { v4, v6 } }) => v4 === address || v6 === address);
  return held && { port: held.port, subnet: held.allocation.subnet, pod };
}

/** The owner of an address in a subnet of the VPC. */
function ownerOf(
  view: View,
  vpc: string,
  { family, value }: Ip,
): { readonly port: string; readonly subnet: string } | undefined {
  for (const subnet of view.indexes.subnetsByVpc.of(vpc)) {
    const port = view.pool(subnet)?.pool(family)?.owner(value);
    if (port !== undefined) return { port, subnet };
  }
  return undefined;
}

export function wantsHealthChecks({ annotations }: LbRule): boolean {
  return annotations[annotation.healthCheck] !== 'false';
}

/** Backends with a port that OVN can check: pods of the VPC. */
export function checkedPorts(view: View, rule: LbRule, key: string, vpc: string): PortReading {
  const checked: Record<string, CheckedPort> = {};
  const ports: string[] = [];
  const isChecked = wantsHealthChecks(rule) && rule.spec.ports.some(({ protocol }) => protocol !== 'SCTP');
  const endpoints = isChecked ? slicesOf(view, key).flatMap((slice) => slice.endpoints) : [];
  const inOrder = endpoints.toSorted((a: Endpoint, b: Endpoint) => (a.address < b.address ? -1 : 1));
  for (const { address, pod } of inOrder) {
    const ip = parseIp(address);
    const owner = pod === undefined && ip !== undefined ? ownerOf(view, vpc, ip) : undefined;
    if (owner !== undefined) ports.push(owner.port);
    const of = pod ?? (owner && podOfPort(view, owner.port));
    const port = of === undefined ? undefined : portOfPod(view, of, address);
    if (port !== undefined && view.verdicts.get(port.subnet)?.vpc === vpc) checked[address] = port;
  }
  return { checked, ports };
}
