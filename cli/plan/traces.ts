/** A Node → what Isthmus wrote on it and nobody takes away once it is uninstalled. Pure. */
import { annotation, leftReason, markedNetwork } from '../../lib/api/names.ts';

/** Of a Node. */
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
  /** Whether NetworkUnavailable is what a daemon said that has left. */
  readonly hasCondition: boolean;
}

/** Written by controller and daemon; what a person writes to be heeded by them stays. */
const written: ReadonlySet<string> = new Set([
  annotation.allocated,
  annotation.ipAddress,
  annotation.macAddress,
  annotation.cidr,
  annotation.gateway,
  annotation.logicalSwitch,
  annotation.portName,
  annotation.chassis,
  annotation.leave,
]);
const marks: ReadonlySet<string> = new Set(['ready', 'interface', 'mtu', 'vlan_interfaces', 'err_mesg', 'plan']);

/** Undefined where there are none. */
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
