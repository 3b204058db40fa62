/** A member's report of its paths as the hub shows it: without anything that a member of ours would not send. Pure. */
import { mostListedPaths, type PathReport, type PathSummary } from '../../model/messages.ts';

const states: ReadonlySet<string> = new Set(['Up', 'HoldDown', 'Draining', 'Moving', 'Unknown', 'Down']);
const codeForm = /^[A-Za-z]{1,64}$/;
const versionForm = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/;
/** 9999-12-31, the last day of RFC 3339: the API server refuses a status with a later one. */
const latestMs = 253_402_214_400_000;

/** `isKnown`: whether a name is that of a member or of a foreign zone. */
export function acceptReport(
  { version, clusters, clustersUp, listed }: PathReport,
  isKnown: (cluster: string) => boolean,
): PathReport {
  const seen = new Set<string>();
  const sound = listed.slice(0, mostListedPaths).flatMap((summary) => {
    const { cluster, reason, sinceMs, encryption = '', ...rest } = summary;
    if (!isSound(summary) || !isKnown(cluster) || seen.has(cluster)) return [];
    seen.add(cluster);
    const isTime = sinceMs > 0 && sinceMs <= latestMs;
    const sound = { ...rest, cluster, reason: codeForm.test(reason) ? reason : '', sinceMs: isTime ? sinceMs : 0 };
    return [codeForm.test(encryption) ? { ...sound, encryption } : sound];
  });
  return { version: versionForm.test(version) ? version : 'unknown', clusters, clustersUp, listed: sound };
}

function isSound({ paths, up, state }: PathSummary): boolean {
  return up <= paths && states.has(state);
}
