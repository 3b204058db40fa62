/**
 * Reads one cluster. In: a client. Out: a Snapshot. Called by every command that judges a cluster. Objects that the
 * user may not read or that do not exist become part of the value; an API server that does not answer is an error.
 * @throws KubeUnreachable, KubeConfigError, KubeApiError if the user is not authenticated or Isthmus is not installed
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenClaims } from '../../lib/pki/join-token.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import {
  hubMembers,
  interconnectGateways,
  interconnects,
  leases,
  nodes,
  pods,
  routePolicies,
  secrets,
  subnets,
  transitSwitches,
  vpcs,
} from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import { parseRoutePolicy } from '../../lib/route-policy/parse.ts';
import { joinSliced, type SlicedView } from '../../lib/slices/slice.ts';
import { isProblem, type Lease, type Snapshot, type Unreadable } from '../model/snapshot.ts';
import * as parse from './objects.ts';
import { authoritySecret, identitySecret, readAuthority, readIdentity, readJoinToken } from './secrets.ts';

/** Name of the Interconnect that is in effect. */
export const canonicalName = 'default';
export const leaseName = 'isthmus-interconnect';

/** A leader renews its Lease every two seconds, and an attempt takes at most four. */
const freshMs = 8000;
const lookAgain = { times: 6, pauseMs: 600 };

export interface ReadOptions {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly namespace: string;
  /** Label of a cluster that has no name among the members. */
  readonly fallbackLabel: string;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export async function readSnapshot(options: ReadOptions): Promise<Snapshot> {
  const reader = new Reader(options);
  // Read first and alone: without permission for this object, or without its kind, there is nothing to read.
  const interconnect = await reader.interconnect();
  const tokenRef = tokenReference(interconnect);
  const lists = await Promise.all([
    reader.joined(parse.remoteClusterView),
    reader.list(transitSwitches, parse.parseTransitSwitch),
    reader.list(interconnectGateways, parse.parseGateway),
    reader.list(routePolicies, parseRoutePolicy),
    reader.list(hubMembers, parse.parseHubMember),
    reader.list(subnets, parse.parseSubnet),
    reader.list(vpcs, (raw) => raw.metadata.name),
    reader.list(nodes, parse.parseNode),
    reader.joined(parse.learnedView),
    reader.workloads(),
  ]);
  const [lease, identity, authority, token] = await Promise.all([
    reader.lease(),
    reader.get(secrets, identitySecret, readIdentity),
    reader.get(secrets, authoritySecret, readAuthority),
    reader.get(secrets, tokenRef.name, (raw) => readJoinToken(raw, tokenRef.key)),
  ]);
  const [remotes, switches, gateways, policies, members, networks, vpcNames, machines, learned, workloads] = lists;
  const parsed = interconnect === undefined ? undefined : parse.parseInterconnect(interconnect);
  return {
    label: labelOf(parsed, options.fallbackLabel),
    nowMs: options.nowMs,
    namespace: options.namespace,
    interconnect: parsed,
    remotes,
    transitSwitches: switches,
    gateways,
    policies,
    members,
    subnets: networks,
    vpcs: vpcNames,
    nodes: machines,
    learned: learned.flat(),
    lease,
    identity,
    token: token satisfies TokenClaims | Problem | undefined,
    authority: typeof authority === 'string' ? authority : undefined,
    workloads,
    unreadable: [
      ...reader.unreadable,
      ...(typeof authority === 'object' ? [{ ...authority, what: secrets.plural }] : []),
    ],
    probe: undefined,
    ovn: undefined,
  };
}

function labelOf(interconnect: Snapshot['interconnect'], fallback: string): string {
  return interconnect === undefined || isProblem(interconnect.spec) ? fallback : interconnect.spec.clusterName;
}

function tokenReference(raw: RawObject | undefined): { readonly name: string; readonly key: string } {
  const spec = (raw?.['spec'] ?? {}) as { tokenSecretRef?: { name?: string; key?: string } };
  return { name: spec.tokenSecretRef?.name ?? 'isthmus-interconnect-token', key: spec.tokenSecretRef?.key ?? 'token' };
}

class Reader {
  readonly unreadable: Unreadable[] = [];
  readonly #options: ReadOptions;

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  async interconnect(): Promise<RawObject | undefined> {
    const { client, signal } = this.#options;
    const all = await client.list(interconnects, { signal });
    return all.find(({ metadata }) => metadata.name === canonicalName);
  }

  async list<T>(resource: Resource, parseOne: (raw: RawObject) => T): Promise<readonly T[]> {
    const { client, signal } = this.#options;
    const raw = await this.#orUnreadable(resource, resource.plural, client.list(resource, { signal }));
    return (raw ?? []).toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).map(parseOne);
  }

  /** For an owner without readable slices, the entries of its status are used. */
  async joined<Entry, Merged, T>(view: SlicedView<Entry, Merged, T>): Promise<readonly T[]> {
    const [owners, slices] = await Promise.all([
      this.list(view.kind.owners, (raw) => raw),
      this.list(view.kind.slices, (raw) => raw),
    ]);
    return [...joinSliced(view, owners, slices).values()];
  }

  async workloads(): Promise<Snapshot['workloads']> {
    const { client, namespace, signal } = this.#options;
    const labelSelector = 'app.kubernetes.io/name in (isthmus-interconnect,isthmus-hub,isthmus-daemon)';
    const raw = await this.#orUnreadable(pods, 'pods', client.list(pods, { namespace, labelSelector, signal }));
    return (raw ?? []).map(parse.parseWorkload);
  }

  async get<T>(resource: Resource, name: string, parseOne: (raw: RawObject) => T): Promise<T | undefined> {
    const { client, namespace, signal } = this.#options;
    const what = `${resource.kind} ${namespace}/${name}`;
    const raw = await this.#orUnreadable(resource, what, client.get(resource, { namespace, name }, { signal }));
    return raw === undefined ? undefined : parseOne(raw);
  }

  /** A Lease with a suspicious time is observed for a while, because this machine's clock may be wrong. */
  async lease(): Promise<Lease | undefined> {
    const read = () => this.get(leases, leaseName, parse.parseLease);
    const first = await read();
    if (first === undefined || first.holder === '' || this.#isFresh(first)) return first;
    for (let attempt = 0; attempt < lookAgain.times; attempt += 1) {
      await sleep(lookAgain.pauseMs, undefined, { signal: this.#options.signal });
      const next = await read();
      if (next !== undefined && next.renewedMs !== first.renewedMs) return { ...next, movement: 'moving' };
    }
    return { ...first, movement: 'still' };
  }

  #isFresh({ renewedMs }: Lease): boolean {
    const ageMs = this.#options.nowMs - renewedMs;
    return ageMs <= freshMs && ageMs >= -freshMs;
  }

  /** A missing object is a valid result; a forbidden one is reported as unreadable. */
  async #orUnreadable<T>({ plural }: Resource, what: string, request: Promise<T>): Promise<T | undefined> {
    try {
      return await request;
    } catch (error) {
      if (!(error instanceof KubeApiError) || (error.status !== 404 && error.status !== 403)) throw error;
      if (error.status === 403)
        this.unreadable.push({
          code: 'Forbidden',
          what: plural,
          message: `no permission to read ${what} (${error.message}); what depends on it is left out`,
        });
      return undefined;
    }
  }
}
