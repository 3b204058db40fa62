/**
 * Explains how a client reaches a Service: its VPC and addresses, the endpoints that serve the client, and the rows in OVN or elements in
 * nftables that translate its packets; otherwise the obstacles. In: one reading. Out: values for rendering. Pure. The rules for endpoints
 * are those of all rooms (`lib/services/backends.ts`).
 */
import { annotation, defaultVpc, gatePort } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains, parseCidr } from '../../../lib/net/cidr.ts';
import { parseIp, type Family } from '../../../lib/net/ip.ts';
import {
  type Backend,
  backendKey,
  backendsAt,
  backendsOf,
  clusterBackends,
  localBackends,
  type Place,
  topologyAt,
} from '../../../lib/services/backends.ts';
import {
  type Endpoint,
  type EndpointSlice,
  servedExternalIps,
  serviceKey,
  type Service,
  type ServicePort,
  sourceRangesOf,
} from '../../../lib/services/service.ts';
import { ovnProtocols, vipId } from '../../../lib/services/vips.ts';
import type { ServiceReading, Surroundings, ValidatedDns } from '../../model/service-reading.ts';
import { holdersOf } from './holders.ts';
import { vpcOf } from './vpc.ts';

export type AddressKind = 'ClusterIP' | 'LoadBalancer' | 'ExternalIP' | 'NodePort' | 'SwitchLBRule';

/** One address with one port, and how the client gets from there to an endpoint. */
export interface AddressAnswer {
  readonly kind: AddressKind;
  /** Of a NodePort: empty, it is each node's. */
  readonly address: string;
  readonly port: number;
  readonly protocol: ServicePort['protocol'];
  /** The row or element that serves the client; undefined if none does. */
  readonly through: string | undefined;
  /** The object that has the address instead: `Service default/web`, `SwitchLBRule web` or `VpcDns dns`. */
  readonly holder?: string;
  /** `address:port` of the endpoints that serve the client. */
  readonly endpoints: readonly string[];
  /** The row by which OVN checks the endpoints of a SwitchLBRule; undefined if it checks none. */
  readonly healthCheck?: string;
}

export interface EndpointAnswer {
  /** Name of the port, or its number if it has no name. */
  readonly port: string;
  readonly endpoint: string;
  readonly node: string;
  readonly pod: string | undefined;
  readonly state: 'ready' | 'terminating' | 'not ready';
  /** State of the row in Service_Monitor, for a SwitchLBRule, as its status has it. */
  readonly check?: { readonly state: string; readonly reason?: string };
  /** Whether the ClusterIP sends the client there. */
  readonly isServing: boolean;
  /** Why it is not. */
  readonly why: string;
}

export interface ServiceWhy {
  readonly service: string;
  /** The SwitchLBRule that the Service is of. */
  readonly rule?: string;
  readonly type: string;
  readonly vpc: string;
  /** What decides the VPC. */
  readonly vpcFrom: string;
  readonly client: string;
  readonly isServed: boolean;
  readonly addresses: readonly AddressAnswer[];
  readonly endpoints: readonly EndpointAnswer[];
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly problems: readonly Problem[];
}

export interface Client {
  readonly text: string;
  /** Undefined: anywhere. */
  readonly place: Place | undefined;
  readonly addresses: readonly string[];
  /** Where its packets are translated. */
  readonly at: 'ovn' | 'node';
  /** Undefined: the VPC of the Service. */
  readonly vpc: string | undefined;
  /** Why OVN does not translate the packets of a pod. */
  readonly detour: string | undefined;
}

