/** Which kinds are watched, and how each becomes a value of `state/`. */
import { reflect } from '../../lib/kube/reflector.ts';
import { ips, namespaces, nodes, pods, subnets, transitSwitches, vpcs } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Kinds } from '../state/cluster.ts';
import { parseIp, parseNamespace, parseNode, parsePod, parseSubnet, parseTransitSwitch, parseVpc } from './parse.ts';

export interface WatchOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly onChange: <K extends keyof Kinds>(kind: K, key: string, after: Kinds[K] | undefined) => void;
}

/** Starts all watches; resolves once everything that is there was delivered. */
export async function openWatches({ client, signal, log, onChange }: WatchOptions): Promise<void> {
  const reflectors: Reflector<unknown>[] = [];
  const watch = <K extends keyof Kinds>(kind: K, resource: Resource, parse: (raw: RawObject) => Kinds[K]): void => {
    const reflector = reflect({ client, resource, parse, signal, log });
    reflector.subscribe(({ key, after }) => onChange(kind, key, after));
    reflectors.push(reflector);
  };
  watch('vpcs', vpcs, parseVpc);
  watch('subnets', subnets, parseSubnet);
  watch('nodes', nodes, parseNode);
  watch('namespaces', namespaces, parseNamespace);
  watch('pods', pods, parsePod);
  watch('ips', ips, parseIp);
  watch('transitSwitches', transitSwitches, parseTransitSwitch);
  await Promise.all(reflectors.map(({ synced }) => synced));
}
