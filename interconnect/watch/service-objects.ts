/** Parsers of the objects of exported and imported Services. */
import { conditionsOf } from '../../lib/api/conditions.ts';
import { readSelector } from '../../lib/api/label-selector.ts';
import { annotation } from '../../lib/api/names.ts';
import { fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import { parseEndpoint, parseService, parseSlicePort, serviceLabel } from '../../lib/services/parse.ts';
import type { ExportedEndpoint, ExportedPort } from '../model/exported-service.ts';
import {
  importsOfAgent,
  mostPorts,
  sliceLabel,
  type Affinity,
  type GlobalService,
  type ImportedSlice,
  type LocalService,
  type LocalSlice,
  type ServiceExportObject,
  type ServiceImportObject,
  type SharedAddressObject,
  type SharedPool,
} from '../model/service-objects.ts';

export function parseServiceExport(raw: RawObject): ServiceExportObject {
  const { metadata } = raw;
  const spec = fieldsOf(raw['spec']);
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isDeleting: metadata.deletionTimestamp !== undefined,
    labels: textMapOf(spec['exportedLabels']),
    annotations: textMapOf(spec['exportedAnnotations']),
    conditions: conditionsOf(fieldsOf(raw['status'])),
    isAlias: false,
    isShared: true,
  };
}

const affinities: readonly string[] = ['local', 'remote', 'none'] satisfies readonly GlobalService['affinity'][];
const preferences: readonly string[] = ['local', 'remote', 'nearest', 'none'] satisfies readonly Affinity[];
const ofCilium = 'service.cilium.io';

/** A Service without any of the annotations: most are, and need no memory of their own. */
export const plainService: GlobalService = {
  namespace: '',
  name: '',
  uid: '',
  createdMs: 0,
  isDeleting: false,
  isGlobal: undefined,
  isShared: true,
  affinity: 'none',
  preference: undefined,
  preferenceMistake: undefined,
  mistakes: [],
};

export function parseGlobalService({ metadata }: RawObject): GlobalService {
  const annotations = metadata.annotations ?? {};
  const [global, shared, affinity] = ['global', 'shared', 'affinity'].map((one) => annotations[`${ofCilium}/${one}`]);
  const preference = annotations[annotation.affinity];
  if ([global, shared, affinity, preference].every((one) => one === undefined)) return plainService;
  const mistakes: string[] = [];
  const flagOf = (name: string, text: string | undefined, otherwise: string): boolean | undefined => {
    const value = text?.toLowerCase();
    if (value === 'true' || value === 'false') return value === 'true';
    if (value !== undefined) mistakes.push(`annotation ${ofCilium}/${name} has to be true or false: ${otherwise}`);
    return undefined;
  };
  const isGlobal = flagOf('global', global, 'the Service is not exported by it');
  // As with Cilium, any value but `true` keeps endpoints here.
  const isShared = flagOf('shared', shared, 'the endpoints of the Service are not shared') ?? shared === undefined;
  const side = affinity?.toLowerCase() ?? '';
  const isKnown = side === '' || affinities.includes(side);
  if (!isKnown) mistakes.push(`annotation ${ofCilium}/affinity has to be ${affinities.join(', ')}: it counts as none`);
  const isPreference = preference === undefined || preferences.includes(preference);
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isGlobal,
    isShared,
    affinity: isKnown && side !== '' ? (side as GlobalService['affinity']) : 'none',
    preference: isPreference ? (preference as Affinity | undefined) : undefined,
    preferenceMistake: isPreference
      ? undefined
      : `annotation ${annotation.affinity} has to be ${preferences.join(', ')}: it counts as absent`,
    mistakes,
  };
}