export function explainService(all: ServiceReading): ServiceWhy {
  const { vpc, from } = vpcOf(all);
  const { reading, strangers } = splitByVpc(all, vpc);
  const { service, slices } = reading;
  const client = clientOf(reading, vpc);
  const gate = client.vpc !== vpc && client.at === 'ovn' ? reading.gate : undefined;
  const problems: Problem[] = [...unservedProblems(service), ...clientProblems(reading, client, gate?.vpc ?? vpc)];
  const isReached = problems.length === 0;
  const addressesThere = (): readonly AddressAnswer[] =>
    gate === undefined ? addressesOf(reading, client, vpc) : addressesByGate(reading, client, gate);
  const addresses = isReached ? addressesThere() : [];
  const endpoints = service.ports.flatMap((port) =>
    familiesOf(service).flatMap((family) => [
      ...endpointsOf(service, port, backendsOf(slices, port, family), client),
      ...strangersOf(all, port, backendsOf(strangers, port, family)),
    ]),
  );
  problems.push(
    ...conditionProblems(service),
    ...endpointProblems(reading, client, strangers),
    ...settingProblems(reading, client),
  );
  return {
    service: serviceKey(service),
    type: service.type,
    vpc,
    vpcFrom: from,
    client: client.text,
    isServed: areServed(addresses),
    addresses,
    endpoints,
    conditions: shownConditions(service),
    problems,
  };
}

export function areServed(addresses: readonly AddressAnswer[]): boolean {
  return addresses.some(({ through, endpoints }) => through !== undefined && endpoints.length > 0);
}

export function shownConditions({ conditions }: Pick<Service, 'conditions'>): ServiceWhy['conditions'] {
  return conditions.map(({ type, status, reason = '', message = '' }) => ({ type, status, reason, message }));
}

/** Endpoints in other VPCs serve nobody: there, or for nodes, another pod may have the address. */
export function splitByVpc(
  reading: ServiceReading,
  vpc: string,
): { readonly reading: ServiceReading; readonly strangers: readonly EndpointSlice[] } {
  const isStranger = ({ pod = '' }: Endpoint): boolean => !['', vpc].includes(reading.pods.get(pod)?.vpc ?? '');
  const withThose = (isMeant: (endpoint: Endpoint) => boolean): readonly EndpointSlice[] =>
    reading.slices.map((slice) => ({ ...slice, endpoints: slice.endpoints.filter(isMeant) }));
  return {
    reading: { ...reading, slices: withThose((one) => !isStranger(one)) },
    strangers: withThose(isStranger),
  };
}

export function strangersOf(
  { pods }: ServiceReading,
  port: ServicePort,
  backends: readonly Backend[],
): readonly EndpointAnswer[] {
  return backends.map((backend) => ({
    port: nameOf(port),
    endpoint: backendKey(backend.address, backend.port),
    node: backend.node,
    pod: backend.pod,
    state: stateOf(backend),
    isServing: false,
    why: `it is in Vpc ${pods.get(backend.pod ?? '')?.vpc ?? ''}, and the Service is not`,
  }));
}

export function nameOf({ name, port }: ServicePort): string {
  return name === '' ? String(port) : name;
}

export function clientOf({ client, nodes, subnets }: Surroundings, vpc: string): Client {
  if (client === undefined)
    return {
      text: 'clients anywhere in the cluster',
      place: undefined,
      addresses: [],
      at: 'ovn',
      vpc: undefined,
      detour: undefined,
    };
  if (client.kind === 'node') {
    const { name, zone, addresses } = client.node;
    const text = `node ${name}${zone === '' ? '' : `, zone ${zone}`}`;
    return { text, place: { node: name, zone }, addresses, at: 'node', vpc: defaultVpc, detour: undefined };
  }
  const { key, node, isHostNetwork, addresses, subnet } = client.pod;
  const zone = nodes.get(node)?.zone ?? '';
  const where = [`on node ${node}`, ...(zone === '' ? [] : [`zone ${zone}`])].join(', ');
  const place = { node, zone };
  if (isHostNetwork)
    return {
      text: `pod ${key} ${where}, in the network of the node`,
      place,
      addresses,
      at: 'node',
      vpc: defaultVpc,
      detour: undefined,
    };
  const hasLoadBalancers = subnets.get(subnet)?.hasLoadBalancers ?? true;
  const detour =
    hasLoadBalancers || vpc !== defaultVpc ? undefined : `Subnet ${subnet} has no load balancers (spec.enableLb)`;
  return {
    text: `pod ${key} ${where}, in Vpc ${client.pod.vpc}, Subnet ${subnet}`,
    place,
    addresses,
    at: hasLoadBalancers ? 'ovn' : 'node',
    vpc: client.pod.vpc,
    detour,
  };
}

