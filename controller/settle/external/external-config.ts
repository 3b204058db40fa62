/** Kube-OVN's ConfigMap about the default VPC's way out: what it stands for, and what of it is not served. Pure. */
import { defaultVpc, externalConfig, externalSubnet, routerSwitchPort } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { ExternalConfig, OvnFip } from '../../model/external-objects.ts';
import type { Vpc } from '../../model/objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';

const none: ReadonlySet<string> = new Set();

const key = `${externalConfig.namespace}/${externalConfig.name}`;

export function externalConfigOf({ externalConfigs }: Pick<View, 'externalConfigs'>): ExternalConfig | undefined {
  return externalConfigs.get(key);
}

export function isExternal(view: Pick<View, 'externalConfigs'>, { name, spec }: Vpc): boolean {
  return spec.enableExternal || (name === defaultVpc && externalConfigOf(view)?.isEnabled === true);
}

/** Nodes that may hold a VPC's ports outside without the label. */
export function configuredNodes(view: Pick<View, 'externalConfigs'>, vpc: string): ReadonlySet<string> {
  const config = vpc === defaultVpc ? externalConfigOf(view) : undefined;
  return config?.isEnabled === true ? config.nodes : none;
}

/** Whether two texts are the same address; a text that is none is another one. */
function isSame(a: string, b: string): boolean {
  const [first, second] = [parseIp(a), parseIp(b)];
  return first !== undefined && second !== undefined && formatIp(first) === formatIp(second);
}

function familyOf(text: string): Family {
  return parseIp(text)?.family ?? 4;
}

/** Whether the node of the pod translates. */
export function isDistributed(view: Pick<View, 'externalConfigs'>, { spec }: OvnFip): boolean {
  return (spec.type || (externalConfigOf(view)?.type ?? '')) === 'distributed';
}

/** What of the ConfigMap is not served: as problems of the default Vpc, which has conditions. */
export function configProblems(view: View): readonly Problem[] {
  const config = externalConfigOf(view);
  if (config === undefined) return [];
  const { isEnabled, unread, gateways, ips, mac } = config;
  const problem = (code: string, text: string): Problem => ({ code, message: `ConfigMap ${key}: ${text}` });
  const problems = unread.map((text) =>
    problem('NotSupported', `${text} is no setting that Isthmus reads: correct or remove it`),
  );
  if (!isEnabled) return problems;
  const net = servedNet(view, externalSubnet);
  for (const gateway of gateways) {
    const part = familyOf(gateway) === 4 ? net?.v4 : net?.v6;
    if (part !== undefined && !isSame(gateway, gatewayIp(part)))
      problems.push(
        problem(
          'GatewayMismatch',
          `external-gw-addr is ${gateway}, but the gateway of Subnet ${externalSubnet} is ${gatewayIp(part)}, which is the next hop: correct one of them`,
        ),
      );
  }
  const name = routerSwitchPort(defaultVpc, externalSubnet);
  const allocation = view.allocation(eipPort(name));
  const mismatch = (field: string, wanted: string, has: string): void => {
    problems.push(
      problem(
        'AddressMismatch',
        `${field} is ${wanted}, but the router has ${has}: remove it, or create OvnEip ${name} of type lrp with that address while the port is disabled`,
      ),
    );
  };
  for (const ip of ips) {
    const has = familyOf(ip) === 4 ? allocation?.v4 : allocation?.v6;
    if (has !== undefined && !isSame(ip, has)) mismatch('nic-ip', ip, has);
  }
  if (mac !== '' && allocation !== undefined && mac !== allocation.mac) mismatch('nic-mac', mac, allocation.mac);
  return problems;
}
