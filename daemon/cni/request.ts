/**
 * The runtime's environment and configuration → one narrow request, or a CniError that names what is wrong.
 * The rules are those of the CNI specification (SPEC.md, "Plugin execution") and of its reference runtime.
 */
import { z } from 'zod';
import { defaultProvider } from '../../lib/api/names.ts';
import { CniError, errorCode } from './error.ts';
import { supportedVersions, type CniVersion, type ShimRequest } from './protocol.ts';

export interface AddRequest {
  readonly command: 'ADD';
  readonly cniVersion: CniVersion;
  readonly containerId: string;
  readonly ifname: string;
  /** `ovn`, or the attachment this is an interface of: `<attachment>.<namespace>.ovn`. */
  readonly provider: string;
  /** Path of the pod's network namespace. */
  readonly netns: string;
  readonly podNamespace: string;
  readonly podName: string;
  /** Absent with runtimes that do not tell it. */
  readonly podUid: string | undefined;
  /** Result of the plugins before this one in a chain. */
  readonly prevResult: PreviousResult | undefined;
}

export interface CheckRequest {
  readonly command: 'CHECK';
  readonly cniVersion: CniVersion;
  readonly containerId: string;
  readonly ifname: string;
  readonly netns: string;
}

export interface DelRequest {
  readonly command: 'DEL';
  readonly cniVersion: CniVersion;
  readonly containerId: string;
  readonly ifname: string;
}

export interface VersionRequest {
  readonly command: 'VERSION';
  /** As the runtime sent it: VERSION is how it learns what is supported. */
  readonly cniVersion: string;
}

export type CniRequest = AddRequest | CheckRequest | DelRequest | VersionRequest;

const indexed = z.looseObject({ interface: z.int().optional() });
const previousResult = z.looseObject({
  interfaces: z.array(z.looseObject({})).optional(),
  ips: z.array(indexed).optional(),
  routes: z.array(z.looseObject({})).optional(),
  dns: z.looseObject({}).optional(),
});
export type PreviousResult = z.infer<typeof previousResult>;

const configuration = z.looseObject({
  cniVersion: z.string().optional(),
  name: z.string().optional(),
  type: z.string().optional(),
  provider: z.string().optional(),
  ipam: z.looseObject({}).optional(),
  runtimeConfig: z.record(z.string(), z.unknown()).optional(),
  prevResult: z.unknown().optional(),
});
type Configuration = z.infer<typeof configuration>;

const identifier = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
// RFC 1123 names: they become part of a port name and of log lines.
const kubernetesName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const argumentNames = new Set([
  'IgnoreUnknown',
  'K8S_POD_NAMESPACE',
  'K8S_POD_NAME',
  'K8S_POD_UID',
  'K8S_POD_INFRA_CONTAINER_ID',
]);

/** The version to answer in, also when the rest of the request is broken. */
export function answerVersion(stdin: string): string {
  return /"cniVersion"\s*:\s*"([0-9.]{1,15})"/.exec(stdin)?.[1] ?? supportedVersions.at(-1)!;
}

/** @throws CniError */
export function parseCniRequest({ environment, stdin }: ShimRequest): CniRequest {
  const command = required(environment, 'CNI_COMMAND');
  if (command === 'VERSION') return { command, cniVersion: answerVersion(stdin) };
  if (command !== 'ADD' && command !== 'CHECK' && command !== 'DEL') {
    throw new CniError(
      errorCode.invalidEnvironment,
      `CNI_COMMAND=${command} is not supported by this version of isthmus`,
      "ADD, CHECK, DEL and VERSION are; set the configuration's cniVersion to one that VERSION lists",
    );
  }
  const config = parseConfiguration(stdin);
  const cniVersion = checkVersion(config.cniVersion);
  checkConfiguration(config);
  const containerId = checkContainerId(required(environment, 'CNI_CONTAINERID'));
  const ifname = checkInterfaceName(required(environment, 'CNI_IFNAME'));
  if (command === 'DEL') return { command, cniVersion, containerId, ifname };
  const netns = required(environment, 'CNI_NETNS');
  if (command === 'CHECK') return { command, cniVersion, containerId, ifname, netns };
  return {
    command,
    cniVersion,
    containerId,
    ifname,
    provider: checkProvider(config.provider),
    netns,
    ...parsePodArguments(environment.get('CNI_ARGS') ?? ''),
    prevResult: parsePrevResult(config.prevResult),
  };
}

function required(environment: ReadonlyMap<string, string>, name: string): string {
  const value = environment.get(name);
  if (value === undefined || value === '')
    throw new CniError(errorCode.invalidEnvironment, `required environment variable ${name} is missing`);
  return value;
}

