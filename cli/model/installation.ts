/**
 * The objects of `helm install` in a cluster, as immutable values: workloads, their pods, nodes, the first subnets. Created by `watch/`, judged by
 * `plan/installation`.
 */
import type { Condition } from '../../lib/api/kinds/shared.ts';

export interface Rollout {
  readonly kind: 'DaemonSet' | 'Deployment' | 'StatefulSet';
  readonly name: string;
  /** Label app.kubernetes.io/name, which its pods also have. */
  readonly component: string;
  /** Whether the status is for the newest spec. */
  readonly isObserved: boolean;
  readonly desired: number;
  /** Pods of the newest template; undefined if old pods stay until they are deleted (OnDelete). */
  readonly updated: number | undefined;
  /** Pods of the newest template and of former templates. */
  readonly total: number;
  readonly ready: number;
  /** The reason why pods cannot be created. */
  readonly obstacle: string | undefined;
  readonly nodeSelector: Readonly<Record<string, string>>;
}

export interface RolloutPod {
  readonly name: string;
  readonly component: string;
  /** Name of the node; empty until the pod is scheduled. */
  readonly node: string;
  readonly isReady: boolean;
  readonly isEnding: boolean;
  /** The reason why the pod is not ready. */
  readonly why: string;
  /** Whether the reason is normal during every start. */
  readonly isPassing: boolean;
  /** For each container, the image name in the pod's spec and the image id on the node. Containers that have not started are omitted. */
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

/** An object that the installation still lacks. */
export interface Missing {
  /** Such as `DaemonSet isthmus-daemon`. */
  readonly object: string;
  readonly why: string;
  /** Whether the cause is normal during every start: reported only at the end. */
  readonly isPassing: boolean;
}
