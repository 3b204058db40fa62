/**
 * Reads the policies of the whole cluster. In: a client of the API. Out: a ClusterReading. Rule: a kind that is not served has no objects, and one that the user may
 * not read is part of the value.
 * @throws KubeUnreachable, KubeApiError, or the signal's reason
 */
import { conditionsOf } from '../../lib/api/conditions.ts';
import { mostNodeAddresses } from '../../lib/api/names.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { fieldsOf, recordsOf, textOf } from '../../lib/kube/fields.ts';
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  nodes,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import { isClosedPassReported } from '../../lib/policies/closed-pass.ts';
import type { LabelledNode } from '../../lib/policies/judge-cluster.ts';
import { parseAdminRules, parseBaselineRules, parseClusterRules } from '../../lib/policies/parse-cluster.ts';
import type { AnyPolicy, ClusterRules } from '../../lib/policies/policy.ts';
import type { ClusterReading } from '../model/policy-reading.ts';
import type { Unreadable } from '../model/snapshot.ts';
import { parseServedKinds } from './fact-objects.ts';
import { readPortNumbers } from './port-numbers.ts';

type Client = Pick<KubeClient, 'list' | 'request'>;

const kinds: readonly (readonly [resource: Resource, parse: (raw: RawObject) => ClusterRules])[] = [
  [clusterNetworkPolicies, parseClusterRules],
  [adminNetworkPolicies, parseAdminRules],
  [baselineAdminNetworkPolicies, parseBaselineRules],
];

/** @param own the NetworkPolicies of the question, whose rules may have named ports */
export async function readClusterPolicies(
  client: Client,
  signal: AbortSignal,
  own: readonly AnyPolicy[],
): Promise<ClusterReading> {
  const unread: Unreadable[] = [];
  const list = async (resource: Resource): Promise<readonly RawObject[]> => {
    try {
      return await client.list(resource, { signal });
    } catch (error) {
      if (!(error instanceof KubeApiError) || (error.status !== 404 && error.status !== 403)) throw error;
      if (error.status === 403 && (await isServed(client, resource, signal))) unread.push(unreadable(resource, error));
      return [];
    }
  };
  const lists = await Promise.all(
    kinds.map(async ([resource, parse]) => ({ resource, parse, raws: await list(resource) })),
  );
  const policies = lists.flatMap(({ resource, parse, raws }) =>
    raws.map((raw) => [`${resource.kind}/${raw.metadata.name}`, { ...parse(raw), createdMs: createdMs(raw) }] as const),
  );
  const hasNodes = policies.some(([, { egress = [] }]) => egress.some((rule) => rule.nodes.length > 0));
  const conditions = lists.flatMap(({ raws }) => raws.flatMap(conditionsIn));
  const reported = lists.flatMap(({ resource, raws }) => raws.flatMap((raw) => reportOf(resource, raw)));
  const all = [...policies.map(([, policy]) => policy), ...own];
  const { numbers, unread: unreadPods } = await readPortNumbers(client, all, signal);
  unread.push(...unreadPods);
  return {
    cluster: {
      policies: new Map(policies),
      numbers,
      nodes: hasNodes ? (await list(nodes)).map(parseLabelledNode) : [],
      isPassClosed: isClosedPassReported(conditions),
    },
    reported: new Map(reported),
    unread,
  };
}

/** An API server refuses to list what the user has no right to, also where it does not serve the kind. Discovery is open to all users. */
async function isServed(client: Client, { group, version, kind }: Resource, signal: AbortSignal): Promise<boolean> {
  if (group === '') return true;
  try {
    const answer = await client.request('GET', `/apis/${group}/${version}`, undefined, { signal });
    return parseServedKinds(answer).includes(kind);
  } catch (error) {
    if (!(error instanceof KubeApiError) || (error.status !== 404 && error.status !== 403)) throw error;
    return error.status === 403;
  }
}

function unreadable({ plural }: Resource, { message }: KubeApiError): Unreadable {
  const sentence = `no permission to read ${plural} (${message}); what they decide is not part of this answer`;
  return { code: 'Forbidden', what: plural, message: sentence };
}

function conditionsIn(raw: RawObject): readonly Condition[] {
  return conditionsOf(fieldsOf(raw['status']));
}

/** What keeps a policy from being in force as it is written, as the controller says. */
function reportOf({ kind }: Resource, raw: RawObject): readonly (readonly [name: string, message: string])[] {
  const { message = '' } = conditionsIn(raw).find(({ type, status }) => type === 'Ready' && status === 'False') ?? {};
  return message === '' ? [] : [[`${kind}/${raw.metadata.name}`, printable(message)]];
}

/** Anybody who may edit an object may write a text that the terminal takes for its own. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?');
}

function createdMs({ metadata: { creationTimestamp = '' } }: RawObject): number {
  return Date.parse(creationTimestamp) || 0;
}

/** With the addresses that a rule about nodes names. */
export function parseLabelledNode({ metadata: { labels = {} }, ...raw }: RawObject): LabelledNode {
  const reported = recordsOf(fieldsOf(raw['status'])['addresses']);
  const addressesOf = (wanted: string): readonly string[] => {
    const ips = reported.flatMap(({ type, address }) => (type === wanted ? (parseIp(textOf(address)) ?? []) : []));
    return [...new Set(ips.map(formatIp))].slice(0, mostNodeAddresses);
  };
  return { labels, addresses: [...addressesOf('InternalIP'), ...addressesOf('ExternalIP')] };
}
