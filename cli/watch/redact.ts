/**
 * Leaves secrets out of a report. Objects: Secrets are never read; of pods of other owners only what the network needs remains, because commands,
 * environments, volumes and annotations may hold secrets. Texts: private keys, tokens and passwords are replaced wherever they stand. Pure.
 */
import type { RawObject } from '../../lib/kube/types.ts';

const leftOut = '(left out)';

/** Has the whole former object, with secrets that a user applied. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

type Fields = Readonly<Record<string, unknown>>;

/** A name of what is secret; but not one of the place where it is, such as `secretName`. */
const secretWord =
  '(?:pass(?:word|wd|phrase)|secret|token|credential|api[-_]?key|access[-_]?key|private[-_]?key|client-key-data)';
const placeWord = '(?:s?[-_]?(?:name|ref|namespace|path|file|key|audience|expir\\w*)s?)';
const secretKey = new RegExp(`${secretWord}(?!${placeWord}$)`, 'i');

/** The object without bookkeeping of the API server, without what `kubectl apply` recorded, and without secrets in its texts. */
export function redactObject(raw: RawObject): object {
  const { managedFields: _, annotations, ...metadata } = raw.metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== lastApplied);
  const whole = {
    ...raw,
    metadata: { ...metadata, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) },
  };
  return redactValue(whole) as object;
}

/** Replaces secrets in a value of JSON: values of keys that name a secret, also as `name` and `value`, and parts of texts. */
function redactValue(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return secretKey.test(key) ? leftOut : redactText(value);
  if (Array.isArray(value)) return value.map((one: unknown) => redactValue(one));
  if (typeof value !== 'object' || value === null) return value;
  const { name } = value as Fields;
  const isSecretPair = typeof name === 'string' && secretKey.test(name);
  return Object.fromEntries(
    Object.entries(value).map(([field, of]) => [
      field,
      isSecretPair && field === 'value' ? leftOut : redactValue(of, field),
    ]),
  );
}

const podFields = ['nodeName', 'hostNetwork', 'dnsPolicy', 'subdomain', 'hostname', 'priorityClassName'] as const;
const containerFields = ['name', 'image', 'ports'] as const;
/** Annotations of networks, also those of a provider's own: `net1.default.ovn.kubernetes.io/ip_address`. */
const networkAnnotation = /(?:^|\.)(?:kubernetes\.io|isthmus\.network|cncf\.io)\//;

/** A pod of another owner than Isthmus. */
export function redactPod(raw: RawObject): object {
  const spec = (raw['spec'] ?? {}) as Fields;
  const containers = (spec['containers'] ?? []) as readonly Fields[];
  const { conditions, containerStatuses: _, initContainerStatuses: _init, ...status } = (raw['status'] ?? {}) as Fields;
  const annotations = Object.entries(raw.metadata.annotations ?? {}).filter(([key]) => networkAnnotation.test(key));
  return redactObject({
    ...raw,
    metadata: { ...raw.metadata, annotations: Object.fromEntries(annotations) },
    spec: { ...pick(spec, podFields), containers: containers.map((one) => pick(one, containerFields)) },
    status: { ...status, conditions },
  });
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]));
}

/** Each has one start in a run of characters, so that no text takes more than linear time. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z ]{0,32}PRIVATE KEY)-----(?:(?!-----)[\s\S])*-----END \1-----/g, leftOut],
  // JSON Web Tokens, as those of ServiceAccounts, and join tokens.
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g, leftOut],
  [/(?<![\w-])isthmus1\.[\w-]+\.[\w-]+/g, leftOut],
  [/\b(Bearer|Basic) [\w.~+/=-]{8,}/g, `$1 ${leftOut}`],
  [
    new RegExp(
      `(${secretWord}(?!${placeWord}\\b)\\w{0,32}\\\\?["']?[ \\t]{0,8}[:=][ \\t]{0,8})` +
        // A value in quotes, which a string in a string escapes; lines of a YAML block; or up to a space or quote.
        `(?:\\\\"[^"\\n]*"|"(?:[^"\\\\\\n]|\\\\.)*"|'[^'\\n]*'|[|>][-+\\d]*\\n(?:[ \\t]+[^\\n]*\\n?)+|[^\\s"'|>{[(][^\\s"'}\\]]*)`,
      'gi',
    ),
    `$1${leftOut}`,
  ],
];

/** The text without private keys, tokens and passwords. */
export function redactText(text: string): string {
  return patterns.reduce((rest, [pattern, instead]) => rest.replaceAll(pattern, instead), text);
}
