/**
 * Explains whether an OvnEip is reached from outside: the rules that use it, the node that holds it, and how neighbours learn where it is; otherwise the obstacles. In: one
 * reading. Out: values for rendering. Pure. Nothing is decided here that the controller decides: its conditions are repeated, and OVN's southbound database says the rest.
 */
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { BoundPorts, EipReading, RuleReading } from '../../model/eip-reading.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import type { Announcement } from './announcement.ts';
import { announcingPort, holdingPort, residentPort } from '../../model/eip-ports.ts';

export interface RuleAnswer {
  /** `OvnFip web` */
  readonly rule: string;
  readonly vpc: string;
  /** What packets see: `10.0.0.7`, or `80/tcp → 8080 of 10.0.0.7`. */
  readonly does: string;
  readonly isReady: boolean;
  readonly message: string;
  /** The node that translates; undefined if OVN was not asked, empty if there is none. */
  readonly node: string | undefined;
}

export interface EipWhy {
  readonly eip: string;
  readonly addresses: readonly string[];
  readonly subnet: string;
  /** Packets to or from it are translated, as far as is known. */
  readonly isServed: boolean;
  readonly rules: readonly RuleAnswer[];
  /** Limits of its bandwidth. */
  readonly limits: readonly string[];
  /** How neighbours outside learn where the addresses are. */
  readonly reachedBy: {
    /** The MAC addresses and ports by which ARP and neighbour discovery lead to it, as OVN announces them; undefined if OVN was not asked. */
    readonly arp: readonly string[] | undefined;
    /** `node → peer`; undefined where no BgpPeer exists. */
    readonly bgp: readonly string[] | undefined;
  };
  readonly obstacles: readonly Cause[];
  /** Facts that could not be read, and what limits the address without ending it. */
  readonly warnings: readonly Cause[];
}

export function explainEip(reading: EipReading, bgp: Announcement | Problem | undefined): EipWhy {
  const { name, addresses, subnet, rules, ovn } = reading;
  const bound = 'bindings' in ovn ? ovn : undefined;
  const answers = rules.map((rule) => answerOf(rule, reading, bound));
  const announced = bound && announcementsOf(reading, bound);
  const found = [
    ...ownObstacles(reading),
    ...rules.flatMap((rule) => ruleObstacles(rule)),
    ...(bound === undefined ? [] : boundObstacles(reading, bound, announced ?? [])),
  ];
  // One rule that waits does not end the others.
  const isWaiting = ({ code }: Cause): boolean => code === 'RuleNotReady';
  const isSome = rules.some(({ isReady }) => isReady);
  const obstacles = found.filter((one) => !isSome || !isWaiting(one));
  return {
    eip: name,
    addresses,
    subnet,
    isServed: obstacles.length === 0,
    rules: answers,
    limits: 'code' in reading.limits ? [] : reading.limits,
    reachedBy: { arp: announced, bgp: bgp !== undefined && 'sessions' in bgp ? bgp.sessions : undefined },
    obstacles,
    warnings: [...found.filter((one) => isSome && isWaiting(one)), ...unlimited(reading), ...unknowns(ovn, bgp)],
  };
}

function readyOf(conditions: readonly Condition[]): Problem | undefined {
  const bad = conditions.find(({ type, status }) => (type === 'Ready' || type === 'Validated') && status !== 'True');
  return bad && { code: bad.reason ?? 'NotReady', message: bad.message ?? '' };
}

function ownObstacles({ name, type, isReady, isDeleting, conditions, rules, routerOf }: EipReading): readonly Cause[] {
  const problem = readyOf(conditions);
  if (!isReady)
    return [
      problem === undefined
        ? cause('NotReported', `OvnEip ${name} has no status yet`, 'look at the log of isthmus-controller')
        : cause(problem.code, problem.message, `do what the message says; kubectl describe ovn-eip ${name}`),
    ];
  if (isDeleting)
    return [
      cause(
        'Deleting',
        problem?.message ?? 'it is being deleted',
        `kubectl describe ovn-eip ${name} names what uses it`,
      ),
    ];
  if (type === 'lrp' || routerOf !== '' || rules.length > 0) return [];
  const message = `no OvnFip, OvnSnatRule, OvnDnatRule or RouterLBRule names OvnEip ${name}: OVN does not know its address, and nobody answers for it`;
  return [cause('NotUsed', message, 'create a rule with spec.ovnEip, see docs/guides/eip.md')];
}

function ruleObstacles({ kind, name, isReady, conditions }: RuleReading): readonly Cause[] {
  if (isReady) return [];
  const problem = readyOf(conditions);
  const message = `${kind} ${name}: ${problem === undefined ? 'it has no status yet' : `${problem.code}: ${problem.message}`}`;
  return [cause('RuleNotReady', message, 'do what the message says')];
}

