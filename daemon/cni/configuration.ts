/** The network configuration on stdin → narrow values, or a CniError that names the field. */
import { z } from 'zod';
import { defaultProvider } from '../../lib/api/names.ts';
import { CniError, errorCode } from './error.ts';
import { supportedVersions, type CniVersion } from './protocol.ts';

/** Some programs write null for absent fields. */
function absentOr<T extends z.ZodType>(shape: T) {
  return shape
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();
}

const previousResult = z.looseObject({
  interfaces: absentOr(
    z.array(
      z.looseObject({
        name: absentOr(z.string()),
        mac: absentOr(z.string()),
        sandbox: absentOr(z.string()),
        mtu: absentOr(z.int()),
      }),
    ),
  ),
  ips: absentOr(z.array(z.looseObject({ address: absentOr(z.string()), interface: absentOr(z.int()) }))),
  routes: absentOr(z.array(z.looseObject({ dst: absentOr(z.string()), gw: absentOr(z.string()) }))),
  dns: absentOr(z.looseObject({})),
});
export type PreviousResult = z.infer<typeof previousResult>;

const configuration = z.looseObject({
  cniVersion: z.string().optional(),
  name: z.string().optional(),
  type: z.string().optional(),
  provider: z.string().optional(),
  ipam: z.looseObject({}).nullish(),
  runtimeConfig: z.record(z.string(), z.unknown()).nullish(),
  args: z.unknown().optional(),
  prevResult: z.unknown().optional(),
});
export type Configuration = z.infer<typeof configuration>;

/** One interface of one container, as runtimes identify it. */
export interface AttachmentId {
  readonly containerId: string;
  readonly ifname: string;
}

export const identifier: RegExp = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;

/** Configurations have about five levels. JSON.parse accepts any number, but functions that walk through them would run out of stack. */
const deepestNesting = 100;

function isNestedDeeperThan(value: unknown, levels: number): boolean {
  let inner = [value];
  for (let level = 0; level <= levels && inner.length > 0; level++)
    inner = inner.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  return inner.length > 0;
}

const longestQuote = 200;

/** Shortens a value for messages, which also appear in events. */
function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text;
}

/** @throws CniError 6 */
export function parseConfiguration(stdin: string): Configuration {
  let raw: unknown;
  try {
    raw = JSON.parse(stdin);
  } catch (error) {
    throw new CniError(errorCode.decode, 'the network configuration on stdin is not JSON', String(error));
  }
  if (isNestedDeeperThan(raw, deepestNesting))
    throw new CniError(
      errorCode.decode,
      `the network configuration on stdin is nested deeper than ${deepestNesting} levels`,
    );
  const parsed = configuration.safeParse(raw);
  if (!parsed.success)
    throw new CniError(
      errorCode.decode,
      'the network configuration on stdin has fields of the wrong type',
      z.prettifyError(parsed.error),
    );
  return parsed.data;
}

/** By the specification, a configuration without cniVersion has version 0.1.0, which is not supported. @throws CniError 1 */
export function checkVersion(version = '0.1.0'): CniVersion {
  const supported = supportedVersions.find((known) => known === version);
  if (supported === undefined) {
    throw new CniError(
      errorCode.incompatibleVersion,
      `cniVersion ${version === '' ? 'of no characters' : version} is not supported`,
      `supported: ${supportedVersions.join(', ')}; set "cniVersion" in the network configuration`,
    );
  }
  return supported;
}

/** Returns the name of the network. @throws CniError 7 */
export function checkNetwork({ name, type }: Configuration): string {
  if (name === undefined) throw new CniError(errorCode.invalidConfig, '"name" of the network configuration is missing');
  if (!identifier.test(name)) {
    throw new CniError(
      errorCode.invalidConfig,
      `"name" of the network configuration must start with a letter or digit and contain only those, "_", "." and "-", not ${brief(name)}`,
    );
  }
  if (type === undefined)
    throw new CniError(
      errorCode.invalidConfig,
      '"type" of the network configuration is missing; it should be "isthmus"',
    );
  return name;
}

