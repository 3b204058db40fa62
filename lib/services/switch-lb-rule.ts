/** A SwitchLBRule or RouterLBRule as the Service that it amounts to: virtual addresses with ports, and backends. Pure. */
import { annotation, lbRuleKinds, type LbRuleKind } from '../api/names.ts';
import { fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../kube/fields.ts';
import type { RawObject } from '../kube/types.ts';
import { formatIp, parseIp, type Ip } from '../net/ip.ts';
import type { Endpoint, EndpointSlice, Protocol, Service, ServicePort } from './service.ts';

export interface SwitchLbRulePort {
  readonly name: string;
  readonly port: number;
  /** Zero where not given. */
  readonly targetPort: number;
  readonly protocol: string;
}

/** What is read of a rule. */
export interface RuleObject {
  readonly kind: LbRuleKind;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  /** Those that Isthmus reads. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: {
    /** Empty for a RouterLBRule, which has the addresses of an OvnEip. */
    readonly vip: string;
    readonly namespace: string;
    /** `key:value` each. */
    readonly selector: readonly string[];
    readonly endpoints: readonly string[];
    readonly sessionAffinity: string;
    readonly ports: readonly SwitchLbRulePort[];
  };
}

/** What is wrong with the spec of a rule: a code, and a sentence with the remedy. */
export interface RuleProblem {
  readonly code: string;
  readonly message: string;
}

const annotationsRead: readonly string[] = [annotation.vpc, annotation.logicalRouter, annotation.healthCheck];

/** Fields of another type count as absent. */
export function parseRuleObject({ metadata, ...raw }: RawObject, kind: LbRuleKind = 'SwitchLBRule'): RuleObject {
  const { name, uid, resourceVersion, creationTimestamp = '', annotations = {} } = metadata;
  const spec = fieldsOf(raw['spec']);
  const isOfRouter = kind === 'RouterLBRule';
  const known = Object.entries(annotations).filter(([key]) => annotationsRead.includes(key));
  return {
    kind,
    name,
    uid,
    resourceVersion,
    createdMs: Date.parse(creationTimestamp) || 0,
    annotations: isOfRouter
      ? { ...Object.fromEntries(known), [annotation.logicalRouter]: '', [annotation.vpc]: textOf(spec['vpc']) }
      : Object.fromEntries(known),
    spec: {
      vip: isOfRouter ? '' : textOf(spec['vip']),
      namespace: textOf(spec['namespace']) || (isOfRouter ? 'default' : ''),
      selector: textsOf(spec['selector']),
      endpoints: textsOf(spec['endpoints']),
      sessionAffinity: textOf(spec['sessionAffinity']),
      ports: recordsOf(spec['ports']).map((port) => ({
        name: textOf(port['name']),
        port: numberOf(port['port']),
        targetPort: numberOf(port['targetPort']),
        protocol: textOf(port['protocol']),
      })),
    },
  };
}

/** A name of a Service: it is a name in DNS. */
const serviceName = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const portName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const labelKey = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
/** Default of a Service's `sessionAffinityConfig.clientIP.timeoutSeconds`. */
const affinitySeconds = 10_800;

/** A port with the port of its backends. */
export interface RulePort extends ServicePort {
  readonly target: number;
}

export interface ReadRule {
  readonly service: Service;
  readonly ports: readonly RulePort[];
  /** Labels of the pods that are backends; empty where addresses are. */
  readonly selector: Readonly<Record<string, string>>;
  /** Backends that the rule lists; undefined where it selects pods. */
  readonly slices: readonly EndpointSlice[] | undefined;
}

/** `namespace/name` of the Service of a rule. */
export function ruleServiceKey({ kind, name, spec }: RuleObject): string {
  return `${spec.namespace}/${lbRuleKinds[kind].prefix}${name}`;
}

