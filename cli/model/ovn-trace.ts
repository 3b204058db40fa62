/** What `ovn-trace` says about the packets of a connection. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Family } from '../../lib/net/ip.ts';

export interface FamilyTrace {
  readonly family: Family;
  /** The first packet, as ovn-trace takes it. */
  readonly packet: string;
  /** What ovn-trace printed. */
  readonly text: string;
}

/** Where the rows of OVN were asked, and what they do. */
export interface OvnTrace {
  /** `pod kube-system/isthmus-ovn-central-x7k2p`, or the remote of a database. */
  readonly where: string;
  /** The port of each end; undefined for one that is no pod. */
  readonly ports: { readonly from: string | undefined; readonly to: string | undefined };
  readonly families: readonly FamilyTrace[];
}

/** OVN was asked, or why it was not. */
export type TraceReading = { readonly trace: OvnTrace } | { readonly untraced: Problem };