function unservedProblems(service: Service): readonly Problem[] {
  if (service.isServed) return [];
  if (service.type === 'ExternalName')
    return [{ code: 'ExternalName', message: 'it is a name for DNS (spec.externalName) and has no address' }];
  if (service.clusterIps.length === 0)
    return [
      {
        code: 'Headless',
        message: 'it is headless (spec.clusterIP: None): clients resolve its name to the endpoints and connect to them',
      },
    ];
  return [
    {
      code: 'OtherProxy',
      message:
        'its label service.kubernetes.io/service-proxy-name or service.kubernetes.io/headless assigns it to another program',
    },
  ];
}

/** `what` is the kind of the object that the client wants to reach. */
export function clientProblems(
  { client, settings }: Surroundings,
  { vpc: from, at }: Client,
  vpc: string,
  what = 'Service',
): readonly Problem[] {
  if (client?.kind === 'pod' && !client.pod.isHostNetwork && client.pod.vpc === '')
    return [{ code: 'NoAddress', message: `pod ${client.pod.key} has no address yet: kubectl describe pod shows why` }];
  if (from !== undefined && from !== vpc) {
    const message = `the client is in Vpc ${from} and the ${what} in Vpc ${vpc}: ${what}s serve their own Vpc; annotate the ${what} with ${annotation.vpc}: ${from} if its endpoints are reached from there`;
    return [{ code: 'OtherVpc', message }];
  }
  if (at === 'ovn' && settings.balancesInOvn === false)
    return [
      {
        code: 'LoadBalancersOff',
        message: 'OVN has no load balancers (value networking.enableLb): pods reach no Service through OVN',
      },
    ];
  return [];
}

export function familiesOf({ clusterIps }: Service): readonly Family[] {
  return [...new Set(clusterIps.flatMap((text) => parseIp(text)?.family ?? []))];
}

/** The endpoints that serve a client. Clients in the cluster reach external addresses regardless of externalTrafficPolicy. */
function servingOf(
  service: Service,
  kind: AddressKind,
  all: readonly Backend[],
  { place, detour }: Client,
): readonly Backend[] {
  if (place === undefined) return clusterBackends(all);
  if (kind === 'ClusterIP' && service.isInternalPolicyLocal)
    // The node that its packets reach need not be its own, so they are dropped.
    return detour === undefined ? localBackends(all, place.node) : [];
  return backendsAt(all, place);
}

function addressesOf(reading: ServiceReading, client: Client, vpc: string): readonly AddressAnswer[] {
  const { service, slices, settings } = reading;
  const holderOf = holdersOf(reading, { service }, { vpc, at: client.at });
  const lists: readonly (readonly [AddressKind, readonly string[]])[] = [
    ['ClusterIP', service.clusterIps],
    ['LoadBalancer', service.loadBalancerIps],
    ['ExternalIP', settings.allowsExternalIps === true ? servedExternalIps(service) : []],
  ];
  return service.ports.flatMap((port) => {
    const answer = (kind: AddressKind, address: string, family: Family): AddressAnswer => {
      const holder = holderOf(address, port);
      const through =
        holder === undefined ? throughOf(reading, client, { kind, address, family, port, vpc }) : undefined;
      const serving = servingOf(service, kind, backendsOf(slices, port, family), client);
      return {
        kind,
        address,
        port: kind === 'NodePort' ? port.nodePort : port.port,
        protocol: port.protocol,
        through,
        ...(holder === undefined ? {} : { holder }),
        endpoints: through === undefined ? [] : serving.map((one) => backendKey(one.address, one.port)),
      };
    };
    // Addresses of a family without a ClusterIP are those of other programs.
    const own = lists.flatMap(([kind, list]) =>
      list.flatMap((address) => {
        const family = parseIp(address)?.family;
        return family !== undefined && familiesOf(service).includes(family) ? [answer(kind, address, family)] : [];
      }),
    );
    return port.nodePort === 0 ? own : [...own, ...familiesOf(service).map((family) => answer('NodePort', '', family))];
  });
}