/** The name of the rule of a kind that a Service with this key may belong to. */
export function ruleNameAt(service: string, kind: LbRuleKind = 'SwitchLBRule'): string | undefined {
  const { prefix } = lbRuleKinds[kind];
  const slash = service.indexOf('/');
  return service.startsWith(prefix, slash + 1) ? service.slice(slash + 1 + prefix.length) : undefined;
}

/** Whether a headless Service is one that a rule made, of Isthmus or of Kube-OVN. */
export function isOfRule({ type, isServed, ruleSpec }: Service): boolean {
  return ruleSpec !== undefined && !isServed && type === 'ClusterIP';
}

const known = new WeakMap<RuleObject, ReadRule | RuleProblem>();

/** What the spec of a rule says, or what is wrong with it. */
export function readRule(rule: RuleObject): ReadRule | RuleProblem {
  const before = known.get(rule);
  if (before !== undefined) return before;
  const read = parse(rule);
  known.set(rule, read);
  return read;
}

export function isProblem(read: ReadRule | RuleProblem): read is RuleProblem {
  return 'code' in read;
}

function wrong(code: string, message: string): RuleProblem {
  return { code, message };
}

function parse(rule: RuleObject): ReadRule | RuleProblem {
  const { spec } = rule;
  const { prefix } = lbRuleKinds[rule.kind];
  if (!serviceName.test(prefix + rule.name)) {
    const message = `metadata.name: ${prefix}${rule.name} is not a name for a Service, which the rule has: give it a name of at most 59 letters, digits and -`;
    return wrong('NameInvalid', message);
  }
  const vips = rule.kind === 'RouterLBRule' ? [] : addressesOf(spec.vip.split(','));
  if (!Array.isArray(vips)) return wrong('AddressInvalid', `spec.vip: ${vips.wrong} is not an address of IPv4 or IPv6`);
  if (new Set(vips.map(({ family }) => family)).size < vips.length)
    return wrong(
      'AddressInvalid',
      `spec.vip: ${spec.vip} has two addresses of one family: create a rule for each address`,
    );
  const ports = portsOf(spec.ports);
  if (!Array.isArray(ports)) return wrong('PortsInvalid', ports.wrong);
  const endpoints = addressesOf(spec.endpoints);
  if (!Array.isArray(endpoints))
    return wrong('EndpointsInvalid', `spec.endpoints: ${endpoints.wrong} is not an address of IPv4 or IPv6`);
  const selector = endpoints.length > 0 ? {} : selectorOf(spec.selector);
  if (selector === undefined)
    return wrong('SelectorInvalid', 'spec.selector: list labels as key:value, each key with one value');
  if (endpoints.length === 0 && Object.keys(selector).length === 0)
    return wrong('BackendsMissing', 'spec.selector and spec.endpoints are empty: name labels of pods, or addresses');
  const slices = endpoints.length > 0 ? slicesOf(endpoints, ports) : undefined;
  return { service: serviceOf(rule, vips, ports), ports, selector, slices };
}

/** The EndpointSlices that serve a rule. All clients have the same backends, because OVN checks none that differ from node to node. */
export function ruleSlices({ slices }: ReadRule, ofService: readonly EndpointSlice[]): readonly EndpointSlice[] {
  return slices ?? ofService.map(withoutHints);
}

function withoutHints(slice: EndpointSlice): EndpointSlice {
  const endpoints = slice.endpoints.map((endpoint) => ({ ...endpoint, nodeHints: [], zoneHints: [] }));
  return { ...slice, endpoints };
}

function addressesOf(texts: readonly string[]): Ip[] | { readonly wrong: string } {
  const ips = new Map<string, Ip>();
  for (const text of texts) {
    const ip = parseIp(text.trim());
    if (ip === undefined) return { wrong: `'${text}'` };
    ips.set(formatIp(ip), ip);
  }
  return [...ips.values()];
}

function protocolOf(text: string): Protocol | undefined {
  if (text === '') return 'TCP';
  return text === 'TCP' || text === 'UDP' || text === 'SCTP' ? text : undefined;
}

