/** Which kinds are watched, and how each becomes a value of `model/objects.ts`. */
import { reflect } from '../../lib/kube/reflector.ts';
import {
  bgpNodeStates,
  ipPools,
  ips,
  namespaces,
  networkAttachmentDefinitions,
  nodes,
  pods,
  providerNetworks,
  remoteClusters,
  securityGroups,
  serviceCidrs,
  statefulSets,
  subnets,
  transitSwitches,
  vips,
  virtualMachineInstances,
  virtualMachines,
  vlans,
  vpcs,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Kinds } from '../model/objects.ts';
import { parseIp, parseIpPool, parseVip } from './addresses.ts';
import { parseBgpNodeState } from './bgp.ts';
import {
  parseRemoteCluster,
  parseSecurityGroup,
  parseServiceCidr,
  parseSubnet,
  parseTransitSwitch,
  parseVpc,
} from './networks.ts';
import { parseProviderNetwork, parseVlan } from './underlay.ts';
import {
  parseAttachment,
  parseNamespace,
  parseNode,
  parsePod,
  parseStatefulSet,
  parseVirtualMachine,
} from './workloads.ts';

export interface WatchOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly onChange: <K extends keyof Kinds>(kind: K, key: string, after: Kinds[K] | undefined) => void;
}

/** Starts all watches; resolves once everything that is there was delivered. */
export async function openWatches({ client, signal, log, onChange }: WatchOptions): Promise<void> {
  const reflectors: Reflector<unknown>[] = [];
  const watch = <K extends keyof Kinds>(
    kind: K,
    resource: Resource,
    parse: (raw: RawObject) => Kinds[K],
    { optional }: { readonly optional: boolean } = { optional: false },
  ): void => {
    const reflector = reflect({ client, resource, parse, signal, log, optional });
    reflector.subscribe(({ key, after }) => onChange(kind, key, after));
    reflectors.push(reflector);
  };
  watch('vpcs', vpcs, parseVpc);
  watch('subnets', subnets, parseSubnet);
  watch('vlans', vlans, parseVlan);
  watch('providerNetworks', providerNetworks, parseProviderNetwork);
  watch('nodes', nodes, parseNode);
  watch('namespaces', namespaces, parseNamespace);
  watch('pods', pods, parsePod);
  watch('ips', ips, parseIp);
  watch('ipPools', ipPools, parseIpPool);
  watch('vips', vips, parseVip);
  watch('securityGroups', securityGroups, parseSecurityGroup);
  watch('statefulSets', statefulSets, parseStatefulSet);
  // Of other projects: clusters without them are served as well.
  watch('attachments', networkAttachmentDefinitions, parseAttachment, { optional: true });
  watch('virtualMachines', virtualMachines, parseVirtualMachine, { optional: true });
  watch('virtualMachineInstances', virtualMachineInstances, parseVirtualMachine, { optional: true });
  watch('transitSwitches', transitSwitches, parseTransitSwitch);
  // Where there is no interconnect nobody needs the kind.
  watch('remoteClusters', remoteClusters, parseRemoteCluster, { optional: true });
  // Where there is no speaker nobody needs the kind.
  watch('bgpNodeStates', bgpNodeStates, parseBgpNodeState, { optional: true });
  // From Kubernetes 1.33 on.
  watch('serviceCidrs', serviceCidrs, parseServiceCidr, { optional: true });
  await Promise.all(reflectors.map(({ synced }) => synced));
}
