/** What `helm install` left in a cluster, as immutable values: workloads, their pods, nodes, the first subnets. Made by `watch/`, judged by `plan/installation`. */
import type { Condition } from '../../lib/api/kinds/shared.ts';

export interface Rollout {
  readonly kind: 'DaemonSet' | 'Deployment' | 'StatefulSet';
  readonly name: string;
  /** Label app.kubernetes.io/name, which its pods have as well. */
  readonly component: string;
  /** Whether the status is about the newest spec. */
  readonly isObserved: boolean;
  readonly desired: number;
  /** Of the newest template; undefined where old pods stay until somebody deletes them (OnDelete). */
  readonly updated: number | undefined;
  /** Of the newest template and of former ones. */
  readonly total: number;
  readonly ready: number;
  /** Why pods cannot even be made. */
  readonly obstacle: string | undefined;
  readonly nodeSelector: Readonly<Record<string, string>>;
}

export interface RolloutPod {
  readonly name: string;
  readonly component: string;
  /** Empty while it has none. */
  readonly node: string;
  readonly isReady: boolean;
  readonly isEnding: boolean;
  /** What keeps it from being ready. */
  readonly why: string;
  /** Every start passes through it. */
  readonly isPassing: boolean;
  /** Of its containers: the name in the pod's spec, and what the node has by it. Those that have not started are left out. */
  readonly images: readonly { readonly name: string; readonly id: string }[];
}

export interface NodeReport {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly conditions: readonly Condition[];
}

export interface SubnetReport {
  readonly name: string;
  readonly conditions: readonly Condition[];
}

export interface Installation {
  /** Name of the context. */
  readonly label: string;
  readonly namespace: string;
  readonly rollouts: readonly Rollout[];
  readonly pods: readonly RolloutPod[];
  readonly nodes: readonly NodeReport[];
  readonly subnets: readonly SubnetReport[];
}

/** An object that an installation still lacks. */
export interface Missing {
  /** `DaemonSet isthmus-daemon`. */
  readonly object: string;
  readonly why: string;
  /** Every start passes through it: told at the end only. */
  readonly isPassing: boolean;
}
