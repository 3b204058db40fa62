/** Write requests to the API server, from its own metrics. */
import type { KubeClient } from '../../lib/kube/types.ts';

/** Requests the API server has answered so far, by verb and resource (`PATCH pods/status`); reads are not counted. */
export async function apiWrites(kube: KubeClient): Promise<ReadonlyMap<string, number>> {
  const text = String(await kube.request('GET', '/metrics'));
  const counts = new Map<string, number>();
  for (const [, labels = '', count] of text.matchAll(/^apiserver_request_total\{([^}]*)\} (\S+)$/gm)) {
    const of = (label: string): string => new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const key = `${of('verb')} ${[of('resource'), of('subresource')].filter((part) => part !== '').join('/')}`;
    if (/^(POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION) /.test(key))
      counts.set(key, (counts.get(key) ?? 0) + Number(count));
  }
  return counts;
}

/** Writes between two counts, without leases. */
export function writesBetween(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const differences = [...after].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const);
  return new Map(differences.filter(([key, count]) => count > 0 && !key.endsWith(' leases')));
}

/** The controller's writes in a burst, per pod: `1.00 PATCH, 1.00 IP objects`. */
export function perPod(writes: ReadonlyMap<string, number>, pods: number): string {
  const of = (key: string): string => ((writes.get(key) ?? 0) / pods).toFixed(2);
  return `API writes per pod: ${of('PATCH pods/status')} PATCH, ${of('POST ips')} IP objects`;
}
