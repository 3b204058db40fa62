/**
 * Leaves secrets out of a report. Objects: Secrets are never read; of pods of other owners only what the network needs remains, because commands,
 * environments and volumes may hold secrets. Texts: private keys, tokens and passwords are replaced wherever they stand. Pure.
 */
import type { RawObject } from '../../lib/kube/types.ts';

const leftOut = '(left out)';

/** Has the whole former object, with secrets that a user applied. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

type Fields = Readonly<Record<string, unknown>>;

/** The object without bookkeeping of the API server, and without what `kubectl apply` recorded. */
export function redactObject(raw: RawObject): object {
  const { managedFields: _, annotations, ...metadata } = raw.metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== lastApplied);
  return { ...raw, metadata: { ...metadata, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) } };
}

const podFields = ['nodeName', 'hostNetwork', 'dnsPolicy', 'subdomain', 'hostname', 'priorityClassName'] as const;
const containerFields = ['name', 'image', 'ports'] as const;

/** A pod of another owner than Isthmus. */
export function redactPod(raw: RawObject): object {
  const spec = (raw['spec'] ?? {}) as Fields;
  const containers = (spec['containers'] ?? []) as readonly Fields[];
  const { conditions, containerStatuses: _, initContainerStatuses: _init, ...status } = (raw['status'] ?? {}) as Fields;
  return redactObject({
    ...raw,
    spec: { ...pick(spec, podFields), containers: containers.map((one) => pick(one, containerFields)) },
    status: { ...status, conditions },
  });
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]));
}

const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?-----END \1-----/g, leftOut],
  // JSON Web Tokens, as those of ServiceAccounts, and join tokens.
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g, leftOut],
  [/\bisthmus1\.[\w-]+\.[\w-]+/g, leftOut],
  [/\b(Bearer|Basic) [\w.~+/=-]{8,}/g, `$1 ${leftOut}`],
  [
    /("?\b[\w.-]*(?:password|passwd|passphrase|secretkey|client-key-data|privatekey)"?\s*[:=]\s*)(?:"[^"\n]*"|'[^'\n]*'|[^\s,}"']+)/gi,
    `$1${leftOut}`,
  ],
];

/** The text without private keys, tokens and passwords. */
export function redactText(text: string): string {
  return patterns.reduce((rest, [pattern, instead]) => rest.replaceAll(pattern, instead), text);
}
