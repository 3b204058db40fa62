/** Reads an agent's metrics in the Prometheus text format. In: a URL. Out: parsed samples. */
import { CommandFailed } from '../command/failure.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** @throws CommandFailed (exit code 3) if no metrics are served there within the timeout */
export async function fetchMetrics(url: string, timeoutMs: number, signal: AbortSignal): Promise<readonly Sample[]> {
  const fail = (why: string): never => {
    throw new CommandFailed(
      { code: 'MetricsUnreachable', message: `${url}: ${why}; give the URL of an agent’s /metrics` },
      3,
    );
  };
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
    if (!answer.ok) return fail(`answered ${answer.status}`);
    return parseMetrics(await answer.text());
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CommandFailed) throw error;
    // fetch reports every network failure as a TypeError, and the timeout as a DOMException.
    if (error instanceof TypeError) return fail(error.cause instanceof Error ? error.cause.message : error.message);
    if (error instanceof DOMException) return fail(`no answer within ${timeoutMs} ms`);
    throw error;
  }
}

const line = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[-+]?Inf|[-+]?[0-9.][-+0-9.eE]*)(?: \d+)?$/;
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** Comments and invalid lines are ignored. Pure. */
export function parseMetrics(text: string): readonly Sample[] {
  return text.split('\n').flatMap((row) => {
    const match = line.exec(row);
    if (match === null) return [];
    const [, name = '', labels = '', value = ''] = match;
    const pairs = [...labels.matchAll(label)].map(
      ([, key = '', raw = '']) => [key, raw.replaceAll(/\\(.)/g, '$1')] as const,
    );
    return [{ name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Infinity : Number(value) }];
  });
}
