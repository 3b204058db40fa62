/** Finds on a Node what Isthmus wrote and what no program removes after an uninstallation. Pure. */
import { annotation, leftReason, markedNetwork } from '../../lib/api/names.ts';

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
const written: ReadonlySet<string> = new Set([
  annotation.allocated,
  annotation.ipAddress,
  annotation.macAddress,
  annotation.cidr,
  annotation.gateway,
  annotation.logicalSwitch,
  annotation.portName,
  annotation.chassis,
  annotation.serviceAddress,
  annotation.servicesDryRun,
  annotation.leave,
]);
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
