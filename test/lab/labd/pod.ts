/** Pods and nodes as the lab's runtime sees them; everything else of the objects is dropped here. */
import type { RawObject } from '../../../lib/kube/types.ts';

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string | undefined;
  readonly isHostNetwork: boolean;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly isFinished: boolean;
  readonly isDeleting: boolean;
  /** Deleted for good, and kept by finalizers only. */
  readonly isReleased: boolean;
  readonly isRunning: boolean;
  readonly address: string | undefined;
  readonly containers: readonly Container[];
  readonly hostname: string | undefined;
  readonly dnsPolicy: string;
  readonly dnsConfig: DnsConfig;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly Port[];
}
/** A port of a container; `hostPort` is 0 where the node has none for it. */
export interface Port {
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIP: string;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
}
export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface Node {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly canTakePods: boolean;
}

interface RawSpec {
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly hostname?: string;
  readonly dnsPolicy?: string;
  readonly dnsConfig?: {
    readonly nameservers?: readonly string[];
    readonly searches?: readonly string[];
    readonly options?: readonly { readonly name?: string; readonly value?: string }[];
  };
  readonly containers?: readonly RawContainer[];
}
interface RawPod {
  readonly spec?: RawSpec;
  readonly status?: { readonly phase?: string; readonly podIP?: string };
  readonly metadata: RawObject['metadata'] & { readonly deletionGracePeriodSeconds?: number };
}

interface RawContainer {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly (Partial<Port> & { readonly containerPort: number })[];
}

export function parsePod(raw: RawObject): Pod {
  const { metadata, spec = {}, status = {} } = raw as unknown as RawPod;
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    uid: metadata.uid,
    node: spec.nodeName === '' ? undefined : spec.nodeName,
    isHostNetwork: spec.hostNetwork ?? false,
    nodeSelector: spec.nodeSelector ?? {},
    isFinished: status.phase === 'Succeeded' || status.phase === 'Failed',
    isDeleting: metadata.deletionTimestamp !== undefined,
    isReleased: metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0,
    isRunning: status.phase === 'Running',
    address: status.podIP,
    containers: (spec.containers ?? []).map(parseContainer),
    hostname: spec.hostname,
    dnsPolicy: spec.dnsPolicy ?? 'ClusterFirst',
    dnsConfig: parseDns(spec.dnsConfig),
  };
}

function parseContainer({ name, image = '', command = [], args = [], env = [], ports = [] }: RawContainer): Container {
  return {
    name,
    image,
    command,
    args,
    env: env.map((entry) => ({ name: entry.name, value: entry.value ?? '' })),
    ports: ports.map(({ containerPort, hostPort = 0, hostIP = '', protocol = 'TCP' }) => ({
      containerPort,
      hostPort,
      hostIP,
      protocol,
    })),
  };
}

function parseDns({
  nameservers = [],
  searches = [],
  options = [],
}: NonNullable<RawSpec['dnsConfig']> = {}): DnsConfig {
  return {
    servers: nameservers,
    searches,
    options: options.map(({ name = '', value }) => (value === undefined ? name : `${name}:${value}`)),
  };
}

export function parseNode(raw: RawObject): Node {
  const { spec, status } = raw as unknown as {
    spec?: { unschedulable?: boolean };
    status?: { conditions?: { type: string; status: string }[] };
  };
  const isTrue = (type: string): boolean =>
    status?.conditions?.some((c) => c.type === type && c.status === 'True') ?? false;
  return {
    name: raw.metadata.name,
    labels: raw.metadata.labels ?? {},
    canTakePods: isTrue('Ready') && !isTrue('NetworkUnavailable') && !(spec?.unschedulable ?? false),
  };
}

/** The node for a pod: the one with the fewest pods among those it may run on; by name where they are equal. */
export function chooseNode(pod: Pod, nodes: Iterable<Node>, podsOn: ReadonlyMap<string, number>): string | undefined {
  const wanted = Object.entries(pod.nodeSelector);
  const fitting = [...nodes].filter(
    (node) => node.canTakePods && wanted.every(([key, value]) => node.labels[key] === value),
  );
  const load = (node: Node): number => podsOn.get(node.name) ?? 0;
  return fitting.toSorted((a, b) => load(a) - load(b) || a.name.localeCompare(b.name))[0]?.name;
}

/** The status that kubelet would report for a running pod. */
export function runningStatus(pod: Pod, addresses: readonly string[], hostAddress: string, now: string): object {
  const condition = (type: string): object => ({ type, status: 'True', lastTransitionTime: now });
  return {
    phase: 'Running',
    startTime: now,
    hostIP: hostAddress,
    hostIPs: [{ ip: hostAddress }],
    podIP: addresses[0],
    podIPs: addresses.map((ip) => ({ ip })),
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(condition),
    containerStatuses: pod.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: '',
      containerID: `lab://${pod.uid}/${name}`,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: now } },
    })),
  };
}
