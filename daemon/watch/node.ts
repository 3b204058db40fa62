/** Parses the Node of this daemon. */
import { z } from 'zod';
import { annotation, markedNetwork } from '../../lib/api/names.ts';
import type { RawObject, Reflector } from '../../lib/kube/types.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import { type NodeCondition, type Node, networkUnavailable } from '../model/node.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';
import { parseInterfaceNetwork, splitList } from './address.ts';

const shape = z.looseObject({
  spec: z.looseObject({ taints: z.array(z.looseObject({ key: z.string() })).optional() }).optional(),
  status: z
    .looseObject({
      addresses: z.array(z.looseObject({ type: z.string(), address: z.string() })).optional(),
      conditions: z
        .array(
          z.looseObject({
            type: z.string(),
            status: z.enum(['True', 'False', 'Unknown']),
            reason: z.string().optional(),
            message: z.string().optional(),
            lastTransitionTime: z.string().nullish(),
          }),
        )
        .optional(),
    })
    .optional(),
});

/** The cluster autoscaler drains nodes with this taint, and deletes them. */
const autoscalerTaint = 'ToBeDeletedByClusterAutoscaler';

export function parseNode(raw: RawObject): Node {
  const { metadata } = raw;
  const { spec, status } = shape.safeParse(raw).data ?? {};
  const annotations = metadata.annotations ?? {};
  const addresses = (status?.addresses ?? []).filter(
    ({ type, address }) => type === 'InternalIP' && parseIp(address) !== undefined,
  );
  return {
    name: metadata.name,
    uid: metadata.uid,
    network: parseInterfaceNetwork(annotations),
    internalIps: addresses.map(({ address }) => address),
    serviceAddresses: splitList(annotations[annotation.serviceAddress]).flatMap((text) => {
      const ip = parseIp(text);
      return ip === undefined ? [] : [formatIp(ip)];
    }),
    labels: metadata.labels ?? {},
    networkNotes: Object.fromEntries(Object.entries(annotations).filter(([key]) => markedNetwork(key) !== undefined)),
    chassis: annotations[annotation.chassis],
    servicesDryRun: annotations[annotation.servicesDryRun],
    leave: annotations[annotation.leave],
    unavailable: parseCondition(status?.conditions?.find(({ type }) => type === networkUnavailable)),
    isToBeDeleted:
      metadata.deletionTimestamp !== undefined || (spec?.taints ?? []).some(({ key }) => key === autoscalerTaint),
  };
}

/** Resolves with the Node as soon as its kubelet has registered it. @throws the signal's reason */
export function untilRegistered(
  nodes: Pick<Reflector<Node>, 'get' | 'subscribe'>,
  name: string,
  signal: AbortSignal,
): Promise<Node> {
  return waitUntil([(check) => nodes.subscribe(check)], () => nodes.get(name), signal);
}

function parseCondition(
  raw:
    | {
        readonly status: NodeCondition['status'];
        readonly reason?: string | undefined;
        readonly message?: string | undefined;
        readonly lastTransitionTime?: string | null | undefined;
      }
    | undefined,
): NodeCondition | undefined {
  if (raw === undefined) return undefined;
  return {
    status: raw.status,
    reason: raw.reason ?? '',
    message: raw.message ?? '',
    lastTransitionTime: raw.lastTransitionTime ?? '',
  };
}
