/**
 * Reads the pods and NetworkPolicies of a namespace. In: a client of the API, the name of the namespace. Out: a NamespaceReading.
 * @throws CommandFailed if the namespace does not exist; KubeUnreachable, KubeApiError, or the timeout's TimeoutError
 */
import { fieldsOf } from '../../lib/kube/fields.ts';
import { keyOf, namespaces, networkPolicies, nodes, pods } from '../../lib/kube/resources.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { parsePolicyRules } from '../../lib/policies/parse.ts';
import { durationMs, type Terminal } from '../command/command.ts';
import type { ClusterReading, NamespaceReading, OwnedPod } from '../model/policy-reading.ts';
import { readClusterPolicies } from './cluster-policies.ts';
import { type ClusterFlags, withCluster } from './cluster.ts';
import { missing } from './missing.ts';
import { parsePod } from './network-policy.ts';
import { findObject } from './workload.ts';

export function readNamespacePolicies(
  name: string,
  flags: ClusterFlags,
  terminal: Terminal,
): Promise<NamespaceReading> {
  return withCluster(flags, terminal, async ({ client }) => {
    const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
    const namespace = await findObject(client, namespaces, { name }, signal);
    if (namespace === undefined) throw missing('namespace', { name });
    const [podObjects, policyObjects] = await Promise.all([
      client.list(pods, { namespace: name, signal }),
      client.list(networkPolicies, { namespace: name, signal }),
    ]);
    const parsed = parseNamespace(namespace, podObjects, policyObjects);
    const { cluster, reported, unread } = await readClusterPolicies(client, signal, [...parsed.policies.values()]);
    // Links do not go by the addresses of nodes.
    return { ...parsed, cluster, reported, unread: unread.filter(({ what }) => what !== nodes.plural) };
  });
}

export function parseNamespace(
  { metadata: { name, labels = {} } }: RawObject,
  podObjects: readonly RawObject[],
  policyObjects: readonly RawObject[],
): Omit<NamespaceReading, keyof ClusterReading> {
  const found: OwnedPod[] = [];
  const leftOut = { hostNetwork: 0, withoutAddress: 0 };
  for (const raw of podObjects) {
    if (isFinished(raw)) continue;
    const { pod, sources: addresses } = parsePod(raw, labels, undefined);
    if (pod === undefined) leftOut.hostNetwork += 1;
    else if (addresses.length === 0) leftOut.withoutAddress += 1;
    else found.push({ name: raw.metadata.name, owner: ownerOf(raw), pod, addresses });
  }
  const policies = new Map(policyObjects.map((one) => [keyOf(one.metadata), parsePolicyRules(one)]));
  return { namespace: name, pods: found, policies, leftOut };
}

function isFinished(raw: RawObject): boolean {
  const { phase } = fieldsOf(raw['status']);
  return phase === 'Succeeded' || phase === 'Failed';
}

/** A Deployment makes its pods through a ReplicaSet, whose name ends with a hash that the pods have as a label. */
export function ownerOf({ metadata: { labels = {}, ownerReferences = [] } }: RawObject): OwnedPod['owner'] {
  const { kind = '', name = '' } = ownerReferences.find(({ controller }) => controller === true) ?? {};
  // A static pod belongs to its node, as all others there do.
  if (name === '' || kind === 'Node') return undefined;
  const end = `-${labels['pod-template-hash'] ?? ''}`;
  const isOfDeployment = kind === 'ReplicaSet' && end !== '-' && name.endsWith(end);
  return isOfDeployment ? { kind: 'Deployment', name: name.slice(0, -end.length) } : { kind, name };
}