/** Pods of another VPC reach DNS and the API server by the gate of their node, which reaches the Service as the node does. */
function addressesByGate(
  { service, slices }: ServiceReading,
  client: Client,
  { name, vpc, vips }: ValidatedDns,
): readonly AddressAnswer[] {
  const node = client.place?.node ?? '';
  return service.ports.flatMap((port) =>
    service.clusterIps.flatMap((address): readonly AddressAnswer[] => {
      const family = parseIp(address)?.family;
      if (family === undefined) return [];
      const protocol = ovnProtocols[port.protocol];
      const isLed = vips.has(vipId({ protocol, address, port }));
      const row = `Load_Balancer ${gatePort(vpc)}/${protocol}/ipv${family} in group isthmus.lb.${vpc}`;
      const serving = servingOf(service, 'ClusterIP', backendsOf(slices, port, family), client);
      return [
        {
          kind: 'ClusterIP',
          address,
          port: port.port,
          protocol: port.protocol,
          through: isLed ? `${row}, then the gate of VpcDns ${name} on ${node}` : undefined,
          endpoints: isLed ? serving.map((one) => backendKey(one.address, one.port)) : [],
        },
      ];
    }),
  );
}

interface Asked {
  readonly kind: AddressKind;
  readonly address: string;
  readonly family: Family;
  readonly port: ServicePort;
  readonly vpc: string;
}

function throughOf(
  { service, client: asked, settings }: ServiceReading,
  client: Client,
  of: Asked,
): string | undefined {
  const { kind, address, family, port, vpc } = of;
  const protocol = port.protocol.toLowerCase();
  const ranges = kind === 'LoadBalancer' ? sourceRangesOf(service, family) : undefined;
  const isRanged = ranges !== undefined;
  if (client.at === 'ovn' && kind !== 'NodePort' && !isRanged) return balancerText(service, port, family, vpc);
  // Nodes serve the default VPC only.
  if (vpc !== defaultVpc) return undefined;
  if (isRanged && asked !== undefined && !isInRanges(ranges, client.addresses)) return undefined;
  const node = client.place?.node ?? 'the client’s node';
  if (settings.nodesServe !== true) return `kube-proxy on ${node}`;
  const key = kind === 'NodePort' ? `port ${port.nodePort}` : `${address} port ${port.port}`;
  return `nftables table inet isthmus-services on ${node}, ${protocol} ${key}`;
}

/** The row in OVN that has an address of the Service, and the group by which switches have the row. */
export function balancerText(service: Service, { protocol }: ServicePort, family: Family, vpc: string): string {
  return `Load_Balancer ${serviceKey(service)}/${protocol.toLowerCase()}/ipv${family} in group isthmus.lb.${vpc}`;
}

function isInRanges(texts: readonly string[], addresses: readonly string[]): boolean {
  const ranges = texts.flatMap((text) => parseCidr(text) ?? []);
  return addresses.some((text) => {
    const ip = parseIp(text);
    return ip !== undefined && ranges.some((range) => cidrContains(range, ip));
  });
}

export function endpointsOf(
  service: Service,
  port: ServicePort,
  all: readonly Backend[],
  client: Client,
): readonly EndpointAnswer[] {
  const serving = new Set(servingOf(service, 'ClusterIP', all, client));
  return all.map((backend) => ({
    port: nameOf(port),
    endpoint: backendKey(backend.address, backend.port),
    node: backend.node,
    pod: backend.pod,
    state: stateOf(backend),
    isServing: serving.has(backend),
    why: serving.has(backend) ? '' : whyNot(service, backend, all, client),
  }));
}

function stateOf({ isReady, isServingWhileTerminating }: Backend): EndpointAnswer['state'] {
  if (isReady) return 'ready';
  return isServingWhileTerminating ? 'terminating' : 'not ready';
}

