/** Kube-OVN's ConfigMap about the default VPC's way out: what it stands for, and what of it is not served. Pure. */
import { defaultVpc, externalConfig, externalSubnet, routerSwitchPort } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { ExternalConfig, OvnFip } from '../../model/external-objects.ts';
import type { Vpc } from '../../model/objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';

const key = `${externalConfig.namespace}/${externalConfig.name}`;

export function externalConfigOf({ externalConfigs }: Pick<View, 'externalConfigs'>): ExternalConfig | undefined {
  return externalConfigs.get(key);
}

export function isExternal(view: Pick<View, 'externalConfigs'>, { name, spec }: Vpc): boolean {
  return spec.enableExternal || (name === defaultVpc && externalConfigOf(view)?.isEnabled === true);
}

/** Nodes that may hold a VPC's ports outside without the label. */
export function configuredNodes(view: Pick<View, 'externalConfigs'>, vpc: string): readonly string[] {
  const config = vpc === defaultVpc ? externalConfigOf(view) : undefined;
  return config?.isEnabled === true ? config.nodes : [];
}

/** Whether the node of the pod translates. */
export function isDistributed(view: Pick<View, 'externalConfigs'>, { spec }: OvnFip): boolean {
  return (spec.type || (externalConfigOf(view)?.type ?? '')) === 'distributed';
}

/** What of the ConfigMap is not served: as problems of the default Vpc, which has conditions. */
export function configProblems(view: View): readonly Problem[] {
  const config = externalConfigOf(view);
  if (config === undefined) return [];
  const { isEnabled, unread, gateway, ip, mac } = config;
  const problem = (code: string, text: string): Problem => ({ code, message: `ConfigMap ${key}: ${text}` });
  const problems = unread.map((text) =>
    problem('NotSupported', `${text} is no setting that Isthmus reads: correct or remove it`),
  );
  if (!isEnabled) return problems;
  const part = servedNet(view, externalSubnet)?.v4;
  if (part !== undefined && gateway !== '' && gateway !== gatewayIp(part))
    problems.push(
      problem(
        'GatewayMismatch',
        `external-gw-addr is ${gateway}, but the gateway of Subnet ${externalSubnet} is ${gatewayIp(part)}, which is the next hop: correct one of them`,
      ),
    );
  const name = routerSwitchPort(defaultVpc, externalSubnet);
  const allocation = view.allocation(eipPort(name));
  for (const [field, wanted, has] of [
    ['nic-ip', ip, allocation?.v4],
    ['nic-mac', mac, allocation?.mac],
  ] as const)
    if (wanted !== '' && has !== undefined && wanted !== has)
      problems.push(
        problem(
          'AddressMismatch',
          `${field} is ${wanted}, but the router has ${has}: remove it, or create OvnEip ${name} of type lrp with that address while the port is disabled`,
        ),
      );
  return problems;
}