/** Refuses fields that ADD would have to follow and cannot. @throws CniError 2 */
export function refuseUnsupported(config: Configuration): void {
  if (config.ipam && Object.keys(config.ipam).length > 0) {
    throw unsupported('ipam', config.ipam, 'addresses come from the Subnet objects of the cluster: leave "ipam" out');
  }
  for (const [capability, value] of Object.entries(config.runtimeConfig ?? {})) {
    throw unsupported(
      `runtimeConfig.${capability}`,
      value,
      `leave the capability "${capability}" out of the network configuration or add a chained plugin that has it`,
    );
  }
}

const addressArguments = z.object({ cni: z.record(z.string(), z.unknown()) });

/** Refuses addresses that `args.cni` asks for; its other fields do not concern this plugin. @throws CniError 2 */
export function refuseRequests({ args }: Configuration, provider: string): void {
  const { cni } = addressArguments.safeParse(args).data ?? { cni: {} };
  for (const [field, name] of [
    ['ips', 'ip_address'],
    ['mac', 'mac_address'],
  ] as const) {
    const value = cni[field];
    if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)) continue;
    throw unsupported(`args.cni.${field}`, value, `give the pod the annotation ${provider}.kubernetes.io/${name}`);
  }
}

// `<name>.<namespace>.ovn` of a NetworkAttachmentDefinition.
const attachmentProvider = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.[a-z0-9]([-a-z0-9]*[a-z0-9])?\.ovn$/;

/** @throws CniError 7 */
export function checkProvider({ provider = defaultProvider }: Configuration): string {
  if (provider === '') return defaultProvider;
  if (provider === defaultProvider || attachmentProvider.test(provider)) return provider;
  throw new CniError(
    errorCode.invalidConfig,
    `"provider" of the network configuration is ${brief(provider)}`,
    'give "<name>.<namespace>.ovn" of the NetworkAttachmentDefinition, or leave it out for the default network',
  );
}

function unsupported(field: string, value: unknown, advice: string): CniError {
  return new CniError(
    errorCode.unsupportedField,
    `unsupported field ${field}=${brief(value)} in the network configuration`,
    advice,
  );
}

/** @throws CniError 7 */
export function parsePrevResult({ prevResult }: Configuration): PreviousResult | undefined {
  if (prevResult === undefined || prevResult === null) return undefined;
  const parsed = previousResult.safeParse(prevResult);
  if (!parsed.success)
    throw new CniError(
      errorCode.invalidConfig,
      'prevResult of the network configuration is not a result',
      z.prettifyError(parsed.error),
    );
  return parsed.data;
}

const validAttachments = z.array(z.looseObject({ containerID: z.string(), ifname: z.string() }));
/** The text of the specification uses the second name in one place, so runtimes send either name, or both. */
const validKeys = ['cni.dev/valid-attachments', 'cni.dev/attachments'] as const;

/**
 * Undefined if the runtime sends no list. An empty list, or null, means that no attachment is valid; if there are two lists, an attachment
 * in either of them is valid. @throws CniError 7
 */
export function parseValidAttachments(config: Configuration): readonly AttachmentId[] | undefined {
  const keys = validKeys.filter((name) => name in config);
  return keys.length === 0 ? undefined : keys.flatMap((key) => parseAttachments(config, key));
}

function parseAttachments(config: Configuration, key: (typeof validKeys)[number]): readonly AttachmentId[] {
  const parsed = validAttachments.safeParse(config[key] ?? []);
  if (!parsed.success)
    throw new CniError(
      errorCode.invalidConfig,
      `"${key}" of the network configuration is not a list of {"containerID", "ifname"}`,
      z.prettifyError(parsed.error),
    );
  return parsed.data.map(({ containerID, ifname }) => ({ containerId: containerID, ifname }));
}
