/**
 * Services as Kubernetes documents them, for comparison with packets. In: the objects, as they are in the API, a client and an address of a
 * Service; out: the endpoints that may answer, or that the client is rejected or hears nothing. Pure, and written from the documents of Kubernetes:
 * nothing of the product is imported but the arithmetic of addresses.
 */
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { type Family, parseIp } from '../../lib/net/ip.ts';

export type Protocol = 'TCP' | 'UDP';

export interface ServicePort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly targetPort: number | string;
  readonly nodePort?: number;
}

/** A Service with the fields that the model reads. */
export interface Service {
  readonly spec: {
    readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer';
    readonly clusterIPs: readonly string[];
    readonly ports: readonly ServicePort[];
    readonly selector?: Readonly<Record<string, string>>;
    readonly externalIPs?: readonly string[];
    readonly internalTrafficPolicy?: 'Cluster' | 'Local';
    readonly externalTrafficPolicy?: 'Cluster' | 'Local';
    readonly sessionAffinity?: 'None' | 'ClientIP';
    readonly publishNotReadyAddresses?: boolean;
    readonly loadBalancerSourceRanges?: readonly string[];
    readonly healthCheckNodePort?: number;
  };
  readonly status?: {
    readonly loadBalancer?: {
      readonly ingress?: readonly { readonly ip?: string; readonly ipMode?: 'VIP' | 'Proxy' }[];
    };
  };
}

/** An endpoint of an EndpointSlice. */
export interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly nodeName?: string;
  readonly conditions: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  readonly hints?: {
    readonly forZones?: readonly { readonly name: string }[];
    readonly forNodes?: readonly { readonly name: string }[];
  };
}

export interface Slice {
  /** Name of the Service. */
  readonly service: string;
  readonly addressType: 'IPv4' | 'IPv6';
  readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly port: number }[];
  readonly endpoints: readonly SliceEndpoint[];
}

/** A pod that selectors may find. Kubernetes itself makes the slices of such Services. */
export interface Pod {
  readonly node: string;
  /** One of each family. */
  readonly addresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly isReady: boolean;
  /** Numbers of its container ports by name; all of them are of TCP. */
  readonly ports: Readonly<Record<string, number>>;
}

export interface Node {
  readonly zone: string | undefined;
  /** One of each family, as in the following lists. */
  readonly addresses: readonly string[];
  /** The source of its processes in the pod network. */
  readonly join: readonly string[];
  /** The source of clients outside, if policy Cluster replaces it. */
  readonly service: readonly string[];
}

export interface World {
  readonly services: ReadonlyMap<string, Service>;
  readonly slices: ReadonlyMap<string, Slice>;
  readonly pods: ReadonlyMap<string, Pod>;
  readonly nodes: ReadonlyMap<string, Node>;
}

export type Client =
  | { readonly kind: 'pod'; readonly node: string; readonly addresses: readonly string[] }
  /** A process in the network of a node, or a pod with hostNetwork. */
  | { readonly kind: 'node'; readonly node: string; readonly addresses: readonly string[] }
  /** Its packets for addresses other than those of nodes enter the cluster at `node`. */
  | { readonly kind: 'outside'; readonly node: string; readonly addresses: readonly string[] }
  /** A pod of a VPC without Services and without a way out. */
  | { readonly kind: 'apart' };

export type FrontendKind = 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'externalIP' | 'unknown port' | 'unallocated';

export interface Frontend {
  /** Empty for an unallocated address. */
  readonly service: string;
  readonly kind: FrontendKind;
  readonly family: Family;
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
  /** Name of the Service's port. */
  readonly portName: string;
  /** The node of a NodePort's address. */
  readonly node?: string;
}

export interface Answering {
  readonly kind: 'answered';
  /** The source that the endpoint sees, by `address port` of each endpoint that may answer. */
  readonly by: ReadonlyMap<string, string>;
  /** Whether one client has one of them all the time. */
  readonly isSticky: boolean;
}

export type Outcome = Answering | { readonly kind: 'rejected' } | { readonly kind: 'dropped' };

