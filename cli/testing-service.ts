/** A Service and a SwitchLBRule with endpoints on two nodes, and clients; used by tests only. */
import type { RawObject } from '../lib/kube/types.ts';
import { parseEndpointSlice, parseService } from '../lib/services/parse.ts';
import type { EndpointSlice } from '../lib/services/service.ts';
import type {
  PlacedService,
  Rivals,
  RuleReading,
  ServiceClient,
  ServiceReading,
  Surroundings,
  ValidatedDns,
} from './model/service-reading.ts';
import { parseNode, parsePod, parseRule, parseSubnet } from './watch/service-objects.ts';

type Fields = Readonly<Record<string, unknown>>;

const meta = (name: string, more: Fields = {}): never =>
  ({ name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1', ...more }) as never;

export function rawPod(name: string, node: string, ip: string, more: Fields = {}): RawObject {
  const annotations = {
    'ovn.kubernetes.io/logical_router': 'ovn-cluster',
    'ovn.kubernetes.io/logical_switch': 'ovn-default',
  };
  const { spec = {}, ...rest } = more as { readonly spec?: Fields };
  return {
    metadata: meta(name, { annotations, ...rest }),
    spec: { nodeName: node, ...spec },
    status: { podIPs: [{ ip }] },
  };
}

export function clientPod(name: string, node: string, more: Fields = {}): ServiceClient {
  return { kind: 'pod', pod: parsePod(rawPod(name, node, '10.16.0.50', more)) };
}

/** An endpoint of pod `web-<n>`. */
export function endpoint(index: number, node: string, conditions: Fields = {}, more: Fields = {}): Fields {
  const targetRef = { kind: 'Pod', name: `web-${index}` };
  return { addresses: [`10.16.0.${index}`], nodeName: node, conditions, targetRef, ...more };
}

export interface ServiceObjects {
  /** Seconds since 1970. */
  readonly created?: number;
  readonly spec?: Fields;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly status?: Fields;
  readonly endpoints?: readonly Fields[];
  readonly pods?: readonly RawObject[];
  readonly subnet?: Fields;
  readonly settings?: Partial<ServiceReading['settings']>;
  readonly client?: ServiceClient;
  readonly rivals?: Partial<Rivals>;
  readonly gate?: ValidatedDns;
}

/** Another Service, of which the pod `<name>-1` is the endpoint. */
export function rivalOf(name: string, created: number, spec: Fields, annotations: Fields = {}): PlacedService {
  return {
    service: parseService({
      metadata: meta(name, { annotations, ...at(created) }),
      spec: { clusterIPs: ['10.96.0.20'], ports: [{ port: 80 }], ...spec },
    }),
    slices: [sliceOf(name, [{ addresses: ['10.17.0.1'], targetRef: { kind: 'Pod', name: `${name}-1` } }])],
    pods: new Map(),
  };
}

function at(seconds: number): Fields {
  return { creationTimestamp: new Date(seconds * 1000).toISOString() };
}

/** The Service `default/web`. */
export function readingOf(objects: ServiceObjects = {}): ServiceReading {
  const service = parseService({
    metadata: meta('web', { annotations: objects.annotations, labels: objects.labels, ...at(objects.created ?? 0) }),
    spec: { clusterIPs: ['10.96.0.10'], ports: [{ name: 'http', port: 80 }], ...objects.spec },
    status: objects.status,
  });
  return { service, gate: objects.gate, ...surroundingsOf('web', objects) };
}

/** SwitchLBRule `web`, with the status that the controller writes if all backends answer. */
export function ruleReadingOf(objects: ServiceObjects = {}): RuleReading {
  const conditions = ['Validated', 'Ready', 'BackendsOnline'].map((type) => ruleCondition(type));
  const backends = [1, 2].map((index) => ruleBackend(index, 'Online'));
  const rule = parseRule({
    metadata: meta('web', { annotations: objects.annotations, generation: 1, ...at(objects.created ?? 0) }),
    spec: {
      vip: '1.1.1.1',
      namespace: 'default',
      selector: ['app:web'],
      ports: [{ name: 'http', port: 80, targetPort: 8080 }],
      ...objects.spec,
    },
    status: { vpc: 'ovn-cluster', conditions, backends, ...objects.status },
  });
  return { rule, ...surroundingsOf('slr-web', objects) };
}

export function ruleCondition(type: string, status = 'True', reason = type, message = ''): Fields {
  return { type, status, reason, message, observedGeneration: 1 };
}

/** The state of `endpoint(index)`. */
export function ruleBackend(index: number, state: string, more: Fields = {}): Fields {
  return { address: `10.16.0.${index}`, port: 8080, protocol: 'TCP', pod: `default/web-${index}`, state, ...more };
}

function sliceOf(service: string, endpoints: readonly Fields[]): EndpointSlice {
  return parseEndpointSlice({
    metadata: meta(`${service}-abc`, { labels: { 'kubernetes.io/service-name': service } }),
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints,
  });
}

function surroundingsOf(service: string, objects: ServiceObjects): Surroundings {
  const endpoints = objects.endpoints ?? [endpoint(1, 'n1'), endpoint(2, 'n2')];
  const podsBehind = [rawPod('web-1', 'n1', '10.16.0.1'), rawPod('web-2', 'n2', '10.16.0.2')];
  const node = (name: string, zone: string, address: string) =>
    parseNode({
      metadata: meta(name, { labels: { 'topology.kubernetes.io/zone': zone } }),
      status: { addresses: [{ type: 'InternalIP', address }] },
    });
  return {
    slices: [sliceOf(service, endpoints)],
    pods: new Map((objects.pods ?? podsBehind).map((raw) => [`default/${raw.metadata.name}`, parsePod(raw)])),
    nodes: new Map([
      ['n1', node('n1', 'z1', '172.30.0.11')],
      ['n2', node('n2', 'z2', '172.30.0.12')],
    ]),
    subnets: new Map([['ovn-default', parseSubnet({ metadata: meta('ovn-default'), spec: objects.subnet ?? {} })]]),
    settings: { balancesInOvn: true, nodesServe: true, allowsExternalIps: false, ...objects.settings },
    client: objects.client,
    rivals: objects.rivals && { services: [], rules: [], vpcDnses: [], ...objects.rivals },
  };
}
