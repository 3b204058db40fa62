/**
 * Reads which numbers pods give the named ports of policies, because rules contain a limited number of them. In: a client of the API, policies. Out: PortNumbers.
 * Rule: pods are read only where a rule has a named port.
 * @throws KubeUnreachable, KubeApiError, or the signal's reason
 */
import { KubeApiError } from '../../lib/kube/errors.ts';
import { fieldsOf } from '../../lib/kube/fields.ts';
import { pods } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { noNumbers, portNumbersOf, type PortNumbers } from '../../lib/policies/numbers.ts';
import { namedPortsOf } from '../../lib/policies/parse.ts';
import type { AnyPolicy, PolicyRule } from '../../lib/policies/policy.ts';
import { destinationsOf, namedKeys, policyDirections } from '../../lib/policies/selection.ts';
import type { Unreadable } from '../model/snapshot.ts';

export async function readPortNumbers(
  client: Pick<KubeClient, 'list'>,
  policies: Iterable<AnyPolicy>,
  signal: AbortSignal,
): Promise<{ readonly numbers: PortNumbers; readonly unread: readonly Unreadable[] }> {
  const places = new Set([...policies].flatMap(placesOf));
  if (places.size === 0) return { numbers: noNumbers, unread: [] };
  try {
    const lists = places.has(undefined)
      ? [await client.list(pods, { signal })]
      : await Promise.all([...places].map((namespace = '') => client.list(pods, { namespace, signal })));
    return { numbers: portNumbersOf(lists.flat().flatMap(servedPorts)), unread: [] };
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.status !== 403) throw error;
    const message = `no permission to read pods (${error.message}); whether they give a named port of a rule too many numbers is not part of this answer`;
    return { numbers: noNumbers, unread: [{ code: 'Forbidden', what: pods.plural, message }] };
  }
}

/** The namespaces of the destinations of rules with named ports; undefined for all of them. */
function placesOf(policy: AnyPolicy): readonly (string | undefined)[] {
  return policyDirections.flatMap((direction) => {
    const rules: readonly PolicyRule[] = policy[direction] ?? [];
    const namespace = destinationsOf(policy, direction);
    return rules.some((rule) => namedKeys(rule, namespace).length > 0) ? [namespace] : [];
  });
}

/** The ports of a pod that has the network of the cluster now. */
export function servedPorts({ metadata, ...raw }: RawObject) {
  const spec = fieldsOf(raw['spec']);
  const { phase } = fieldsOf(raw['status']);
  const isFinished = phase === 'Succeeded' || phase === 'Failed';
  if (isFinished || spec['hostNetwork'] === true || typeof spec['nodeName'] !== 'string') return [];
  return [{ namespace: metadata.namespace ?? '', namedPorts: namedPortsOf(spec) }];
}
