/** Raw Services and EndpointSlices → values. The API server validated them; a value of another type counts as absent. */
import { conditionsOf } from '../api/conditions.ts';
import { lbRuleKinds } from '../api/names.ts';
import { fieldsOf, numberOf, recordsOf, textOf, textsOf, type Fields } from '../kube/fields.ts';
import type { RawObject } from '../kube/types.ts';
import { formatCidr, parseCidr } from '../net/cidr.ts';
import { formatIp, parseIp, type Family, type Ip } from '../net/ip.ts';
import type {
  Endpoint,
  EndpointSlice,
  Ingress,
  Protocol,
  RuleSpec,
  Service,
  ServicePort,
  SlicePort,
} from './service.ts';

/** On the EndpointSlices of a Service. */
export const serviceLabel = 'kubernetes.io/service-name';
/** Kubernetes sets this label on the slices of headless Services. */
const headlessLabel = 'service.kubernetes.io/headless';
/** A Service or slice with one of these labels belongs to another proxy, or is headless. */
const foreignLabels = ['service.kubernetes.io/service-proxy-name', headlessLabel];
/** Default of `sessionAffinityConfig.clientIP.timeoutSeconds`. */
const affinitySeconds = 10_800;

export function parseService(raw: RawObject): Service {
  const { metadata, spec: rawSpec } = raw;
  const spec = fieldsOf(rawSpec);
  const type = textOf(spec['type']) || 'ClusterIP';
  const clusterIps = addressesOf(textsOf(spec['clusterIPs'] ?? [spec['clusterIP']]));
  const status = fieldsOf(raw['status']);
  const loadBalancer = fieldsOf(status['loadBalancer']);
  const ingress = recordsOf(loadBalancer['ingress']).map(parseIngress);
  const virtual = ingress.filter(({ ipMode }) => ipMode !== 'Proxy');
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isDeleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    isServed: type !== 'ExternalName' && clusterIps.length > 0 && !isForeign(raw),
    labels: metadata.labels ?? {},
    type,
    clusterIps,
    ipFamilies: textsOf(spec['ipFamilies']).flatMap(familyOf),
    prefersDualStack: spec['ipFamilyPolicy'] === 'PreferDualStack',
    externalIps: addressesOf(textsOf(spec['externalIPs'])),
    loadBalancerIps: type === 'LoadBalancer' ? addressesOf(virtual.flatMap(({ ip }) => ip ?? [])) : [],
    ingress,
    loadBalancerSourceRanges: rangesOf(textsOf(spec['loadBalancerSourceRanges'])),
    loadBalancerClass: textOf(spec['loadBalancerClass']) || undefined,
    loadBalancerIp: textOf(spec['loadBalancerIP']),
    ports: recordsOf(spec['ports']).flatMap(parseServicePort),
    isExternalPolicyLocal: spec['externalTrafficPolicy'] === 'Local',
    isInternalPolicyLocal: spec['internalTrafficPolicy'] === 'Local',
    healthCheckNodePort: numberOf(spec['healthCheckNodePort']),
    affinitySeconds: spec['sessionAffinity'] === 'ClientIP' ? timeoutOf(spec['sessionAffinityConfig']) : undefined,
    annotations: metadata.annotations ?? {},
    conditions: conditionsOf(status),
    ruleSpec: isOfRule(raw) ? parseRuleSpec(spec) : undefined,
  };
}

export function parseEndpointSlice(raw: RawObject): EndpointSlice {
  const name = raw.metadata.labels?.[serviceLabel] ?? '';
  const namespace = raw.metadata.namespace ?? '';
  const isOurs = name !== '' && !isForeign(raw, isOfRuleService(name)) && raw['addressType'] !== 'FQDN';
  return {
    service: isOurs ? `${namespace}/${name}` : '',
    family: raw['addressType'] === 'IPv6' ? 6 : 4,
    ports: isOurs ? recordsOf(raw['ports']).flatMap(parseSlicePort) : [],
    endpoints: isOurs ? recordsOf(raw['endpoints']).flatMap((one) => parseEndpoint(one, namespace)) : [],
  };
}

function isForeign({ metadata }: RawObject, mayBeHeadless = false): boolean {
  return foreignLabels.some(
    (name) => metadata.labels?.[name] !== undefined && !(mayBeHeadless && name === headlessLabel),
  );
}

const ruleKinds = Object.values(lbRuleKinds);

/** SwitchLBRules and RouterLBRules serve the endpoints of headless Services. */
function isOfRuleService(name: string): boolean {
  return ruleKinds.some(({ prefix }) => name.startsWith(prefix));
}

function isOfRule({ metadata: { labels, annotations } }: RawObject): boolean {
  return ruleKinds.some(
    ({ label, vipAnnotation }) => labels?.[label] !== undefined || annotations?.[vipAnnotation] !== undefined,
  );
}

