/** Formats values with their units. Pure. */

/** Such as `1.2ms`; empty if it was not measured. */
export function milliseconds(value: number | undefined): string {
  if (value === undefined) return '';
  return value < 10 ? `${value.toFixed(2)}ms` : `${Math.round(value)}ms`;
}

export function percent(value: number | undefined): string {
  if (value === undefined) return '';
  return `${Number.isInteger(value) ? value : value.toFixed(1)}%`;
}

/** Such as `4s`, `12m`, `3h`, `5d`: an elapsed or remaining time, as coarse as in kubectl. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)}h`;
  return `${Math.round(seconds / 86_400)}d`;
}

/** Unix milliseconds of an RFC 3339 date; undefined if it is none. */
export function timeOf(iso: string | undefined): number | undefined {
  const ms = Date.parse(iso ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** Time since an RFC 3339 date; empty if there is none. */
export function since(iso: string | undefined, nowMs: number): string {
  const atMs = Date.parse(iso ?? '');
  return Number.isNaN(atMs) ? '' : span(nowMs - atMs);
}

export function plural(count: number, noun: string): string {
  const ending = /(?:s|x|ch|sh)$/.test(noun) ? 'es' : 's';
  return `${count} ${noun}${count === 1 ? '' : ending}`;
}

/** A time in RFC 3339 in UTC, to the second. */
export function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