/** What the southbound database contradicts. */
function boundObstacles(reading: EipReading, { bindings }: BoundPorts, announced: readonly string[]): readonly Cause[] {
  const { subnet, rules, addresses, routerOf, isReady } = reading;
  const inForce = rules.filter((rule) => rule.isReady);
  const ports = [
    ...(routerOf === '' ? [] : [residentPort(routerOf, subnet)]),
    ...inForce.map((rule) => holdingPort(rule, subnet)),
  ];
  const unheld = [...new Set(ports)].flatMap((port) => {
    const binding = bindings.get(port);
    if (binding === undefined)
      return [
        cause(
          'NotInOvn',
          `OVN's southbound database has no port ${port}: ovn-northd has not translated the rows yet`,
          'look at the log of ovn-northd',
        ),
      ];
    if (binding.chassis !== '') return [];
    const message = `no node holds port ${port}: the gateway nodes are down, or their ovn-controller does not claim it`;
    return [
      cause(
        'NoHolder',
        message,
        'kubectl get nodes -l ovn.kubernetes.io/external-gw=true, and the log of their daemons',
      ),
    ];
  });
  const isExpected = isReady && unheld.length === 0 && (routerOf !== '' || inForce.length > 0);
  const silent = isExpected ? addresses.filter((address) => !isAnnounced(address, announced, routerOf)) : [];
  return [
    ...unheld,
    ...silent.map((address) =>
      cause(
        'NotAnnounced',
        `OVN does not announce ${address}: its rows are not in the southbound database`,
        'look at the log of ovn-northd, and compare with ovn-nbctl lr-nat-list',
      ),
    ),
  ];
}

/** OVN names the addresses of rules one by one; for the router's own it has no entry without rules. */
function isAnnounced(address: string, announced: readonly string[], routerOf: string): boolean {
  return routerOf !== '' || announced.some((text) => text.split(/\s+/).includes(address));
}

/** Entries of OVN's announcements that contain one of the addresses. */
function announcementsOf(
  { subnet, addresses, routerOf, rules }: EipReading,
  { bindings }: BoundPorts,
): readonly string[] {
  const vpcs = [...new Set([routerOf, ...rules.map(({ vpc }) => vpc)])];
  const all = vpcs.flatMap((vpc) => bindings.get(announcingPort(vpc, subnet))?.announced ?? []);
  return all.flatMap((text) => {
    const words = text.split(/\s+/);
    const own = addresses.filter((address) => words.includes(address));
    const place = /is_chassis_resident\("([^"]*)"\)/.exec(text)?.[1];
    const at = place === undefined ? '' : ` by port ${place}`;
    return own.length === 0 ? [] : [`${words[0] ?? ''} ${own.join(' ')}${at}`];
  });
}

function answerOf(rule: RuleReading, { subnet, nodes }: EipReading, bound: BoundPorts | undefined): RuleAnswer {
  const { kind, name, vpc, isReady, inside, externalPort, internalPort, conditions, isDistributed } = rule;
  const chassis = bound && (bound.bindings.get(holdingPort(rule, subnet))?.chassis ?? '');
  const to = inside.length === 0 ? 'nothing yet' : inside.join(', ');
  const leads = {
    OvnDnatRule: `${externalPort} → ${internalPort} of ${to}`,
    RouterLBRule: `${externalPort} → ${to}`,
  } as const;
  const ports = kind === 'OvnDnatRule' || kind === 'RouterLBRule' ? leads[kind] : to;
  return {
    rule: `${kind} ${name}`,
    vpc,
    does: isDistributed ? `${ports} (distributed)` : ports,
    isReady,
    message: isReady ? '' : (readyOf(conditions)?.message ?? 'not reported yet'),
    node: chassis === undefined ? undefined : (nodes.get(chassis) ?? chassis),
  };
}

function unlimited({ limits }: EipReading): readonly Cause[] {
  if (!('code' in limits)) return [];
  return [cause(limits.code, limits.message, 'ask for the permission to list VpcNatGateways and QoSPolicies')];
}

function unknowns(ovn: EipReading['ovn'], bgp: Announcement | Problem | undefined): readonly Cause[] {
  const asked =
    'bindings' in ovn
      ? []
      : [
          cause(
            ovn.code,
            ovn.message,
            'name the southbound database with --sb, or run it with the right to exec in the pods of OVN',
          ),
        ];
  if (bgp === undefined) return asked;
  if ('code' in bgp) return [...asked, cause(bgp.code, bgp.message, 'ask for the permission to list BGP objects')];
  if (bgp.sessions.length > 0) return asked;
  const why = bgp.reason === undefined ? '' : `: ${bgp.reason.code}: ${bgp.reason.message}`;
  const message = `it is announced to no router by BGP${why}; hosts of its own network reach it by ARP`;
  return [...asked, cause('NotByBgp', message, 'isthmus bgp why eip/NAME, if routers should learn it')];
}
