/** The messages of `runtime.proto` that callers of the client see, in its own words. */

export interface SandboxConfig {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    /** Counts the sandboxes of one pod, from 0. The runtime refuses the same attempt twice. */
    readonly attempt: number;
  };
  readonly hostname?: string;
  readonly log_directory?: string;
  readonly dns_config?: DnsConfig;
  readonly port_mappings?: readonly PortMapping[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly linux?: { readonly cgroup_parent: string };
}
export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}
export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly container_port: number;
  readonly host_port: number;
  readonly host_ip: string;
}

export type SandboxState = 'SANDBOX_READY' | 'SANDBOX_NOTREADY';

export interface Sandbox {
  readonly id: string;
  readonly metadata: SandboxConfig['metadata'];
  readonly state: SandboxState;
  readonly labels: Readonly<Record<string, string>>;
}
export interface SandboxDetails {
  readonly id: string;
  readonly state: SandboxState;
  /** Of the sandbox's own process; 0 when it has ended. */
  readonly pid: number;
  /** Path of the network namespace. */
  readonly netns: string;
  readonly addresses: readonly string[];
}

export interface ContainerConfig {
  readonly metadata: { readonly name: string; readonly attempt: number };
  readonly image: { readonly image: string };
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly envs?: readonly { readonly key: string; readonly value: string }[];
  readonly log_path?: string;
}
export interface Container {
  readonly id: string;
  readonly pod_sandbox_id: string;
  readonly metadata: ContainerConfig['metadata'];
  readonly state: 'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED' | 'CONTAINER_UNKNOWN';
}
export interface ExecAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RuntimeCondition {
  /** `RuntimeReady` or `NetworkReady`. */
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}
