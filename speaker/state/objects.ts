// The speaker's view of the cluster: values as watch/ parsed them, keyed by name, and nothing else. plan/ reads them, watch/ makes them.
// Addresses and prefixes in here are in canonical text, so that equal means equal.
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { BgpAdvertisementSpec, BgpInstanceSpec, BgpPeerSpec } from '../../lib/api/kinds/bgp.ts';
import type { Problem } from '../../lib/desired/problem.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Node {
  readonly name: string;
  readonly labels: Labels;
  /** The node's InternalIPs. */
  readonly addresses: readonly string[];
}

/** What objects of our own kinds have in common; a spec that cannot be used is a problem. */
interface BgpObject<Spec, Status> {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** RFC 3339, orders objects by age. */
  readonly createdAt: string;
  readonly labels: Labels;
  readonly spec: { readonly value: Spec } | { readonly problem: Problem };
  readonly status: Status;
}

export interface NodeSession {
  readonly node: string;
  readonly state: string;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
  readonly advertised?: number;
}

export interface NodeInstance {
  readonly node: string;
  readonly ready: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly routerID?: string;
  readonly daemonVersion?: string;
}

export type BgpInstance = BgpObject<
  BgpInstanceSpec,
  { readonly nodes: readonly NodeInstance[]; readonly conditions: readonly Condition[] }
>;
export type BgpPeer = BgpObject<
  BgpPeerSpec,
  { readonly nodes: readonly NodeSession[]; readonly conditions: readonly Condition[]; readonly established: string }
>;
export type BgpAdvertisement = BgpObject<
  BgpAdvertisementSpec,
  { readonly prefixes: readonly string[]; readonly conditions: readonly Condition[] }
>;

export interface Subnet {
  readonly name: string;
  readonly labels: Labels;
  readonly vpc: string;
  /** Of the networks in force; none where the controller accepted none. */
  readonly prefixes: readonly string[];
}

/** Texts by key; `missing` where there is no such Secret, `unread` before it was looked for. */
export type PasswordSecret = ReadonlyMap<string, string> | 'missing' | 'unread';

/** Everything the plan of one node depends on. */
export interface SpeakerState {
  readonly node: string;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly instances: ReadonlyMap<string, BgpInstance>;
  readonly peers: ReadonlyMap<string, BgpPeer>;
  readonly advertisements: ReadonlyMap<string, BgpAdvertisement>;
  readonly subnets: ReadonlyMap<string, Subnet>;
  /** All Secrets that this speaker may read, by name. */
  readonly secrets: ReadonlyMap<string, PasswordSecret>;
}
