/** Reads the values as helm does: files in order, then single values. @throws UsageError if helm would refuse them too */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseYaml } from '../../lib/kube/yaml.ts';
import { UsageError } from '../../lib/run/flags.ts';
import { chartDefaults, chartValues, type ChartValues } from '../model/chart-values.ts';

type Tree = Readonly<Record<string, unknown>>;

export async function readChartValues(files: readonly string[], single: readonly string[]): Promise<ChartValues> {
  let merged: Tree = {};
  for (const file of files) merged = merge(merged, await readValuesFile(file));
  for (const text of joined(single)) merged = merge(merged, parseSet(text));
  return parseChartValues(merged);
}

/** The chart's values for the given ones. Pure. @throws UsageError */
export function parseChartValues(given: Tree): ChartValues {
  const parsed = chartValues.safeParse(withoutNulls(merge(chartDefaults, given)));
  if (parsed.success) return parsed.data;
  throw new UsageError(`the chart does not accept these values:\n${z.prettifyError(parsed.error)}`, 2);
}

async function readValuesFile(file: string): Promise<Tree> {
  const refuse = (error: unknown): never => {
    throw new UsageError(`-f ${file}: ${error instanceof Error ? error.message : String(error)}`, 2);
  };
  const text = await readFile(file, 'utf8').catch(refuse);
  const document = await Promise.resolve(text).then(parseYaml).catch(refuse);
  if (document === null) return {};
  if (isTree(document)) return document;
  throw new UsageError(`-f ${file}: is not a values file: it has to be a mapping`, 2);
}

/** Merges as helm does: mappings by key, including labels; everything else is replaced as a whole. Pure. */
export function merge(before: Tree, after: Tree): Tree {
  const merged: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(after)) {
    const old = merged[key];
    merged[key] = isTree(old) && isTree(value) ? merge(old, value) : value;
  }
  return merged;
}

/** Null removes a value of the chart or of an earlier file. */
function withoutNulls(tree: Tree): Tree {
  const kept = Object.entries(tree).filter(([, value]) => value !== null);
  return Object.fromEntries(kept.map(([key, value]) => [key, isTree(value) ? withoutNulls(value) : value]));
}

/** `\,` is a comma within a value, as in helm; the flag has split the value there. */
function joined(parts: readonly string[]): readonly string[] {
  const whole: string[] = [];
  let isOpen = false;
  for (const part of parts) {
    const text = part.endsWith('\\') ? `${part.slice(0, -1)},` : part;
    if (isOpen) whole.push(`${whole.pop() ?? ''}${text}`);
    else whole.push(text);
    isOpen = part.endsWith('\\');
  }
  return whole;
}

/** Parses `networking.mtu=1400`; `\.` is a dot within a key. Pure. @throws UsageError for helm forms that are not supported here */
export function parseSet(text: string): Tree {
  const at = text.indexOf('=');
  const key = text.slice(0, Math.max(at, 0));
  if (key === '' || /[[\]{}]/.test(text))
    throw new UsageError(`--set ${text}: write name=value; lists and all else go into a file (-f)`, 2);
  const value = scalarOf(text.slice(at + 1));
  const names = key.split(/(?<!\\)\./).map((name) => name.replaceAll('\\.', '.'));
  return names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Tree;
}

function scalarOf(text: string): string | number | boolean | null {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  return /^-?(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
