/**
 * Creates the test pods of `ic verify --pods` in one cluster, waits for them, and removes all of it. In: a client. Out: pods that run, or why one does
 * not. Rule: a Namespace is deleted only if both its label and its name say that a test made it.
 */
import { annotation, label } from '../../lib/api/names.ts';
import { KubeApiError, orAbsent } from '../../lib/kube/errors.ts';
import { fieldsOf, recordsOf, textOf } from '../../lib/kube/fields.ts';
import { namespaces, objectPath, pods, serviceExports } from '../../lib/kube/resources.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { CommandFailed } from '../command/failure.ts';
import type { TestNetwork, TestPod, TestRole } from '../model/test-traffic.ts';
import { namespaceManifest, podManifest, testRoles } from '../plan/traffic/manifests.ts';
import { testNamespacePrefix } from '../plan/traffic/networks.ts';
import { parsePod } from '../watch/installation-objects.ts';
import type { TestClient, TestSite } from './test-site.ts';
import { waitFor, type Patience } from './wait.ts';

/** @throws KubeApiError, or CommandFailed if a Namespace of that name belongs to somebody else */
export async function createPods(site: TestSite, network: TestNetwork, signal: AbortSignal): Promise<void> {
  const { client, cluster, run } = site;
  const end = network.ends.find((one) => one.cluster === cluster);
  if (end === undefined) return;
  try {
    await client.create(namespaces, namespaceManifest(network, run), { signal });
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.status !== 409) throw error;
    const found = await orAbsent(client.get(namespaces, { name: network.namespace }, { signal }));
    const message =
      found?.metadata.labels?.[label.verification] === undefined
        ? `there is a Namespace ${network.namespace} in ${cluster} that no test made: delete or rename it`
        : `another run of isthmus ic verify made the Namespace ${network.namespace} in ${cluster} just now: wait for its end`;
    throw new CommandFailed({ code: 'NamespaceTaken', message });
  }
  for (const role of testRoles) await createPod(client, podManifest(network, end, role, run), signal);
}

/** Retries while the ServiceAccount of the new Namespace is missing: its controller makes it in a moment. */
async function createPod(client: TestClient, manifest: object, signal: AbortSignal): Promise<void> {
  const attempt = async (): Promise<true | KubeApiError | undefined> => {
    try {
      await client.create(pods, manifest, { signal });
      return true;
    } catch (error) {
      if (!(error instanceof KubeApiError)) throw error;
      return error.status === 403 && error.message.includes('serviceaccount') ? undefined : error;
    }
  };
  const { value } = await waitFor(attempt, { timeoutMs: accountMs, signal });
  if (value instanceof KubeApiError) throw value;
  if (value === undefined)
    throw new CommandFailed({
      code: 'NoServiceAccount',
      message: `the Namespace got no ServiceAccount default within ${accountMs / 1000} s: does kube-controller-manager run?`,
    });
}
const accountMs = 15_000;

/** Why a pod does not run, as evidence. */
export interface PodFailure {
  readonly cluster: string;
  readonly network: TestNetwork;
  readonly role: TestRole;
  readonly why: string;
}

/** Waits until the pods of a network run in a cluster. */
export async function untilRunning(
  { client, cluster }: TestSite,
  network: TestNetwork,
  patience: Patience,
): Promise<{ readonly pods: readonly TestPod[]; readonly failures: readonly PodFailure[] }> {
  const { namespace } = network;
  let last: readonly RawObject[] = [];
  await waitFor(async () => {
    last = await client.list(pods, { namespace, labelSelector: label.verification, signal: patience.signal });
    return last.filter(isRunning).length === testRoles.length || last.some(isHopeless) ? true : undefined;
  }, patience);
  const found = testRoles.map((role) => ({ role, raw: last.find(({ metadata }) => metadata.name === role) }));
  return {
    pods: found.flatMap(({ role, raw }) =>
      raw !== undefined && isRunning(raw)
        ? [{ name: role, namespace, cluster, node: parsePod(raw).node, addresses: addressesOf(raw) }]
        : [],
    ),
    failures: found.flatMap(({ role, raw }) =>
      raw !== undefined && isRunning(raw) ? [] : [{ cluster, network, role, why: whyNotRunning(raw) }],
    ),
  };
}

function addressesOf(raw: RawObject): readonly string[] {
  return recordsOf(fieldsOf(raw['status'])['podIPs']).map(({ ip }) => textOf(ip));
}

function isRunning(raw: RawObject): boolean {
  return parsePod(raw).isReady && addressesOf(raw).length > 0;
}

/** The network refused the pod for good, or the pod has ended. */
function isHopeless(raw: RawObject): boolean {
  const { phase } = (raw['status'] ?? {}) as { readonly phase?: string };
  return phase === 'Failed' || phase === 'Succeeded' || (raw.metadata.annotations?.[annotation.problem] ?? '') !== '';
}

function whyNotRunning(raw: RawObject | undefined): string {
  if (raw === undefined) return 'somebody deleted it';
  const problem = raw.metadata.annotations?.[annotation.problem] ?? '';
  const { node, why } = parsePod(raw);
  return `on ${node}: ${problem === '' ? why : problem}; kubectl -n ${raw.metadata.namespace ?? ''} describe pod ${raw.metadata.name} has more while it runs`;
}

/** Names of the Namespaces that tests of earlier runs left in a cluster. */
export async function leftoversIn({ client }: TestSite, signal: AbortSignal): Promise<readonly string[]> {
  const found = await client.list(namespaces, { labelSelector: label.verification, signal });
  return found.map(({ metadata }) => metadata.name).filter((name) => name.startsWith(testNamespacePrefix));
}

export interface Removal extends Patience {
  /** Only what this run made; undefined: what any run made. */
  readonly runId?: string;
}

/** Deletes a Namespace of a test with all that is in it, and waits for its end. @returns whether it is gone */
export async function removeNamespace({ client }: TestSite, name: string, removal: Removal): Promise<boolean> {
  const { signal, runId } = removal;
  const isOurs = async (): Promise<RawObject | undefined> => {
    const found = await orAbsent(client.get(namespaces, { name }, { signal }));
    const madeBy = found?.metadata.labels?.[label.verification];
    return madeBy === undefined || (runId !== undefined && madeBy !== runId) ? undefined : found;
  };
  const found = await isOurs();
  if (found === undefined || !name.startsWith(testNamespacePrefix)) return true;
  // The exports first: other clusters lose the Services before their pods end.
  for (const { metadata } of await exportsIn(client, name, signal))
    await client.delete(serviceExports, { namespace: name, name: metadata.name }, { signal });
  for (const { metadata } of await client.list(pods, { namespace: name, labelSelector: label.verification, signal })) {
    const path = objectPath(pods, { namespace: name, name: metadata.name });
    // Without a grace period: the program needs no shutdown, and an unreachable kubelet would delay the deletion indefinitely.
    await orAbsent(client.request('DELETE', path, { gracePeriodSeconds: 0 }, { signal }));
  }
  await client.delete(namespaces, { name }, { uid: found.metadata.uid, signal });
  const { value } = await waitFor(async () => ((await isOurs()) === undefined ? true : undefined), removal);
  return value === true;
}

/** None without the permission to read them, which --pods alone does not need: they end with their Namespace. */
async function exportsIn(client: TestClient, namespace: string, signal: AbortSignal): Promise<readonly RawObject[]> {
  try {
    return (await orAbsent(client.list(serviceExports, { namespace, signal }))) ?? [];
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 403) return [];
    throw error;
  }
}
