/** The ServiceImport of an import, and the conditions of a ServiceExport. Pure: the time comes by parameter. */
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { conditionsOf, setCondition } from '../../../lib/api/conditions.ts';
import type { Delivery } from '../../model/export-exchange.ts';
import { importsOfAgent, type ServiceExportObject } from '../../model/service-objects.ts';
import type { ImportState } from '../../settle/services/imports.ts';
import type { Conflict } from '../../settle/services/merge.ts';
import type { Surroundings } from '../../settle/services/surroundings.ts';
import type { OwnExport } from '../../settle/services/valid-exports.ts';

export interface ImportBody {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Keys and values that the API server takes: an export with another would otherwise keep the whole import from being written. */
const metadataKey =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Fields that are absent are not named in the spec. */
export function importBody({ merged, ips }: ImportState): ImportBody {
  const { type, ports, affinitySeconds, isInternalPolicyLocal, trafficDistribution, ipFamilies } = merged;
  const labels = Object.entries(merged.labels).filter(
    ([key, value]) => metadataKey.test(key) && labelValue.test(value),
  );
  const annotations = Object.entries(merged.annotations).filter(([key]) => metadataKey.test(key));
  return {
    labels: { ...Object.fromEntries(labels), ...importsOfAgent },
    annotations: Object.fromEntries(annotations),
    spec: {
      type,
      ports: ports.map(({ name, protocol, port, appProtocol }) => ({
        ...(name === '' ? {} : { name }),
        protocol,
        ...(appProtocol === '' ? {} : { appProtocol }),
        port,
      })),
      ...(ips.length === 0 ? {} : { ips }),
      sessionAffinity: affinitySeconds > 0 ? 'ClientIP' : 'None',
      ...(affinitySeconds > 0 ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: affinitySeconds } } } : {}),
      ipFamilies: ipFamilies.map((family) => `IPv${family}`),
      internalTrafficPolicy: isInternalPolicyLocal ? 'Local' : 'Cluster',
      ...(trafficDistribution === '' ? {} : { trafficDistribution }),
    },
  };
}

/** `clients`: which pods of this cluster reach imports; `before`: the status of the object. */
export function importStatus(
  state: ImportState,
  clients: Pick<Surroundings, 'obstacle' | 'leftOut'>,
  before: Readonly<Record<string, unknown>>,
  generation: number,
  nowIso: string,
): Readonly<Record<string, unknown>> {
  const condition = { type: 'Ready', ...readyOf(state, clients), observedGeneration: generation };
  return {
    clusters: state.merged.clusters.map((cluster) => ({ cluster })),
    endpointSliceObjects: 'Present',
    conditions: setCondition(conditionsOf(before), condition, nowIso),
  };
}

/** Subnets that a message names at most. */
const named = 5;

function readyOf(
  { merged, problem }: ImportState,
  { obstacle, leftOut }: Pick<Surroundings, 'obstacle' | 'leftOut'>,
): Pick<Condition, 'status' | 'reason' | 'message'> {
  const isHeadless = merged.type === 'Headless';
  // Clients of a headless Service connect to the addresses of pods.
  const found = problem ?? (isHeadless ? undefined : obstacle);
  if (found !== undefined) return { status: 'False', reason: found.code, message: found.message };
  if (!merged.isInternalPolicyLocal || isHeadless) {
    const endpoints = 'its endpoints are those of all clusters that a path leads to';
    const rest = leftOut.length > named ? ` and ${leftOut.length - named} more` : '';
    const list = leftOut.slice(0, named).join(', ');
    const without = `; pods of Subnets without load balancers (spec.enableLb) do not reach it: ${list}${rest}`;
    return { status: 'True', reason: 'Ready', message: isHeadless || list === '' ? endpoints : endpoints + without };
  }
  const message =
    'internalTrafficPolicy Local is not implemented for imports, so that connections are rejected: set Cluster in the exported Services';
  return { status: 'False', reason: 'InternalTrafficPolicyNotSupported', message };
}

/** The conditions of an export in a cluster that is not a member: nothing is known of it. */
export function idleConditions({ conditions, generation }: ServiceExportObject, nowIso: string): readonly Condition[] {
  const message = 'this cluster is not a member: it has no Interconnect';
  const ready = { ...readyToExport({ kind: 'pending', message }), observedGeneration: generation };
  return setCondition(
    conditions.filter(({ type }) => type !== 'Conflict' && type !== 'Valid'),
    ready,
    nowIso,
  );
}

/** Conditions of other types stay. */
export function exportConditions(
  { object, invalid }: Pick<OwnExport, 'object' | 'invalid'>,
  conflict: Conflict | undefined,
  delivery: Delivery,
  nowIso: string,
): readonly Condition[] {
  const verdicts =
    invalid === undefined
      ? [
          { type: 'Valid', status: 'True', reason: 'Valid', message: '' },
          readyToExport(delivery),
          conflict === undefined
            ? { type: 'Conflict', status: 'False', reason: 'NoConflicts', message: '' }
            : { type: 'Conflict', status: 'True', ...conflict },
        ]
      : [
          { type: 'Valid', status: 'False', reason: invalid.code, message: invalid.message },
          { type: 'Ready', status: 'False', reason: 'Failed', message: 'the export is not valid' },
        ];
  const kept = object.conditions.filter(({ type }) => invalid === undefined || type !== 'Conflict');
  let list: readonly Condition[] = kept.length === object.conditions.length ? object.conditions : kept;
  for (const verdict of verdicts)
    list = setCondition(list, { ...verdict, observedGeneration: object.generation } as Condition, nowIso);
  return list;
}

function readyToExport(delivery: Delivery): Pick<Condition, 'type' | 'status' | 'reason' | 'message'> {
  if (delivery.kind === 'delivered')
    return { type: 'Ready', status: 'True', reason: 'Exported', message: delivery.message };
  if (delivery.kind === 'refused')
    return { type: 'Ready', status: 'False', reason: 'Failed', message: delivery.problem.message };
  return { type: 'Ready', status: 'False', reason: 'Pending', message: delivery.message };
}
