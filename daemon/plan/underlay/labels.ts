/** State of the provider networks on this node → labels and annotations of its Node, which the controller reads. Pure. */
import { markedNetwork, providerNetworkKey, type ProviderNetworkKey } from '../../../lib/api/names.ts';
import type { NetworkReport } from '../../model/provider-network.ts';

/** Part of a merge patch; null removes a key. */
export interface NodeMarks {
  readonly labels: Readonly<Record<string, string | null>>;
  readonly annotations: Readonly<Record<string, string | null>>;
}

const labelKeys: readonly ProviderNetworkKey[] = ['ready', 'interface', 'mtu', 'vlan_interfaces'];
const annotationKeys: readonly ProviderNetworkKey[] = ['err_mesg', 'plan'];
const longestLabel = 63;

export interface ObservedMarks {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * The difference to the Node; undefined if there is none. Keys of networks that are neither reported nor `pending` are removed.
 */
export function planNodeMarks(
  reports: readonly NetworkReport[],
  pending: ReadonlySet<string>,
  observed: ObservedMarks,
): NodeMarks | undefined {
  const labels = difference(observed.labels, labelKeys, pending, reports, labelsOf);
  const annotations = difference(observed.annotations, annotationKeys, pending, reports, annotationsOf);
  if (Object.keys(labels).length + Object.keys(annotations).length === 0) return undefined;
  return { labels, annotations };
}

type Values = Partial<Record<ProviderNetworkKey, string>>;

function labelsOf({ isReady, nic }: NetworkReport): Values {
  return {
    ready: String(isReady),
    ...(nic === undefined ? {} : { interface: labelSafe(nic.name), mtu: String(nic.mtu) }),
  };
}

function annotationsOf({ problem, plan }: NetworkReport): Values {
  return {
    ...(problem === undefined ? {} : { err_mesg: `${problem.code}: ${problem.message}` }),
    ...(plan === undefined ? {} : { plan }),
  };
}

function difference(
  observed: Readonly<Record<string, string>>,
  keys: readonly ProviderNetworkKey[],
  pending: ReadonlySet<string>,
  reports: readonly NetworkReport[],
  valuesOf: (report: NetworkReport) => Values,
): Record<string, string | null> {
  const wanted = new Map(
    reports.flatMap((report) =>
      Object.entries(valuesOf(report)).map(
        ([key, value]) => [providerNetworkKey(report.network, key as ProviderNetworkKey), value] as const,
      ),
    ),
  );
  const stale = Object.keys(observed).filter((key) => {
    const network = markedNetwork(key);
    const isOurs = network !== undefined && keys.some((one) => providerNetworkKey(network, one) === key);
    return isOurs && !pending.has(network) && !wanted.has(key);
  });
  return Object.fromEntries([
    ...[...wanted].filter(([key, value]) => observed[key] !== value),
    ...stale.map((key) => [key, null] as const),
  ]);
}

/** Interface names may have characters that labels must not have. */
function labelSafe(name: string): string {
  return name
    .replaceAll(/[^A-Za-z0-9._-]/g, '_')
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
    .slice(0, longestLabel);
}
