/** The CNI_* environment of a request → checked values, by the rules of the reference runtime of the specification. */
import { identifier } from './configuration.ts';
import { CniError, errorCode } from './error.ts';

export type Environment = ReadonlyMap<string, string>;

/** The pod that an ADD is for. */
export interface PodArguments {
  readonly podNamespace: string;
  readonly podName: string;
  /** Absent if the runtime does not send it. */
  readonly podUid: string | undefined;
}

const required = {
  ADD: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'],
  CHECK: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'],
  DEL: ['CNI_CONTAINERID', 'CNI_IFNAME', 'CNI_PATH'],
  GC: ['CNI_PATH'],
  STATUS: ['CNI_PATH'],
  VERSION: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type Command = keyof typeof required;
export const commands = Object.keys(required) as readonly Command[];

// The kernel replaces "%d" by a number of its choice; the other characters would break log lines.
const notInNames = /[/:%\s\p{Cc}]/u;

// RFC 1123 names; they become part of port names and log lines.
const kubernetesName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const argumentNames = new Set([
  'IgnoreUnknown',
  'K8S_POD_NAMESPACE',
  'K8S_POD_NAME',
  'K8S_POD_UID',
  'K8S_POD_INFRA_CONTAINER_ID',
]);

/** The command, if everything that it needs is present. @throws CniError 4 that names what is missing */
export function parseCommand(environment: Environment): Command {
  const given = environment.get('CNI_COMMAND') ?? '';
  const command = commands.find((known) => known === given);
  if (given !== '' && command === undefined)
    throw new CniError(
      errorCode.invalidEnvironment,
      `CNI_COMMAND=${given} is not supported`,
      `supported: ${commands.join(', ')}`,
    );
  const needed = command === undefined ? ['CNI_COMMAND'] : required[command];
  const missing = needed.filter((name) => (environment.get(name) ?? '') === '');
  if (command === undefined || missing.length > 0)
    throw new CniError(
      errorCode.invalidEnvironment,
      `required environment variables are missing: ${missing.join(', ')}`,
    );
  return command;
}

/** @throws CniError 3 */
export function containerIdOf(environment: Environment): string {
  const value = environment.get('CNI_CONTAINERID') ?? '';
  if (!identifier.test(value))
    throw new CniError(errorCode.unknownContainer, `CNI_CONTAINERID ${JSON.stringify(value)} is not a container id`);
  return value;
}

/** @throws CniError 4 */
export function interfaceNameOf(environment: Environment): string {
  const value = environment.get('CNI_IFNAME') ?? '';
  const isTooLong = Buffer.byteLength(value) > 15;
  if (value === '' || isTooLong || value === '.' || value === '..' || notInNames.test(value)) {
    throw new CniError(
      errorCode.invalidEnvironment,
      `CNI_IFNAME ${JSON.stringify(value)} is not an interface name: 1 to 15 bytes without "/", ":", "%", spaces and control characters`,
    );
  }
  return value;
}

/** Whether the caller allows CNI_NETNS to be the network namespace of the node. */
export function allowsOwnNetns(environment: Environment): boolean {
  return ['1', 'TRUE'].includes(environment.get('CNI_NETNS_OVERRIDE')?.toUpperCase() ?? '');
}

/**
 * Keys that request an address by CNI's conventions, and the annotation to use instead. IgnoreUnknown does not apply to them: ignoring
 * them would silently give the pod another address than the requested one.
 */
const requests = { IP: 'ip_address', MAC: 'mac_address' } as const;

/** Parses CNI_ARGS. @param provider of the interface @throws CniError 4 */
export function podArgumentsOf(environment: Environment, provider: string): PodArguments {
  const values = new Map<string, string>();
  for (const pair of (environment.get('CNI_ARGS') ?? '').split(';').filter((part) => part !== '')) {
    const equals = pair.indexOf('=');
    if (equals < 1)
      throw new CniError(
        errorCode.invalidEnvironment,
        `CNI_ARGS has ${JSON.stringify(pair)} where KEY=VALUE is expected`,
      );
    values.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  for (const [key, name] of Object.entries(requests)) {
    const value = values.get(key) ?? '';
    if (value === '') continue;
    throw new CniError(
      errorCode.invalidEnvironment,
      `CNI_ARGS has ${key}=${value.slice(0, 64)}, but isthmus takes no address from CNI_ARGS`,
      `give the pod the annotation ${provider}.kubernetes.io/${name}`,
    );
  }
  const unknown = [...values.keys()].filter((key) => !argumentNames.has(key) && !(key in requests));
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
