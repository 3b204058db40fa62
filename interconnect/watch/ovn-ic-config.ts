/** Kube-OVN's ConfigMap `ovn-ic-config` and what follows it, parsed. */
import { interconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { readSelector } from '../../lib/api/label-selector.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { fieldsOf, textOf } from '../../lib/kube/fields.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { configMaps, interconnects } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject, Reflector } from '../../lib/kube/types.ts';
import { parseIp } from '../../lib/net/ip.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { ovnIcConfig, type FollowingInterconnect, type IcConfig } from '../model/ic-config.ts';
import { fromAnnotation } from '../../lib/route-policy/parse.ts';

/** The ConfigMap's ports are those of databases; the hub is a service beside them. */
const hubPort = 6650;

export interface ParsedIcConfig {
  readonly uid: string;
  readonly config: IcConfig | readonly Problem[] | 'off';
}

export function parseOvnIcConfig(raw: RawObject): ParsedIcConfig {
  const data = (raw['data'] ?? {}) as Readonly<Record<string, string>>;
  return { uid: raw.metadata.uid, config: configOf(data) };
}

function configOf(data: Readonly<Record<string, string>>): ParsedIcConfig['config'] {
  const problems: Problem[] = [];
  const isEnabled = switchOf(data, 'enable-ic', problems);
  if (problems.length > 0) return problems;
  if (!isEnabled) return 'off';
  const config: IcConfig = {
    clusterName: nameOf(data['az-name'] ?? '', problems),
    hub: hubOf(data['ic-db-host'] ?? '', problems),
    gateways: listOf(data['gw-nodes'] ?? ''),
    isAutoRoute: switchOf(data, 'auto-route', problems),
  };
  if (config.gateways.length === 0) {
    const message = 'gw-nodes is empty; list the nodes that carry traffic between clusters, separated by commas';
    problems.push({ code: 'GatewaysMissing', message });
  }
  return problems.length > 0 ? problems : config;
}

/** Absent is false, as Kube-OVN has it. */
function switchOf(data: Readonly<Record<string, string>>, key: string, problems: Problem[]): boolean {
  const text = (data[key] ?? '').trim();
  if (!['', 'true', 'false'].includes(text))
    problems.push({ code: 'ValueInvalid', message: `${key} is "${text}"; write "true" or "false"` });
  return text === 'true';
}

function nameOf(text: string, problems: Problem[]): string {
  const name = text.trim();
  if (!interconnectSpec.shape.clusterName.safeParse(name).success) {
    const message = `az-name is "${name}"; a name of a cluster has up to 40 lower-case letters, digits and "-", and begins and ends with a letter or digit`;
    problems.push({ code: 'NameInvalid', message });
  }
  return name;
}

function hubOf(text: string, problems: Problem[]): string {
  const [host = ''] = listOf(text);
  const isIp = parseIp(host) !== undefined;
  if (!isIp && !/^[a-zA-Z0-9]([-a-zA-Z0-9.]{0,251}[a-zA-Z0-9])?$/.test(host)) {
    const message = `ic-db-host is "${text}"; it begins with the address or host name of the hub, which listens on port ${hubPort}`;
    problems.push({ code: 'HostInvalid', message });
  }
  return host.includes(':') ? `[${host}]:${hubPort}` : `${host}:${hubPort}`;
}

function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function parseFollowing(raw: RawObject): FollowingInterconnect {
  const { metadata } = raw;
  const spec = fieldsOf(raw['spec']);
  return {
    uid: metadata.uid,
    isDeleting: metadata.deletionTimestamp !== undefined,
    from: metadata.annotations?.[fromAnnotation],
    clusterName: textOf(spec['clusterName']),
    hub: textOf(spec['hub']),
    gatewayNodeSelector: readSelector(spec['gatewayNodeSelector'] ?? {}),
  };
}

export interface IcConfigSources {
  readonly configs: Reflector<ParsedIcConfig>;
  readonly interconnects: Reflector<FollowingInterconnect>;
}

export function watchOvnIcConfig(
  client: KubeClient,
  namespace: string,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): IcConfigSources {
  const common = { client, signal, log };
  const one = (name: string) => `metadata.name=${name}`;
  return {
    configs: reflect({
      ...common,
      resource: configMaps,
      namespace,
      fieldSelector: one(ovnIcConfig),
      parse: parseOvnIcConfig,
    }),
    interconnects: reflect({
      ...common,
      resource: interconnects,
      fieldSelector: one('default'),
      parse: parseFollowing,
    }),
  };
}