function whyNot(service: Service, backend: Backend, all: readonly Backend[], { place, detour }: Client): string {
  if (!backend.isReady && !backend.isServingWhileTerminating) return 'it fails its readiness probe, or has ended';
  if (service.isInternalPolicyLocal && detour !== undefined) return `internalTrafficPolicy Local: ${detour}`;
  if (place !== undefined && service.isInternalPolicyLocal && backend.node !== place.node)
    return `internalTrafficPolicy Local: only endpoints on ${place.node}`;
  if (!backend.isReady) return 'it terminates, and others are ready';
  const topology = place === undefined ? undefined : topologyAt(all, place);
  if (topology === 'node') return `its hints are for other nodes than ${place?.node ?? ''}`;
  return `its hints are for other zones than ${place?.zone ?? ''}`;
}

function conditionProblems({ conditions }: Service): readonly Problem[] {
  return conditions
    .filter(({ type, status }) => type.startsWith('isthmus.network/') && status === 'False')
    .map(({ reason = '', message = '' }) => ({ code: reason, message }));
}

export function endpointProblems(
  { service, slices }: ServiceReading,
  client: Client,
  strangers: readonly EndpointSlice[],
): readonly Problem[] {
  if (!service.isServed) return [];
  const families = familiesOf(service);
  return service.ports.flatMap((port): readonly Problem[] => {
    const all = families.flatMap((family) => backendsOf(slices, port, family));
    const name = port.name === '' ? `port ${port.port}` : `port ${port.name}`;
    if (all.length === 0) {
      const isElsewhere = families.some((family) => backendsOf(strangers, port, family).length > 0);
      const message = isElsewhere
        ? `all endpoints of ${name} are in other Vpcs than the Service; connections are rejected`
        : `${name} has no endpoint: no pod that spec.selector selects has an address, or none has such a port; connections are rejected`;
      return [{ code: 'NoEndpoint', message }];
    }
    if (clusterBackends(all).length === 0)
      return [
        {
          code: 'NoReadyEndpoint',
          message: `none of the ${all.length} endpoints of ${name} is ready; connections are rejected`,
        },
      ];
    if (servingOf(service, 'ClusterIP', all, client).length > 0) return [];
    if (client.detour !== undefined) {
      const message = `${client.detour}, and without them packets for ${name} are dropped, because internalTrafficPolicy is Local; enable them, or set it to Cluster`;
      return [{ code: 'NoLocalEndpoint', message }];
    }
    const message = `${name} has no ready endpoint on ${client.place?.node ?? ''}, and internalTrafficPolicy is Local: packets are dropped; start a pod there, or set it to Cluster`;
    return [{ code: 'NoLocalEndpoint', message }];
  });
}

/** Notes about addresses of the Service that are not served as its author may expect. */
function settingProblems({ service, settings, client: asked }: ServiceReading, client: Client): readonly Problem[] {
  const problems: Problem[] = [];
  if (service.externalIps.length > 0 && settings.allowsExternalIps !== true) {
    const message = `spec.externalIPs ${service.externalIps.join(', ')} are not served: value services.externalIPs is Deny`;
    problems.push({ code: 'ExternalIPsDenied', message });
  }
  if (client.detour !== undefined)
    problems.push({ code: 'ByTheNode', message: `${client.detour}: its packets are translated on the node` });
  if (asked === undefined) return problems;
  for (const family of familiesOf(service)) {
    const ranges = sourceRangesOf(service, family);
    const closed = service.loadBalancerIps.filter((ip) => parseIp(ip)?.family === family);
    if (ranges === undefined || closed.length === 0 || isInRanges(ranges, client.addresses)) continue;
    const message = `${client.addresses.join(', ')} is in none of spec.loadBalancerSourceRanges (${ranges.join(', ')}): the client does not reach ${closed.join(', ')}`;
    problems.push({ code: 'OutsideSourceRanges', message });
  }
  return problems;
}
