/**
 * Which object has a virtual address that a Service or SwitchLBRule wants. In: those that want it too. Out: the holder of each address that is another's.
 * The rule is that of the controller and the nodes (`lib/services/claims.ts`). What a rule has and has not is in its status. Pure.
 */
import { backendKey } from '../../../lib/services/backends.ts';
import { byRight, type Claimant } from '../../../lib/services/claims.ts';
import { endpointsElsewhere } from '../../../lib/services/elsewhere.ts';
import { type Service, serviceKey, type ServicePort } from '../../../lib/services/service.ts';
import { isProblem, readRule } from '../../../lib/services/switch-lb-rule.ts';
import { ovnProtocols, type ServiceVip, vipId, vipsOf } from '../../../lib/services/vips.ts';
import type { ReportedRule, Rivals, Surroundings } from '../../model/service-reading.ts';
import { vpcOf } from './vpc.ts';

/** A Service, or a rule as the Service that it amounts to. */
export interface Frontend {
  readonly service: Service;
  readonly rule?: ReportedRule;
}

interface Claim extends Claimant {
  readonly vip: string;
  readonly frontend: Frontend;
}

/** Returns `Service default/web`, `SwitchLBRule web` or `VpcDns dns`; undefined if no other object has the address. */
export type HolderOf = (address: string, port: ServicePort) => string | undefined;

/** @param place the VPC of the frontend, and where the client's packets are translated */
export function holdersOf(
  { rivals, settings }: Pick<Surroundings, 'rivals' | 'settings'>,
  frontend: Frontend,
  place: { readonly vpc: string; readonly at: 'ovn' | 'node' },
): HolderOf {
  // Which of two Services kube-proxy prefers is not defined.
  if (rivals === undefined || (place.at === 'node' && settings.nodesServe !== true)) return () => undefined;
  const holders = new Map<string, string>();
  const allowed = { externalIps: settings.allowsExternalIps === true };
  const all = [frontend, ...(place.at === 'node' ? onNodes(rivals) : inVpc(rivals, place.vpc))];
  const claims = Map.groupBy(
    all.flatMap((one) => vipsOf(one.service, allowed).flatMap((vip) => claimOf(one, vip))),
    ({ vip }) => vip,
  );
  for (const vip of vipsOf(frontend.service, allowed).map(vipId)) {
    const dns =
      place.at === 'ovn' ? rivals.vpcDnses.find((one) => one.vpc === place.vpc && one.vips.has(vip)) : undefined;
    const holder = claims.get(vip)?.sort(byRight)[0]?.frontend;
    if (dns !== undefined) holders.set(vip, `VpcDns ${dns.name}`);
    else if (holder !== undefined && holder !== frontend) holders.set(vip, nameOf(holder));
  }
  return (address, port) => holders.get(vipId({ protocol: ovnProtocols[port.protocol], address, port }));
}

function inVpc({ services, rules }: Rivals, vpc: string): readonly Frontend[] {
  const ofRules = rules
    .filter((rule) => rule.vpc === vpc)
    .flatMap((rule): readonly Frontend[] => {
      const read = readRule(rule.object);
      return isProblem(read) ? [] : [{ service: read.service, rule }];
    });
  return [...services.filter((one) => vpcOf(one).vpc === vpc), ...ofRules];
}

/** Nodes know the VPC of a Service by its annotations, and no rules. */
function onNodes({ services }: Rivals): readonly Frontend[] {
  return services.filter(({ service }) => endpointsElsewhere(service) !== 'all');
}

function claimOf(frontend: Frontend, vip: ServiceVip): readonly Claim[] {
  const { service, rule } = frontend;
  if (rule !== undefined && !isUp(rule, vip)) return [];
  const isClusterIp = vip.isInternal && rule === undefined;
  return [{ vip: vipId(vip), frontend, service: serviceKey(service), createdMs: service.createdMs, isClusterIp }];
}

/** Whether the virtual address of the rule has a load balancer. */
export function isUp(
  { conditions, unserved }: ReportedRule,
  { address, port: { port, protocol } }: Pick<ServiceVip, 'address' | 'port'>,
): boolean {
  return (
    conditions.some(({ type }) => type === 'Ready') && !unserved.includes(`${backendKey(address, port)}/${protocol}`)
  );
}

function nameOf({ service, rule }: Frontend): string {
  return rule === undefined ? `Service ${serviceKey(service)}` : `SwitchLBRule ${rule.object.name}`;
}