interface Endpoint {
  readonly address: string;
  readonly port: number;
  readonly node: string | undefined;
  readonly isReady: boolean;
  /** Serves while it terminates. */
  readonly isLeaving: boolean;
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

const rejected = { kind: 'rejected' } as const;
const dropped = { kind: 'dropped' } as const;
/** The source of a pod that is its own endpoint. */
const hairpin: Readonly<Record<Family, string>> = { 4: '169.254.169.5', 6: 'fd69::5' };
/** No Service of the tests has it. */
const unknownPort = 9;

export function familyOf(address: string): Family {
  return address.includes(':') ? 6 : 4;
}

function inFamily(addresses: readonly string[], family: Family): string {
  return addresses.find((one) => familyOf(one) === family) ?? '';
}

/** All addresses with ports at which a Service is reached, and some at which it is not. */
export function frontendsOf({ services, nodes }: World): readonly Frontend[] {
  const all: Frontend[] = [];
  for (const [service, { spec, status }] of services) {
    const families = new Set(spec.clusterIPs.map(familyOf));
    const add = (kind: FrontendKind, addresses: readonly string[], port: ServicePort, more: object = {}): void => {
      for (const address of addresses) {
        const family = familyOf(address);
        if (!families.has(family)) continue;
        const { protocol, port: number, name: portName } = port;
        all.push({ service, kind, family, protocol, address, port: number, portName, ...more });
      }
    };
    for (const port of spec.ports) {
      add('ClusterIP', spec.clusterIPs, port);
      add('externalIP', spec.externalIPs ?? [], port);
      if (spec.type === 'LoadBalancer') add('LoadBalancer', balancerAddresses(status), port);
      if (port.nodePort !== undefined)
        for (const [node, { addresses }] of nodes) add('NodePort', addresses, port, { port: port.nodePort, node });
    }
    for (const protocol of ['TCP', 'UDP'] as const)
      add('unknown port', spec.clusterIPs, { name: '', protocol, port: unknownPort, targetPort: 0 });
  }
  return all;
}

function balancerAddresses(status: Service['status']): readonly string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, ipMode = 'VIP' }) =>
    ip === undefined || ipMode === 'Proxy' ? [] : [ip],
  );
}

/** Undefined where Kubernetes documents nothing: a client outside and an address that is only for clients inside. */
export function outcomeOf(world: World, client: Client, frontend: Frontend): Outcome | undefined {
  if (client.kind === 'apart') return dropped;
  const isInside = client.kind !== 'outside';
  switch (frontend.kind) {
    case 'unallocated':
      return isInside ? dropped : undefined;
    case 'unknown port':
      return isInside ? rejected : undefined;
    case 'ClusterIP':
      return isInside ? atClusterIp(world, client, frontend) : undefined;
    case 'NodePort':
    case 'LoadBalancer':
    case 'externalIP':
      return atExternalAddress(world, client, frontend);
  }
}

type Placed = Exclude<Client, { readonly kind: 'apart' }>;

function atClusterIp(world: World, client: Placed, frontend: Frontend): Outcome {
  const { spec } = serviceOf(world, frontend);
  const endpoints = endpointsOf(world, frontend);
  const usable = available(endpoints);
  if (usable.length === 0) return rejected;
  const isLocal = spec.internalTrafficPolicy === 'Local';
  const chosen = isLocal ? availableOn(endpoints, client.node) : near(world, endpoints, client.node);
  return answered(world, { client, frontend, place: client.node, isOutside: false }, chosen);
}

/** Clients on the node that translates are short-circuited: externalTrafficPolicy is for the others. */
function atExternalAddress(world: World, client: Placed, frontend: Frontend): Outcome {
  const { spec } = serviceOf(world, frontend);
  const place = frontend.node ?? client.node;
  const isOutside = client.kind === 'outside' || client.node !== place;
  const ranges = frontend.kind === 'LoadBalancer' ? (spec.loadBalancerSourceRanges ?? []) : [];
  const source = inFamily(client.addresses, frontend.family);
  if (ranges.length > 0 && !ranges.some((range) => contains(range, source))) return dropped;
  const endpoints = endpointsOf(world, frontend);
  if (available(endpoints).length === 0) return rejected;
  const isLocal = isOutside && spec.externalTrafficPolicy === 'Local';
  const chosen = isLocal ? availableOn(endpoints, place) : near(world, endpoints, place);
  return answered(world, { client, frontend, place, isOutside }, chosen);
}

function contains(range: string, address: string): boolean {
  const [cidr, ip] = [parseCidr(range), parseIp(address)];
  if (cidr === undefined || ip === undefined) throw new Error(`${range} or ${address} is no address`);
  return cidr.family === ip.family && cidrContains(cidr, ip);
}

function serviceOf({ services }: World, { service }: Frontend): Service {
  const found = services.get(service);
  if (found === undefined) throw new Error(`no Service ${service}`);
  return found;
}

/** Ready endpoints; without any, those that serve while they terminate. */
function available(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  return ready.length > 0 ? ready : endpoints.filter(({ isLeaving }) => isLeaving);
}

function availableOn(endpoints: readonly Endpoint[], node: string): readonly Endpoint[] {
  return available(endpoints.filter((one) => one.node === node));
}

/** Hints count only if all ready endpoints have them and one of them is for this place; those for nodes come first. */
function near(world: World, endpoints: readonly Endpoint[], node: string): readonly Endpoint[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const zone = world.nodes.get(node)?.zone;
  const forNode = ready.every(({ nodes }) => nodes.length > 0) ? ready.filter(({ nodes }) => nodes.includes(node)) : [];
  if (forNode.length > 0) return forNode;
  const isZoned = zone !== undefined && ready.every(({ zones }) => zones.length > 0);
  const forZone = isZoned ? ready.filter(({ zones }) => zones.includes(zone)) : [];
  return forZone.length > 0 ? forZone : available(endpoints);
}

