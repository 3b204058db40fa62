/** Finds on Nodes and Services what Isthmus wrote and what no program removes after an uninstallation. Pure. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { annotation, leftReason, markedNetwork, nodeAnnotations, servedCondition } from '../../lib/api/names.ts';
import { loadBalancerClass, loadBalancerCleanup, loadBalancerReady } from '../../lib/services/load-balancer.ts';
import type { Service } from '../../lib/services/service.ts';

/** The parts of a Node that Isthmus writes to. */
export interface Marked {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly status?: unknown;
}

export interface Traces {
  readonly node: string;
  readonly annotations: readonly string[];
  readonly labels: readonly string[];
  /** Whether the condition NetworkUnavailable comes from a daemon that has left. */
  readonly hasCondition: boolean;
}

/** Written by controller and daemon; annotations and labels that a user sets for them are kept. */
const written: ReadonlySet<string> = new Set([...nodeAnnotations, annotation.servicesDryRun, annotation.leave]);
const marks: ReadonlySet<string> = new Set(['ready', 'interface', 'mtu', 'vlan_interfaces', 'err_mesg', 'plan']);

/** Undefined if there are no traces. */
export function findTraces({ metadata, status }: Marked): Traces | undefined {
  const isMark = (key: string): boolean => markedNetwork(key) !== undefined && marks.has(key.split('/')[1] ?? '');
  const annotations = Object.keys(metadata.annotations ?? {}).filter((key) => written.has(key) || isMark(key));
  const labels = Object.keys(metadata.labels ?? {}).filter((key) => isMark(key));
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly reason?: string }[];
  };
  const hasCondition = conditions.some(({ type, reason }) => type === 'NetworkUnavailable' && reason === leftReason);
  if (annotations.length + labels.length === 0 && !hasCondition) return undefined;
  return { node: metadata.name, annotations, labels, hasCondition };
}

export interface ServiceTraces {
  readonly service: { readonly namespace: string; readonly name: string };
  /** Of the version that was read. */
  readonly resourceVersion: string;
  /** The other finalizers; undefined if none is to be removed. */
  readonly finalizers: readonly string[] | undefined;
  readonly annotations: readonly string[];
  /** The conditions of other programs; undefined if none is to be removed. */
  readonly conditions: readonly Condition[] | undefined;
}

/** Undefined if there are no traces. The finalizer has the same name for all programs: it is of Isthmus if the condition or the class is. */
export function findServiceTraces(service: Service): ServiceTraces | undefined {
  const { namespace, name, resourceVersion } = service;
  const isOurs =
    service.conditions.some(({ type }) => type === loadBalancerReady) ||
    service.loadBalancerClass === loadBalancerClass;
  const others = service.finalizers.filter((one) => one !== loadBalancerCleanup);
  const finalizers = isOurs && others.length < service.finalizers.length ? others : undefined;
  const annotations = annotation.elsewhere in service.annotations ? [annotation.elsewhere] : [];
  const kept = service.conditions.filter(({ type }) => type !== loadBalancerReady && type !== servedCondition);
  const conditions = kept.length < service.conditions.length ? kept : undefined;
  if (finalizers === undefined && annotations.length === 0 && conditions === undefined) return undefined;
  return { service: { namespace, name }, resourceVersion, finalizers, annotations, conditions };
}
