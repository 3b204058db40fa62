/**
 * One ServiceImport from the exports of all clusters, by the rules of KEP-1645. Pure. Every cluster decides by the same input and therefore
 * the same, whatever the order in which exports arrived: the oldest export decides what the clusters want differently, and of exports of the
 * same time the one of the first cluster by name.
 */
import type { Family } from '../../../lib/net/ip.ts';
import type { ExportedPort, ExportedService } from '../../model/exported-service.ts';

/** The condition `Conflict` of the exports. */
export interface Conflict {
  /** Reasons of the API, joined by commas. */
  readonly reason: string;
  readonly message: string;
}

export interface MergedImport {
  readonly namespace: string;
  readonly name: string;
  readonly type: ExportedService['type'];
  readonly ports: readonly ExportedPort[];
  readonly affinitySeconds: number;
  readonly isInternalPolicyLocal: boolean;
  readonly trafficDistribution: string;
  readonly ipFamilies: readonly Family[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Clusters that export it, by name. */
  readonly clusters: readonly string[];
  readonly conflict: Conflict | undefined;
}

type Entry = readonly [cluster: string, exported: ExportedService];

interface Property {
  /** As messages name it. */
  readonly name: string;
  readonly reason: string;
  /** Exports with the same text agree. */
  readonly textOf: (exported: ExportedService) => string;
}

/** In the order of the reasons in a condition. */
const properties: readonly Property[] = [
  { name: 'the type', reason: 'TypeConflict', textOf: ({ type }) => type },
  { name: 'ports', reason: 'PortConflict', textOf: ({ ports }) => JSON.stringify(ports.map(portText).sort()) },
  {
    name: 'sessionAffinity',
    reason: 'SessionAffinityConflict',
    textOf: ({ affinitySeconds }) => String(affinitySeconds > 0),
  },
  {
    name: 'sessionAffinityConfig',
    reason: 'SessionAffinityConfigConflict',
    textOf: ({ affinitySeconds }) => (affinitySeconds > 0 ? String(affinitySeconds) : ''),
  },
  {
    name: 'internalTrafficPolicy',
    reason: 'InternalTrafficPolicyConflict',
    textOf: ({ isInternalPolicyLocal }) => String(isInternalPolicyLocal),
  },
  {
    name: 'trafficDistribution',
    reason: 'TrafficDistributionConflict',
    textOf: ({ trafficDistribution }) => trafficDistribution,
  },
  {
    name: 'ipFamilies',
    reason: 'IPFamilyConflict',
    textOf: ({ ipFamilies }) => ipFamilies.toSorted((a, b) => a - b).join(),
  },
  { name: 'exportedLabels', reason: 'LabelsConflict', textOf: ({ labels }) => mapText(labels) },
  { name: 'exportedAnnotations', reason: 'AnnotationsConflict', textOf: ({ annotations }) => mapText(annotations) },
];

/** Clusters that a message names at most. */
const named = 5;

/** `exports`: by cluster; undefined if there is none. */
export function mergeExports(exports: ReadonlyMap<string, ExportedService>): MergedImport | undefined {
  const entries = [...exports].sort(byRight);
  const [first] = entries;
  if (first === undefined) return undefined;
  const [, oldest] = first;
  const { namespace, name, type, affinitySeconds, isInternalPolicyLocal, trafficDistribution, ipFamilies } = oldest;
  return {
    namespace,
    name,
    type,
    ports: unionOf(entries),
    affinitySeconds,
    isInternalPolicyLocal,
    trafficDistribution,
    ipFamilies,
    labels: oldest.labels,
    annotations: oldest.annotations,
    clusters: entries.map(([cluster]) => cluster).sort(),
    conflict: conflictOf(first, entries),
  };
}

/** The export that decides is first. */
function byRight([a, { createdMs: aMs }]: Entry, [b, { createdMs: bMs }]: Entry): number {
  return aMs - bMs || (a < b ? -1 : 1);
}

/** All ports, except those whose name, or protocol and number, a port of an older export has. */
function unionOf(entries: readonly Entry[]): readonly ExportedPort[] {
  const ports: ExportedPort[] = [];
  const taken = new Set<string>();
  for (const [, exported] of entries)
    for (const port of exported.ports) {
      const claims = [`name ${port.name}`, `${port.protocol} ${port.port}`];
      if (claims.some((claim) => taken.has(claim))) continue;
      for (const claim of claims) taken.add(claim);
      ports.push(port);
    }
  return ports;
}

function conflictOf([decider, oldest]: Entry, entries: readonly Entry[]): Conflict | undefined {
  const found = properties.flatMap(({ name, reason, textOf }) => {
    const text = textOf(oldest);
    const others = entries.flatMap(([cluster, exported]) => (textOf(exported) === text ? [] : [cluster])).sort();
    if (others.length === 0) return [];
    // Another affinity has another configuration too.
    if (reason === 'SessionAffinityConfigConflict' && others.every((one) => hasOtherAffinity(one, oldest, entries)))
      return [];
    const rest = others.length > named ? ` and ${others.length - named} more` : '';
    return [{ reason, text: `${name} (${others.slice(0, named).join(', ')}${rest})` }];
  });
  if (found.length === 0) return undefined;
  const list = found.map(({ text }) => text).join('; ');
  return {
    reason: found.map(({ reason }) => reason).join(','),
    message: `clusters export this Service differently from cluster ${decider}, whose export is the oldest and decides: ${list}. Of ports, those of all clusters are used whose name and number no older export has`,
  };
}

function hasOtherAffinity(cluster: string, { affinitySeconds }: ExportedService, entries: readonly Entry[]): boolean {
  const [, exported] = entries.find(([name]) => name === cluster) ?? [];
  return exported !== undefined && exported.affinitySeconds > 0 !== affinitySeconds > 0;
}

function portText({ name, protocol, port, appProtocol }: ExportedPort): string {
  return [name, protocol, port, appProtocol].join(' ');
}

function mapText(map: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}