function endpointsOf(world: World, frontend: Frontend): readonly Endpoint[] {
  const { spec } = serviceOf(world, frontend);
  const found = new Map<string, Endpoint>();
  const all = spec.selector === undefined ? ofSlices(world, frontend) : ofPods(world, spec, frontend);
  for (const endpoint of all) {
    const key = `${endpoint.address} ${endpoint.port}`;
    const before = found.get(key);
    if (before === undefined || rank(endpoint) > rank(before)) found.set(key, endpoint);
  }
  return [...found.values()];
}

/** While an endpoint moves between slices it is in both: the better state is the newer one. */
function rank({ isReady, isLeaving }: Endpoint): number {
  return isReady ? 2 : Number(isLeaving);
}

function ofSlices({ slices }: World, { service, family, protocol, portName }: Frontend): readonly Endpoint[] {
  return [...slices.values()]
    .filter((slice) => slice.service === service && slice.addressType === `IPv${family}`)
    .flatMap(({ ports, endpoints }) =>
      ports
        .filter((port) => port.name === portName && port.protocol === protocol)
        .flatMap(({ port }) => endpoints.flatMap((endpoint) => ofSlice(endpoint, port))),
    );
}

/** Consumers use the first address; the API defines the others as equivalent. Missing conditions: ready, and not terminating. */
function ofSlice({ addresses: [address = ''], nodeName, conditions, hints }: SliceEndpoint, port: number): Endpoint {
  const { ready = true, serving = ready, terminating = false } = conditions;
  return {
    address,
    port,
    node: nodeName,
    isReady: ready,
    isLeaving: serving && terminating,
    zones: (hints?.forZones ?? []).map(({ name }) => name),
    nodes: (hints?.forNodes ?? []).map(({ name }) => name),
  };
}

function ofPods({ pods }: World, spec: Service['spec'], { family, portName, protocol }: Frontend): readonly Endpoint[] {
  const target = spec.ports.find((one) => one.name === portName && one.protocol === protocol)?.targetPort;
  return [...pods.values()].flatMap(({ node, addresses, labels, isReady, ports }) => {
    const isSelected = Object.entries(spec.selector ?? {}).every(([key, value]) => labels[key] === value);
    // A name counts only with its protocol.
    const port = typeof target === 'number' ? target : protocol === 'TCP' ? ports[target ?? ''] : undefined;
    if (!isSelected || port === undefined) return [];
    const isPublished = isReady || spec.publishNotReadyAddresses === true;
    return [
      {
        address: inFamily(addresses, family),
        port,
        node,
        isReady: isPublished,
        isLeaving: false,
        zones: [],
        nodes: [],
      },
    ];
  });
}

interface Way {
  readonly client: Placed;
  readonly frontend: Frontend;
  /** The node that translates. */
  readonly place: string;
  /** Whether externalTrafficPolicy applies. */
  readonly isOutside: boolean;
}

function answered(world: World, way: Way, endpoints: readonly Endpoint[]): Outcome {
  if (endpoints.length === 0) return dropped;
  const { spec } = serviceOf(world, way.frontend);
  const by = endpoints.map(({ address, port }) => [`${address} ${port}`, sourceAt(world, way, address)] as const);
  return { kind: 'answered', by: new Map(by), isSticky: spec.sessionAffinity === 'ClientIP' };
}

/** The source that the endpoint sees: that of the client, unless the answer would not come back through the same translation. */
function sourceAt(world: World, way: Way, endpoint: string): string {
  const { client, frontend, place, isOutside } = way;
  const { family, kind } = frontend;
  const node = world.nodes.get(place);
  if (node === undefined) throw new Error(`no node ${place}`);
  const own = inFamily(client.addresses, family);
  const isHost = [...world.nodes.values()].some(({ addresses }) => addresses.includes(endpoint));
  const isHere = node.addresses.includes(endpoint);
  const { spec } = serviceOf(world, frontend);
  if (client.kind === 'pod') {
    const isFiltered = kind === 'LoadBalancer' && (spec.loadBalancerSourceRanges ?? []).length > 0;
    // The pod's switch translates, or the node.
    if (kind !== 'NodePort' && !isFiltered) return endpoint === own ? hairpin[family] : own;
    return throughNode(node, { own, family, isHost, isHere });
  }
  if (kind !== 'ClusterIP' && spec.externalTrafficPolicy === 'Local') return own;
  if (client.kind === 'node' && !isOutside) return isHost ? own : inFamily(node.join, family);
  return throughNode(node, { own, family, isHost, isHere });
}

function throughNode(
  node: Node,
  { own, family, isHost, isHere }: { own: string; family: Family; isHost: boolean; isHere: boolean },
): string {
  if (isHere) return own;
  return inFamily(isHost ? node.addresses : node.service, family);
}

/** Local ready endpoints, by which the health check of a Service with externalTrafficPolicy Local answers. */
export function healthyEndpoints(world: World, service: string, node: string): number {
  const { spec } = serviceOf(world, { service } as Frontend);
  const addresses = spec.ports.flatMap(({ name, protocol }) =>
    spec.clusterIPs.map(familyOf).flatMap((family) =>
      endpointsOf(world, { service, family, protocol, portName: name } as Frontend)
        .filter((one) => one.isReady && one.node === node)
        .map(({ address }) => address),
    ),
  );
  return new Set(addresses).size;
}
