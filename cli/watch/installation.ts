/**
 * Reads and follows the objects of `helm install`. In: a client. Out: an Installation, now or after each change. If the kind Subnet is not served
 * yet, there are no subnets. @throws KubeUnreachable, KubeApiError if an object may not be read, because then the state is not known
 */
import { orAbsent } from '../../lib/kube/errors.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { daemonSets, deployments, nodes, pods, statefulSets, subnets } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import type { Installation } from '../model/installation.ts';
import * as parse from './installation-objects.ts';

export interface InstallationOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly label: string;
  readonly signal: AbortSignal;
}

const ofIsthmus = 'app.kubernetes.io/part-of=isthmus';
/** CustomResourceDefinitions may be created while a command waits for them. */
const absentMs = 1000;

export async function readInstallation({
  client,
  namespace,
  label,
  signal,
}: InstallationOptions): Promise<Installation> {
  const own = { namespace, labelSelector: ofIsthmus, signal };
  const [daemons, deployed, stateful, running, machines, networks] = await Promise.all([
    client.list(daemonSets, own),
    client.list(deployments, own),
    client.list(statefulSets, own),
    client.list(pods, own),
    client.list(nodes, { signal }),
    orAbsent(client.list(subnets, { signal })),
  ]);
  return inOrder({
    label,
    namespace,
    rollouts: [
      ...daemons.map(parse.parseDaemonSet),
      ...deployed.map(parse.parseDeployment),
      ...stateful.map(parse.parseStatefulSet),
    ],
    pods: running.map(parse.parsePod),
    nodes: machines.map(parse.parseReport),
    subnets: (networks ?? []).map(parse.parseReport),
  });
}

export interface Follower {
  readonly synced: Promise<unknown>;
  current(): Installation;
  /** Resolves after a change since the last call or after the next change; rejects with the signal's reason. */
  changed(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

export function followInstallation({ client, namespace, label, signal }: InstallationOptions): Follower {
  let isChanged = false;
  let wake: (() => void) | undefined;
  const all: Reflector<unknown>[] = [];
  const follow = <T>(resource: Resource, parseOne: (raw: RawObject) => T, isOwn: boolean): Reflector<T> => {
    const selection = isOwn ? { namespace, labelSelector: ofIsthmus } : {};
    const timing = { absentMs };
    const reflector = reflect({ client, resource, parse: parseOne, signal, optional: true, timing, ...selection });
    reflector.subscribe(() => {
      isChanged = true;
      wake?.();
    });
    all.push(reflector);
    return reflector;
  };
  const daemons = follow(daemonSets, parse.parseDaemonSet, true);
  const deployed = follow(deployments, parse.parseDeployment, true);
  const stateful = follow(statefulSets, parse.parseStatefulSet, true);
  const running = follow(pods, parse.parsePod, true);
  const machines = follow(nodes, parse.parseReport, false);
  const networks = follow(subnets, parse.parseReport, false);
  const valuesOf = <T>(reflector: Reflector<T>): T[] => [...reflector.entries()].map(([, value]) => value);
  return {
    synced: Promise.all(all.map((reflector) => reflector.synced)),
    current: () =>
      inOrder({
        label,
        namespace,
        rollouts: [...valuesOf(daemons), ...valuesOf(deployed), ...valuesOf(stateful)],
        pods: valuesOf(running),
        nodes: valuesOf(machines),
        subnets: valuesOf(networks),
      }),
    changed: async (until) => {
      if (!isChanged) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const end = (): void => reject(until.reason as Error);
        wake = resolve;
        until.addEventListener('abort', end, { once: true });
        if (until.aborted) end();
        try {
          await promise;
        } finally {
          wake = undefined;
          until.removeEventListener('abort', end);
        }
      }
      isChanged = false;
    },
    stop: async () => void (await Promise.all(all.map((reflector) => reflector.stop()))),
  };
}

function inOrder(installation: Installation): Installation {
  const byName = <T extends { readonly name: string }>(all: readonly T[]): readonly T[] =>
    all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    ...installation,
    rollouts: byName(installation.rollouts),
    pods: byName(installation.pods),
    nodes: byName(installation.nodes),
    subnets: byName(installation.subnets),
  };
}
