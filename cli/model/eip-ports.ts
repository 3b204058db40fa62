/** The ports of OVN that have a part in an OvnEip. */
import { routerSwitchPort, switchRouterPort } from '../../lib/api/names.ts';
import type { EipReading, RuleReading } from './eip-reading.ts';

type Eip = Pick<EipReading, 'subnet' | 'routerOf' | 'rules'>;

/** The port that exists at the node which holds the router's port. */
export function residentPort(vpc: string, subnet: string): string {
  return `cr-${routerSwitchPort(vpc, subnet)}`;
}

/** The port of the switch outside, from which the addresses of the router's rules are announced. */
export function announcingPort(vpc: string, subnet: string): string {
  return switchRouterPort(subnet, vpc);
}

export function vpcsOf({ routerOf, rules }: Eip): readonly string[] {
  return [...new Set([routerOf, ...rules.map(({ vpc }) => vpc)].filter((vpc) => vpc !== ''))];
}

/** The port whose node translates the address of a rule. */
export function holdingPort({ vpc, isDistributed, ipName }: RuleReading, subnet: string): string {
  return isDistributed ? ipName : residentPort(vpc, subnet);
}

export function portsOf(eip: Eip): readonly string[] {
  const { subnet, rules } = eip;
  return [
    ...vpcsOf(eip).flatMap((vpc) => [residentPort(vpc, subnet), announcingPort(vpc, subnet)]),
    ...rules.filter(({ isDistributed }) => isDistributed).map(({ ipName }) => ipName),
  ];
}
