/**
 * Parses the runtime's environment and configuration to one narrow request. @throws CniError with the cause.
 * The rules are those of the CNI specification (SPEC.md, "Plugin execution") and of its reference runtime.
 */
import {
  checkNetwork,
  checkProvider,
  checkVersion,
  parseConfiguration,
  parsePrevResult,
  parseValidAttachments,
  refuseRequests,
  refuseUnsupported,
  type AttachmentId,
  type Configuration,
  type PreviousResult,
} from './configuration.ts';
import {
  allowsOwnNetns,
  containerIdOf,
  interfaceNameOf,
  parseCommand,
  podArgumentsOf,
  type Command,
  type Environment,
  type PodArguments,
} from './environment.ts';
import { CniError, errorCode } from './error.ts';
import { fallbackVersion, hasSince, type CniVersion, type ShimRequest } from './protocol.ts';

export interface AddRequest extends AttachmentId, PodArguments {
  readonly command: 'ADD';
  readonly cniVersion: CniVersion;
  /** Name of the network configuration. */
  readonly network: string;
  /** `ovn`, or `<attachment>.<namespace>.ovn` for an interface of an attachment. */
  readonly provider: string;
  /** Path of the pod's network namespace. */
  readonly netns: string;
  /** Result of the earlier plugins of the chain. */
  readonly prevResult: PreviousResult | undefined;
}

export interface CheckRequest extends AttachmentId {
  readonly command: 'CHECK';
  readonly cniVersion: CniVersion;
  readonly netns: string;
  /** Result of the whole chain for ADD. */
  readonly prevResult: PreviousResult;
}

export interface DelRequest extends AttachmentId {
  readonly command: 'DEL';
  readonly cniVersion: CniVersion;
  /** Undefined if the runtime has none any more. */
  readonly netns: string | undefined;
  readonly allowsOwnNetns: boolean;
}

export interface GcRequest {
  readonly command: 'GC';
  readonly cniVersion: CniVersion;
  readonly network: string;
  readonly provider: string;
  /** The attachments to keep; undefined if the runtime sends no list. */
  readonly valid: readonly AttachmentId[] | undefined;
}

export interface StatusRequest {
  readonly command: 'STATUS';
  readonly cniVersion: CniVersion;
}

export interface VersionRequest {
  readonly command: 'VERSION';
  /** As the runtime sent it, because VERSION is how it learns which versions are supported. */
  readonly cniVersion: string;
}

export type CniRequest = AddRequest | CheckRequest | DelRequest | GcRequest | StatusRequest | VersionRequest;

/** The first version of the specification with the command. */
const since: Readonly<Record<Exclude<Command, 'VERSION'>, CniVersion>> = {
  ADD: '0.3.1',
  DEL: '0.3.1',
  CHECK: '0.4.0',
  GC: '1.1.0',
  STATUS: '1.1.0',
};

/** The version of the answer, even if the rest of the request is broken. */
export function answerVersion(stdin: string): string {
  const version = topLevelVersion(stdin) ?? /"cniVersion"\s*:\s*"([^"]*)"/.exec(stdin)?.[1] ?? '';
  return /^[0-9.]{1,15}$/.test(version) ? version : fallbackVersion;
}

/** Parsed, because a prevResult that comes first in the text has a cniVersion of its own. */
function topLevelVersion(stdin: string): string | undefined {
  try {
    const { cniVersion } = JSON.parse(stdin) as { readonly cniVersion?: unknown };
    return typeof cniVersion === 'string' ? cniVersion : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** @throws CniError */
export function parseCniRequest({ environment, stdin }: ShimRequest): CniRequest {
  const command = parseCommand(environment);
  if (command === 'VERSION') return { command, cniVersion: answerVersion(stdin) };
  const config = parseConfiguration(stdin);
  const cniVersion = checkVersion(config.cniVersion);
  if (!hasSince(cniVersion, since[command]))
    throw new CniError(
      errorCode.incompatibleVersion,
      `${command} requires CNI ${since[command]}, but the network configuration has cniVersion ${cniVersion}`,
      `set "cniVersion" of the network configuration to ${since[command]} or newer`,
    );
  const network = checkNetwork(config);
  if (command === 'STATUS') return { command, cniVersion };
  if (command === 'GC')
    return { command, cniVersion, network, provider: checkProvider(config), valid: parseValidAttachments(config) };
  const id = { containerId: containerIdOf(environment), ifname: interfaceNameOf(environment) };
  const netns = environment.get('CNI_NETNS') ?? '';
  // DEL ignores the rest of the configuration, so that an attachment can be removed even if its configuration is wrong by now.
  if (command === 'DEL')
    return { command, cniVersion, ...id, netns: netns || undefined, allowsOwnNetns: allowsOwnNetns(environment) };
  refuseUnsupported(config);
  if (command === 'CHECK') return { command, cniVersion, ...id, netns, prevResult: requiredPrevResult(config) };
  return parseAdd({ cniVersion, network, ...id, netns }, config, environment);
}

function parseAdd(
  parsed: Pick<AddRequest, 'cniVersion' | 'network' | 'containerId' | 'ifname' | 'netns'>,
  config: Configuration,
  environment: Environment,
): AddRequest {
  const provider = checkProvider(config);
  refuseRequests(config, provider);
  return {
    command: 'ADD',
    ...parsed,
    provider,
    ...podArgumentsOf(environment, provider),
    prevResult: parsePrevResult(config),
  };
}

function requiredPrevResult(config: Configuration): PreviousResult {
  const result = parsePrevResult(config);
  if (result === undefined)
    throw new CniError(
      errorCode.invalidConfig,
      'CHECK needs prevResult in the network configuration',
      'the runtime must pass the cached result of ADD',
    );
  return result;
}
