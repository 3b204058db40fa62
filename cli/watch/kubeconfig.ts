/**
 * Finds the kubeconfig of a command as kubectl does: the flag, the files of KUBECONFIG, `~/.kube/config`, or the
 * service account of the pod. Several files, or a context other than the current one, are merged into one document.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readKubeconfig, type KubeconfigDocument } from '../../lib/kube/config.ts';
import { KubeConfigError } from '../../lib/kube/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Fields = Readonly<Record<string, unknown>>;

export interface Kubeconfig {
  /** A file or a document; undefined for the service account of the pod. */
  readonly config: string | KubeconfigDocument | undefined;
  /** The context's name, used as label if there is no better name. */
  readonly label: string;
}

/** Paths in a mapping of a file, relative to that file. */
const paths = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'] as const;
const sections = { clusters: 'cluster', users: 'user', contexts: 'context' } as const;

/** @throws KubeConfigError if a file cannot be used or does not have the context */
export async function findKubeconfig(
  flags: { readonly kubeconfig: string | undefined; readonly context: string | undefined },
  env: Environment,
): Promise<Kubeconfig> {
  const files = candidates(flags.kubeconfig, env);
  if (files.length === 0) {
    if (flags.context !== undefined)
      throw new KubeConfigError(`--context ${flags.context}: there is no kubeconfig; give one with --kubeconfig`);
    return { config: undefined, label: 'this cluster' };
  }
  const documents = await Promise.all(files.map(readDocument));
  const current = documents
    .map((document) => document['current-context'])
    .find((name) => typeof name === 'string' && name !== '');
  const context = flags.context ?? (current as string | undefined) ?? '';
  const [only] = files;
  if (files.length === 1 && only !== undefined && context === current) return { config: only, label: context };
  return { config: { source: files.join(', '), content: mergeDocuments(documents, files, context) }, label: context };
}

function candidates(flag: string | undefined, env: Environment): readonly string[] {
  if (flag !== undefined) return [flag];
  // As in kubectl, missing files are ignored.
  const listed = (env['KUBECONFIG'] ?? '').split(':').filter((file) => file !== '' && existsSync(file));
  if (listed.length > 0) return listed;
  const home = join(env['HOME'] ?? '/', '.kube/config');
  return existsSync(home) ? [home] : [];
}

async function readDocument(file: string): Promise<Fields> {
  const document = await readKubeconfig(file);
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new KubeConfigError(`${file}: is not a kubeconfig: it has to be a mapping`);
  return document as Fields;
}

/** The first entry of a name counts, as in kubectl. Pure. @throws KubeConfigError */
export function mergeDocuments(documents: readonly Fields[], files: readonly string[], context: string): Fields {
  const merged = Object.entries(sections).map(([section, item]) => {
    const entries = new Map<unknown, Fields>();
    for (const [index, document] of documents.entries())
      for (const entry of listOf(document[section]))
        if (!entries.has(entry['name']))
          entries.set(entry['name'], absolute(entry, item, dirname(resolve(files[index] ?? ''))));
    return [section, [...entries.values()]] as const;
  });
  const root: Fields = { apiVersion: 'v1', kind: 'Config', 'current-context': context, ...Object.fromEntries(merged) };
  const names = listOf(root['contexts']).map(({ name }) => name);
  if (names.includes(context)) return root;
  const known = names.length === 0 ? 'none' : names.join(', ');
  throw new KubeConfigError(`no context "${context}" in ${files.join(', ')}; there are: ${known}`);
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : [];
}

function absolute(entry: Fields, item: string, folder: string): Fields {
  const inner = (entry[item] ?? {}) as Fields;
  const resolved = paths.flatMap((field) => {
    const value = inner[field];
    return typeof value === 'string' && value !== '' ? [[field, resolve(folder, value)] as const] : [];
  });
  return { ...entry, [item]: { ...inner, ...Object.fromEntries(resolved) } };
}