/** In the order of fields in which a rule's Service is written. */
function parseRuleSpec(spec: Fields): RuleSpec {
  const labels = Object.entries(fieldsOf(spec['selector'])).map(([key, value]) => [key, textOf(value)] as const);
  return {
    selector: Object.fromEntries(labels.sort(([a], [b]) => (a < b ? -1 : 1))),
    ports: recordsOf(spec['ports']).map(({ name, protocol, port, targetPort }) => ({
      ...(textOf(name) === '' ? {} : { name: textOf(name) }),
      protocol: textOf(protocol),
      port: numberOf(port),
      targetPort: numberOf(targetPort),
    })),
    sessionAffinity: textOf(spec['sessionAffinity']),
  };
}

function parseIngress({ ip, hostname, ipMode }: Readonly<Record<string, unknown>>): Ingress {
  const texts = { ip: textOf(ip), hostname: textOf(hostname), ipMode: textOf(ipMode) };
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}

function familyOf(name: string): readonly Family[] {
  if (name === 'IPv4') return [4];
  return name === 'IPv6' ? [6] : [];
}

function timeoutOf(config: unknown): number {
  return numberOf(fieldsOf(fieldsOf(config)['clientIP'])['timeoutSeconds']) || affinitySeconds;
}

function parseServicePort(port: Readonly<Record<string, unknown>>): readonly ServicePort[] {
  const protocol = protocolOf(port['protocol']);
  const [number, nodePort] = [numberOf(port['port']), numberOf(port['nodePort'])];
  return protocol === undefined || number === 0
    ? []
    : [{ name: textOf(port['name']), protocol, port: number, nodePort }];
}

/** A port without a number means all ports, which a virtual address cannot have. */
export function parseSlicePort(port: Readonly<Record<string, unknown>>): readonly SlicePort[] {
  const protocol = protocolOf(port['protocol']);
  const number = numberOf(port['port']);
  return protocol === undefined || number === 0 ? [] : [{ name: textOf(port['name']), protocol, port: number }];
}

/**
 * Only the first address of an endpoint is used, as the API prescribes. Absent conditions mean ready and not terminating.
 * @param namespace of its slice
 */
export function parseEndpoint(endpoint: Readonly<Record<string, unknown>>, namespace: string): readonly Endpoint[] {
  const address = canonicalIp(textsOf(endpoint['addresses'])[0] ?? '');
  if (address === undefined) return [];
  const { ready, serving = ready, terminating } = fieldsOf(endpoint['conditions']);
  const { forNodes, forZones } = fieldsOf(endpoint['hints']);
  const { kind, name } = fieldsOf(endpoint['targetRef']);
  return [
    {
      address,
      node: textOf(endpoint['nodeName']),
      isReady: ready !== false,
      isServingWhileTerminating: ready === false && serving !== false && terminating === true,
      nodeHints: namesOf(forNodes),
      zoneHints: namesOf(forZones),
      pod: kind === 'Pod' && typeof name === 'string' ? `${namespace}/${name}` : undefined,
    },
  ];
}

function namesOf(hints: unknown): readonly string[] {
  return recordsOf(hints).map(({ name }) => textOf(name));
}

function protocolOf(value: unknown): Protocol | undefined {
  const name = value ?? 'TCP';
  return name === 'TCP' || name === 'UDP' || name === 'SCTP' ? name : undefined;
}

/** A list of which nothing is readable admits nobody: without it, the address would be open to everybody. */
function rangesOf(texts: readonly string[]): readonly string[] | undefined {
  return texts.length === 0 ? undefined : texts.flatMap(canonicalCidr);
}

function addressesOf(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.flatMap((text) => canonicalIp(text) ?? []))];
}

function canonicalIp(text: string): string | undefined {
  const ip = parseIp(withoutZeros(text));
  return ip && formatIp(withoutMapping(ip));
}

function canonicalCidr(text: string): readonly string[] {
  const cidr = parseCidr(withoutZeros(text.trim()));
  if (cidr === undefined) return [];
  const { family, value } = withoutMapping({ family: cidr.family, value: cidr.network });
  const prefix = family === cidr.family ? cidr.prefix : cidr.prefix - mappedPrefix;
  return prefix < 0 ? [] : [formatCidr({ family, network: value, prefix })];
}

/** The API server takes decimal numbers with leading zeros in these fields, as programs of before did. */
function withoutZeros(text: string): string {
  return text.replaceAll(/(?<=^|[./])0+(?=[0-9])/g, '');
}

/** Bits of an IPv6 address before the IPv4 address that it stands for. */
const mappedPrefix = 96;

/** Kubernetes reads `::ffff:192.0.2.1` as the IPv4 address. */
function withoutMapping({ family, value }: Ip): Ip {
  return family === 6 && value >> 32n === 0xffffn ? { family: 4, value: value & 0xffffffffn } : { family, value };
}
