/** Whether names below clusterset.local resolve in a cluster, by the configuration of CoreDNS. Pure. */
import type { DnsReading } from '../../model/shared-services.ts';
import { cause, type Cause } from '../diagnose/step.ts';

export const clusterSetZone = 'clusterset.local';
/** Of CoreDNS: the first with the option `multicluster`. */
const firstRelease = [1, 12, 2] as const;
const guide = 'configure CoreDNS as docs/guides/multicluster-services.md#names says';

export interface DnsVerdict {
  /** unknown: the DNS of this cluster is not CoreDNS in its usual place, or may not be read. */
  readonly state: 'ok' | 'missing' | 'unknown';
  readonly causes: readonly Cause[];
}

export function judgeDns({ corefile, images }: DnsReading): DnsVerdict {
  if (corefile === undefined) return { state: 'unknown', causes: [] };
  const plugins = kubernetesPlugins(corefile);
  const served = plugins.find(({ multicluster }) => multicluster.some(isZone));
  if (served === undefined) {
    const message = `the Corefile of kube-system/coredns has no option "multicluster ${clusterSetZone}" in a plugin kubernetes`;
    return { state: 'missing', causes: [cause('DnsNotConfigured', message, guide)] };
  }
  if (served.zones.length > 0 && !served.zones.some((zone) => isZone(zone) || zone === '.')) {
    const message = `the plugin kubernetes with the option multicluster does not serve the zone ${clusterSetZone}: it serves ${served.zones.join(', ')}`;
    return { state: 'missing', causes: [cause('DnsZoneMissing', message, guide)] };
  }
  const old = images.map(releaseOf).find((release) => release !== undefined && isOlder(release));
  if (old === undefined) return { state: 'ok', causes: [] };
  const message = `CoreDNS is ${old.join('.')}; the option multicluster is part of it from ${firstRelease.join('.')}`;
  return { state: 'missing', causes: [cause('DnsTooOld', message, 'use a newer image of CoreDNS')] };
}

interface Plugin {
  readonly zones: readonly string[];
  readonly multicluster: readonly string[];
}

/** The plugins `kubernetes` of a Corefile. */
function kubernetesPlugins(corefile: string): readonly Plugin[] {
  const plugins: { zones: string[]; multicluster: string[]; depth: number }[] = [];
  let depth = 0;
  for (const line of corefile.split('\n')) {
    const words = (line.split('#', 1)[0] ?? '')
      .trim()
      .split(/\s+/)
      .filter((word) => word !== '');
    const [first, ...rest] = words;
    const open = plugins.at(-1);
    if (first === 'kubernetes')
      plugins.push({ zones: rest.filter((word) => word !== '{'), multicluster: [], depth: depth + 1 });
    else if (first === 'multicluster' && open !== undefined && depth >= open.depth) open.multicluster.push(...rest);
    for (const word of words) depth += Number(word.endsWith('{')) - Number(word === '}');
  }
  return plugins;
}

function isZone(zone: string): boolean {
  return zone.replace(/\.$/, '') === clusterSetZone;
}

function releaseOf(image: string): readonly number[] | undefined {
  const match = /:v?(\d+)\.(\d+)\.(\d+)(?:[-@]|$)/.exec(image);
  return match === null ? undefined : match.slice(1).map(Number);
}

function isOlder(release: readonly number[]): boolean {
  const at = firstRelease.findIndex((part, index) => part !== release[index]);
  return at >= 0 && (release[at] ?? 0) < (firstRelease[at] ?? 0);
}