export function parseLocalService(raw: RawObject): LocalService {
  const service = parseService(raw);
  const spec = fieldsOf(raw['spec']);
  const appProtocols = new Map(recordsOf(spec['ports']).map((port) => [portText(port), textOf(port['appProtocol'])]));
  const ports = service.ports.map(({ name, protocol, port }): ExportedPort => {
    const appProtocol = appProtocols.get(portText({ name, protocol, port })) ?? '';
    return { name, protocol, port, appProtocol };
  });
  return {
    service,
    isHeadless: service.type !== 'ExternalName' && service.clusterIps.length === 0,
    ports,
    trafficDistribution: textOf(spec['trafficDistribution']),
  };
}

function portText({ name, protocol, port }: Readonly<Record<string, unknown>>): string {
  return `${textOf(name)} ${textOf(protocol) || 'TCP'} ${numberOf(port)}`;
}

/** Also of headless Services. */
export function parseLocalSlice(raw: RawObject): LocalSlice {
  const name = raw.metadata.labels?.[serviceLabel] ?? '';
  const namespace = raw.metadata.namespace ?? '';
  if (name === '' || raw['addressType'] === 'FQDN') return { service: '', endpoints: [] };
  // One more than an export may have shows that there are too many.
  const ports = recordsOf(raw['ports'])
    .slice(0, mostPorts + 1)
    .flatMap(parseSlicePort);
  const endpoints = recordsOf(raw['endpoints']).flatMap((one) =>
    parseEndpoint(one, namespace).map((endpoint): ExportedEndpoint => {
      const { address, node, isReady, isServingWhileTerminating } = endpoint;
      const [hostname, zone] = [textOf(one['hostname']), textOf(one['zone'])];
      return { address, hostname, zone, node, isReady, isServingWhileTerminating, ports };
    }),
  );
  return { service: `${namespace}/${name}`, endpoints };
}

export function parseServiceImport(raw: RawObject): ServiceImportObject {
  const { metadata } = raw;
  const [[key, value]] = Object.entries(importsOfAgent) as [[string, string]];
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isOurs: metadata.labels?.[key] === value,
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    spec: fieldsOf(raw['spec']),
    status: fieldsOf(raw['status']),
  };
}

export function parseImportedSlice(raw: RawObject): ImportedSlice {
  const { metadata } = raw;
  const labels = metadata.labels ?? {};
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    service: labels[sliceLabel.service] ?? '',
    body: {
      addressType: textOf(raw['addressType']),
      labels,
      owner: metadata.ownerReferences?.[0]?.uid ?? '',
      ports: recordsOf(raw['ports']),
      endpoints: recordsOf(raw['endpoints']),
    },
  };
}

export function parseSharedPool(raw: RawObject): SharedPool {
  const spec = fieldsOf(raw['spec']);
  const isAccepted = conditionsOf(fieldsOf(raw['status'])).some(
    ({ type, status }) => type === 'Validated' && status === 'True',
  );
  return {
    name: raw.metadata.name,
    isOffered: spec['shared'] !== undefined && isAccepted,
    ranges: textsOf(spec['addresses']),
    clusters: textsOf(fieldsOf(spec['shared'])['clusters']),
    serviceSelector: readSelector(spec['serviceSelector'] ?? {}),
    namespaceSelector: readSelector(spec['namespaceSelector'] ?? {}),
  };
}

export function parseSharedAddress(raw: RawObject): SharedAddressObject {
  const spec = fieldsOf(raw['spec']);
  const service = fieldsOf(spec['service']);
  return {
    name: raw.metadata.name,
    uid: raw.metadata.uid,
    service: `${textOf(service['namespace'])}/${textOf(service['name'])}`,
    pool: textOf(spec['pool']),
    addresses: textsOf(spec['addresses']).flatMap((text) => {
      const ip = parseIp(text);
      return ip === undefined ? [] : [formatIp(ip)];
    }),
    sinceMs: Date.parse(textOf(spec['since'])) || 0,
    specText: JSON.stringify(spec),
  };
}

function textMapOf(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(fieldsOf(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(entries);
}