function parseConfiguration(stdin: string): Configuration {
  let raw: unknown;
  try {
    raw = JSON.parse(stdin);
  } catch (error) {
    throw new CniError(errorCode.decode, 'the network configuration on stdin is not JSON', String(error));
  }
  const parsed = configuration.safeParse(raw);
  if (!parsed.success)
    throw new CniError(
      errorCode.decode,
      'the network configuration on stdin has fields of the wrong type',
      z.prettifyError(parsed.error),
    );
  return parsed.data;
}

/** A configuration without cniVersion counts as 0.1.0 by the specification, which is not supported. */
function checkVersion(version = '0.1.0'): CniVersion {
  const supported = supportedVersions.find((known) => known === version);
  if (supported === undefined) {
    throw new CniError(
      errorCode.incompatibleVersion,
      `cniVersion ${version} is not supported`,
      `supported: ${supportedVersions.join(', ')}; set "cniVersion" in the network configuration`,
    );
  }
  return supported;
}

function checkConfiguration(config: Configuration): void {
  if (config.name === undefined || !identifier.test(config.name)) {
    throw new CniError(
      errorCode.invalidConfig,
      `"name" of the network configuration must start with a letter or digit and contain only those, "_", "." and "-", not ${JSON.stringify(config.name)}`,
    );
  }
  if (config.type === undefined)
    throw new CniError(
      errorCode.invalidConfig,
      '"type" of the network configuration is missing; it should be "isthmus"',
    );
  if (config.ipam !== undefined && Object.keys(config.ipam).length > 0) {
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

// The names of a NetworkAttachmentDefinition and of its namespace.
const attachmentProvider = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\.[a-z0-9]([-a-z0-9]*[a-z0-9])?\.ovn$/;

function checkProvider(provider = defaultProvider): string {
  if (provider === '') return defaultProvider;
  if (provider === defaultProvider || attachmentProvider.test(provider)) return provider;
  throw new CniError(
    errorCode.invalidConfig,
    `"provider" of the network configuration is ${JSON.stringify(provider)}`,
    'give "<name>.<namespace>.ovn" of the NetworkAttachmentDefinition, or leave it out for the default network',
  );
}

function unsupported(field: string, value: unknown, advice: string): CniError {
  return new CniError(
    errorCode.unsupportedField,
    `unsupported field ${field}=${JSON.stringify(value)} in the network configuration`,
    advice,
  );
}

function checkContainerId(value: string): string {
  if (!identifier.test(value))
    throw new CniError(errorCode.unknownContainer, `CNI_CONTAINERID ${JSON.stringify(value)} is not a container id`);
  return value;
}

function checkInterfaceName(value: string): string {
  if (value.length > 15 || value === '.' || value === '..' || /[/:\s]/.test(value)) {
    throw new CniError(
      errorCode.invalidEnvironment,
      `CNI_IFNAME ${JSON.stringify(value)} is not an interface name: 1 to 15 characters without "/", ":" and spaces`,
    );
  }
  return value;
}

function parsePodArguments(text: string): Pick<AddRequest, 'podNamespace' | 'podName' | 'podUid'> {
  const values = new Map<string, string>();
  for (const pair of text.split(';').filter((part) => part !== '')) {
    const equals = pair.indexOf('=');
    if (equals < 1)
      throw new CniError(
        errorCode.invalidEnvironment,
        `CNI_ARGS has ${JSON.stringify(pair)} where KEY=VALUE is expected`,
      );
    values.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  const unknown = [...values.keys()].filter((key) => !argumentNames.has(key));
  if (unknown.length > 0 && !['1', 'true'].includes(values.get('IgnoreUnknown')?.toLowerCase() ?? '')) {
    throw new CniError(
      errorCode.invalidEnvironment,
      `CNI_ARGS has unknown keys ${unknown.join(', ')}; IgnoreUnknown=1 allows them`,
    );
  }
  return {
    podNamespace: podArgument(values, 'K8S_POD_NAMESPACE'),
    podName: podArgument(values, 'K8S_POD_NAME'),
    podUid: values.get('K8S_POD_UID') || undefined,
  };
}

function podArgument(values: ReadonlyMap<string, string>, key: string): string {
  const value = values.get(key) ?? '';
  if (!kubernetesName.test(value))
    throw new CniError(errorCode.invalidEnvironment, `CNI_ARGS needs ${key}; it has ${JSON.stringify(value)}`);
  return value;
}

function parsePrevResult(raw: unknown): PreviousResult | undefined {
  if (raw === undefined || raw === null) return undefined;
  const parsed = previousResult.safeParse(raw);
  if (!parsed.success)
    throw new CniError(
      errorCode.invalidConfig,
      'prevResult of the network configuration is not a result',
      z.prettifyError(parsed.error),
    );
  return parsed.data;
}
