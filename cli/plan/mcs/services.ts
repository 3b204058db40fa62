/** Exported and imported Services in one value. In: SharedServices. Out: what `ic services` shows and prints as JSON. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { conditionOf } from '../../model/snapshot.ts';
import type { ImportReading, SharedServices } from '../../model/shared-services.ts';
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { clusterSetZone, judgeDns, type DnsVerdict } from './dns.ts';

export interface ShownExport {
  readonly service: string;
  readonly state: 'exported' | 'pending' | 'refused' | 'invalid' | 'conflict';
  readonly message: string;
  readonly conditions: readonly Condition[];
}

export interface ShownSource {
  readonly cluster: string;
  readonly ready: number;
  readonly endpoints: number;
  /** Of the paths to it, such as `2/2`; empty for this cluster. */
  readonly pathsUp: string;
}

export interface ShownImport {
  readonly service: string;
  readonly type: string;
  readonly ips: readonly string[];
  readonly ports: readonly string[];
  readonly isReady: boolean;
  /** Why it is not ready; empty if it is. */
  readonly message: string;
  readonly sources: readonly ShownSource[];
  readonly readyEndpoints: number;
  readonly dnsName: string;
  readonly conditions: readonly Condition[];
}

export interface Shared {
  readonly cluster: string;
  readonly exports: readonly ShownExport[];
  readonly imports: readonly ShownImport[];
  readonly names: DnsVerdict;
  readonly isWell: boolean;
  readonly unreadable: readonly Problem[];
}

export const notServed: Problem = {
  code: 'NotServed',
  message: 'the API server has no ServiceExports and ServiceImports of version v1beta1',
};

/** @param service `namespace/name`: only this one */
export function sharedOf(reading: SharedServices, service: string | undefined): Shared {
  const isWanted = (one: { readonly namespace: string; readonly name: string }): boolean =>
    service === undefined || `${one.namespace}/${one.name}` === service;
  const exports = reading.exports.filter(isWanted).map(exportOf);
  const imports = reading.imports.filter(isWanted).map((one) => importOf(one, reading));
  const names = judgeDns(reading.dns);
  const unreadable = reading.isServed ? reading.unreadable : [...reading.unreadable, notServed];
  return {
    cluster: reading.cluster ?? reading.label,
    exports,
    imports,
    names,
    isWell:
      exports.every(({ state }) => state === 'exported') &&
      imports.every(({ isReady, readyEndpoints }) => isReady && readyEndpoints > 0) &&
      (imports.length === 0 || names.state !== 'missing') &&
      unreadable.length === 0,
    unreadable,
  };
}

/** Why there is nothing to show of a Service; undefined if there is something, or if some of it cannot be read. */
export function absenceOf({ cluster, exports, imports, unreadable }: Shared, service: string): Problem | undefined {
  if (exports.length + imports.length + unreadable.length > 0) return undefined;
  const message = `${cluster} neither exports nor imports ${service}: isthmus why import ${service}`;
  return { code: 'NotShared', message };
}

function exportOf({ namespace, name, conditions }: SharedServices['exports'][number]): ShownExport {
  const [valid, ready, conflict] = ['Valid', 'Ready', 'Conflict'].map((type) => conditionOf(conditions, type));
  const service = `${namespace}/${name}`;
  const shown = (state: ShownExport['state'], condition: Condition | undefined): ShownExport => ({
    service,
    state,
    message: condition?.message ?? '',
    conditions,
  });
  if (valid?.status === 'False') return shown('invalid', valid);
  if (ready?.status === 'False' && ready.reason === 'Failed') return shown('refused', ready);
  if (ready?.status !== 'True') return shown('pending', ready);
  return conflict?.status === 'True' ? shown('conflict', conflict) : shown('exported', ready);
}

export function importOf(one: ImportReading, { endpoints, remotes, cluster }: SharedServices): ShownImport {
  const { namespace, name, type, ips, ports, clusters, conditions } = one;
  const ready = conditionOf(conditions, 'Ready');
  const own = endpoints.filter((slice) => slice.namespace === namespace && slice.service === name);
  const sources = [...new Set([...clusters, ...own.map((slice) => slice.cluster)])].toSorted().map((source) => {
    const its = own.filter((slice) => slice.cluster === source);
    return {
      cluster: source,
      ready: its.reduce((sum, slice) => sum + slice.ready, 0),
      endpoints: its.reduce((sum, slice) => sum + slice.all, 0),
      pathsUp: source === cluster ? '' : (remotes.find((remote) => remote.name === source)?.pathsUp ?? '0/0'),
    };
  });
  return {
    service: `${namespace}/${name}`,
    type,
    ips,
    ports,
    isReady: ready?.status === 'True',
    message: ready?.status === 'True' ? '' : (ready?.message ?? 'the agent has not reported on it'),
    sources,
    readyEndpoints: sources.reduce((sum, source) => sum + source.ready, 0),
    dnsName: `${name}.${namespace}.svc.${clusterSetZone}`,
    conditions,
  };
}