function isPort(number: number): boolean {
  return Number.isInteger(number) && number >= 1 && number <= 65_535;
}

function portsOf(all: readonly SwitchLbRulePort[]): RulePort[] | { readonly wrong: string } {
  const ports: RulePort[] = [];
  for (const { name, port, targetPort, protocol: text } of all) {
    const protocol = protocolOf(text);
    if (protocol === undefined) return { wrong: `spec.ports: protocol '${text}' is none of TCP, UDP and SCTP` };
    const target = targetPort === 0 ? port : targetPort;
    const bad = [port, target].find((number) => !isPort(number));
    if (bad !== undefined) return { wrong: `spec.ports: ${bad} is not a port: use 1 to 65535` };
    if (ports.some((other) => other.port === port && other.protocol === protocol))
      return { wrong: `spec.ports: ${protocol} ${port} is listed twice: remove one of the two` };
    if (name === '' && all.length > 1)
      return { wrong: `spec.ports: ${protocol} ${port} has no name: name each of several ports` };
    if (name !== '' && !portName.test(name))
      return {
        wrong: `spec.ports: '${name}' is not a name of a port: take at most 63 lower case letters, digits and -`,
      };
    if (ports.some((other) => other.name === name))
      return { wrong: `spec.ports: two ports have the same name '${name}': give each a name of its own` };
    ports.push({ name, port, protocol, nodePort: 0, target });
  }
  return ports.length === 0 ? { wrong: 'spec.ports is empty: list ports' } : ports;
}

function selectorOf(pairs: readonly string[]): Readonly<Record<string, string>> | undefined {
  const labels = new Map<string, string>();
  for (const pair of pairs) {
    const colon = pair.indexOf(':');
    const [key, value] = [pair.slice(0, Math.max(colon, 0)).trim(), pair.slice(colon + 1).trim()];
    if (!labelKey.test(key) || !labelValue.test(value) || (labels.get(key) ?? value) !== value) return undefined;
    labels.set(key, value);
  }
  return Object.fromEntries([...labels].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function slicesOf(endpoints: readonly Ip[], ports: readonly RulePort[]): readonly EndpointSlice[] {
  return ([4, 6] as const).map((family) => ({
    service: '',
    family,
    ports: ports.map(({ name, protocol, target }) => ({ name, protocol, port: target })),
    endpoints: endpoints.filter((ip) => ip.family === family).map(endpointOf),
  }));
}

function endpointOf(ip: Ip): Endpoint {
  const state = { isReady: true, isServingWhileTerminating: false, nodeHints: [], zoneHints: [] };
  return { address: formatIp(ip), node: '', ...state, pod: undefined };
}

function serviceOf(rule: RuleObject, vips: readonly Ip[], ports: readonly RulePort[]): Service {
  const { kind, name, uid, resourceVersion, createdMs, annotations, spec } = rule;
  const vpc = annotations[annotation.logicalRouter] || annotations[annotation.vpc];
  return {
    namespace: spec.namespace,
    name: lbRuleKinds[kind].prefix + name,
    uid,
    resourceVersion,
    createdMs,
    isDeleting: false,
    finalizers: [],
    isServed: true,
    labels: {},
    type: 'ClusterIP',
    clusterIps: vips.map(formatIp),
    ipFamilies: vips.map(({ family }) => family),
    prefersDualStack: false,
    externalIps: [],
    loadBalancerIps: [],
    ingress: [],
    loadBalancerSourceRanges: [],
    loadBalancerClass: undefined,
    loadBalancerIp: '',
    ports,
    isExternalPolicyLocal: false,
    isInternalPolicyLocal: false,
    healthCheckNodePort: 0,
    affinitySeconds: spec.sessionAffinity === 'ClientIP' ? affinitySeconds : undefined,
    annotations: vpc === undefined ? {} : { [annotation.vpc]: vpc },
    conditions: [],
    ruleSpec: undefined,
  };
}
