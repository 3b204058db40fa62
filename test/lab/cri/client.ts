/**
 * A client of the Container Runtime Interface, as kubelet is one: sandboxes, containers, the state of the runtime. In:
 * requests in the words of `runtime.proto`; out: its answers, or a CriError with the runtime's own sentence.
 */
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import type {
  Container,
  ContainerConfig,
  ExecAnswer,
  RuntimeCondition,
  Sandbox,
  SandboxConfig,
  SandboxDetails,
  SandboxState,
} from './messages.ts';

/** A server may answer with a code that gRPC does not define. */
const statusNames: Readonly<Record<number, string>> = grpc.status;

/** The runtime refused, cannot be reached, or took too long; `code` is gRPC's name, such as `UNAVAILABLE`. */
export class CriError extends Error {
  readonly code: string;
  constructor(method: string, { code, details }: Pick<grpc.ServiceError, 'code' | 'details'>) {
    super(`${method}: ${details}`);
    this.name = 'CriError';
    this.code = statusNames[code] ?? 'UNKNOWN';
  }
}

export interface CriOptions {
  /** Path of the runtime's socket. */
  readonly socket: string;
  /** Deadline of every call, in milliseconds. Kubelet waits two minutes for a runtime. */
  readonly timeoutMs?: number;
}

const kubeletTimeoutMs = 120_000;
const runtimeService = 'runtime.v1.RuntimeService';
const imageService = 'runtime.v1.ImageService';

const definition = loadSync(join(import.meta.dirname, 'runtime.proto'), {
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
  arrays: true,
  objects: true,
});

function serviceOf(name: string): ServiceDefinition {
  const service = definition[name];
  if (service === undefined || 'format' in service) throw new Error(`runtime.proto has no service ${name}`);
  return service;
}

export class CriClient {
  readonly #client: grpc.Client;
  readonly #timeoutMs: number;

  constructor({ socket, timeoutMs = kubeletTimeoutMs }: CriOptions) {
    this.#timeoutMs = timeoutMs;
    this.#client = new grpc.Client(`unix:${socket}`, grpc.credentials.createInsecure(), {
      'grpc.enable_http_proxy': 0,
      'grpc.max_receive_message_length': 16 << 20,
      // Reconnects soon after a runtime was killed: the lab kills runtimes.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.min_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1000,
      // By default the socket's path is sent as the authority, and containerd's gRPC refuses it because it is not a host.
      'grpc.default_authority': 'localhost',
    });
  }

  /** Makes a sandbox with its network. When `signal` aborts, the call is cancelled and the runtime undoes it. @throws CriError */
  async runPodSandbox(config: SandboxConfig, signal?: AbortSignal): Promise<string> {
    const answer = await this.#call<{ pod_sandbox_id: string }>('RunPodSandbox', { config }, signal);
    return answer.pod_sandbox_id;
  }

  /** Ends the sandbox's processes and takes its network away; nothing there is no error. @throws CriError */
  async stopPodSandbox(id: string): Promise<void> {
    await this.#call('StopPodSandbox', { pod_sandbox_id: id });
  }

  /** @throws CriError */
  async removePodSandbox(id: string): Promise<void> {
    await this.#call('RemovePodSandbox', { pod_sandbox_id: id });
  }

  /** All sandboxes, or those that have the labels. @throws CriError */
  async listPodSandbox(labels: Readonly<Record<string, string>> = {}): Promise<Sandbox[]> {
    const filter = { label_selector: labels };
    return (await this.#call<{ items: Sandbox[] }>('ListPodSandbox', { filter })).items;
  }

  /** @throws CriError */
  async podSandboxStatus(id: string): Promise<SandboxDetails> {
    const request = { pod_sandbox_id: id, verbose: true };
    const answer = await this.#call<{ status: SandboxStatus; info: { info: string } }>('PodSandboxStatus', request);
    return detailsOf(answer.status, answer.info.info);
  }

  /** Makes and starts a container in a sandbox. @throws CriError */
  async runContainer(sandboxId: string, config: ContainerConfig, sandbox: SandboxConfig): Promise<string> {
    const request = { pod_sandbox_id: sandboxId, config, sandbox_config: sandbox };
    const { container_id } = await this.#call<{ container_id: string }>('CreateContainer', request);
    await this.#call('StartContainer', { container_id });
    return container_id;
  }

  /** @throws CriError */
  async removeContainer(id: string): Promise<void> {
    await this.#call('RemoveContainer', { container_id: id });
  }

  /** All containers, or those of a sandbox. @throws CriError */
  async listContainers(sandboxId = ''): Promise<Container[]> {
    const filter = { pod_sandbox_id: sandboxId };
    return (await this.#call<{ containers: Container[] }>('ListContainers', { filter })).containers;
  }

  /** Runs a program in a container to its end. @throws CriError */
  async exec(containerId: string, cmd: readonly string[], timeoutSeconds = 20): Promise<ExecAnswer> {
    const request = { container_id: containerId, cmd, timeout: timeoutSeconds };
    const answer = await this.#call<{ stdout: Buffer; stderr: Buffer; exit_code: number }>('ExecSync', request);
    return { code: answer.exit_code, stdout: answer.stdout.toString(), stderr: answer.stderr.toString() };
  }

  /** Whether the runtime itself and its network are ready. @throws CriError */
  async conditions(): Promise<readonly RuntimeCondition[]> {
    return (await this.#call<{ status: { conditions: RuntimeCondition[] } }>('Status', {})).status.conditions;
  }

  /** The names of the images that are there. @throws CriError */
  async images(): Promise<string[]> {
    const { images } = await this.#call<{ images: { repo_tags: string[] }[] }>(
      'ListImages',
      {},
      undefined,
      imageService,
    );
    return images.flatMap(({ repo_tags }) => repo_tags);
  }

  close(): void {
    this.#client.close();
  }

  #call<T>(name: string, request: object, signal?: AbortSignal, service = runtimeService): Promise<T> {
    const method = serviceOf(service)[name];
    if (method === undefined) throw new Error(`runtime.proto has no ${name}`);
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        (bytes) => method.responseDeserialize(bytes) as T,
        request,
        { deadline: Date.now() + this.#timeoutMs },
        (error, answer) => {
          signal?.removeEventListener('abort', cancel);
          if (error) reject(new CriError(name, error));
          else resolve(answer as T);
        },
      );
      const cancel = (): void => call.cancel();
      if (signal?.aborted === true) cancel();
      signal?.addEventListener('abort', cancel);
    });
  }
}

interface SandboxStatus {
  readonly id: string;
  readonly state: SandboxState;
  readonly network: { readonly ip: string; readonly additional_ips: readonly { readonly ip: string }[] } | null;
}

/** containerd's additional information in a verbose response. */
interface VerboseInfo {
  readonly pid: number;
  readonly runtimeSpec?: { readonly linux?: { readonly namespaces?: readonly { type: string; path?: string }[] } };
}

function detailsOf({ id, state, network }: SandboxStatus, verbose: string): SandboxDetails {
  const { pid, runtimeSpec } = JSON.parse(verbose) as VerboseInfo;
  const addresses = network === null ? [] : [network.ip, ...network.additional_ips.map(({ ip }) => ip)];
  return {
    id,
    state,
    pid,
    netns: runtimeSpec?.linux?.namespaces?.find(({ type }) => type === 'network')?.path ?? '',
    addresses: addresses.filter((address) => address !== ''),
  };
}
