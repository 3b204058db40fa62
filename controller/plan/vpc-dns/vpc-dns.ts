/**
 * DNS and the API server for pods of custom VPCs. In: VpcDnses, their VPCs, the two Services. Out: a port of type `localport`, the gate, on a switch of
 * its own at the router of the VPC, and load balancers that lead the addresses of the two Services to it. The daemon of each node connects the
 * gate to the Services (ADR 42).
 */
import { gatePort, gateSwitch, routerSwitchPort, switchRouterPort } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { deriveMac } from '../../../lib/net/mac.ts';
import { backendKey } from '../../../lib/services/backends.ts';
import { gateMac, gateNetwork, type GateTarget } from '../../../lib/services/gate.ts';
import type { Change } from '../../model/change.ts';
import type { VpcDns } from '../../model/objects.ts';
import { routerMacSpace } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import {
  gateTargetsIn,
  missingService,
  obstacleOfDns,
  refusalOfDns,
  vpcsOfDnsChange,
} from '../../settle/vpc-dns/verdict.ts';
import { obstacleConditions } from '../conditions.ts';
import { refusalEvents } from '../events.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { refusalOf, type ObjectReport, type Outcome } from '../report.ts';
import { groupMembership } from '../service/group.ts';
import { readinessEvents } from '../underlay/report.ts';

const networks = [gateNetwork[4], gateNetwork[6]];

function switchRows(vpc: string): readonly DesiredRow[] {
  const name = gateSwitch(vpc);
  const port = routerSwitchPort(vpc, name);
  const parent = { table: 'Logical_Switch', key: name, column: 'ports' };
  return [
    { table: 'Logical_Switch', key: name, columns: { external_ids: vendorIds } },
    {
      table: 'Logical_Switch_Port',
      key: switchRouterPort(name, vpc),
      columns: {
        type: 'router',
        addresses: ['router'],
        options: { 'router-port': port },
        external_ids: { ...vendorIds, ls: name },
      },
      parent,
    },
    {
      table: 'Logical_Router_Port',
      key: port,
      columns: {
        networks: networks.map(({ router, prefix }) => `${router}/${prefix}`),
        ipv6_ra_configs: {},
        external_ids: vendorIds,
      },
      initial: { mac: deriveMac(routerMacSpace, port) },
      parent: { table: 'Logical_Router', key: vpc, column: 'ports' },
    },
    {
      table: 'Logical_Switch_Port',
      key: gatePort(vpc),
      columns: {
        // On every chassis that has an interface for it; what it sends stays on that chassis.
        type: 'localport',
        addresses: [[gateMac, ...networks.map(({ gate }) => gate)].join(' ')],
        options: {},
        external_ids: { ...vendorIds, ls: name },
      },
      parent,
    },
  ];
}

function balancerRows(vpc: string, targets: readonly GateTarget[]): readonly DesiredRow[] {
  const groups = (['tcp', 'udp'] as const).flatMap((protocol) =>
    ([4, 6] as const).map((family) => ({ protocol, family })),
  );
  return groups.flatMap(({ protocol, family }) => {
    const ofGroup = targets.filter((target) => target.protocol === protocol && target.family === family);
    if (ofGroup.length === 0) return [];
    const vips = ofGroup.map(({ address, port }) => [
      backendKey(address, port),
      backendKey(gateNetwork[family].gate, port),
    ]);
    return {
      table: 'Load_Balancer',
      key: `${gatePort(vpc)}/${protocol}/ipv${family}`,
      columns: {
        protocol,
        vips: Object.fromEntries(vips) as Readonly<Record<string, string>>,
        selection_fields: [],
        options: {},
        external_ids: vendorIds,
      },
    };
  });
}

function isInForce(view: View, dns: VpcDns): boolean {
  return !dns.isDeleting && refusalOfDns(view, dns) === undefined && obstacleOfDns(view, dns) === undefined;
}

function planDns(view: View, name: string): Desired {
  const dns = view.vpcDnses.get(name);
  if (dns === undefined || !isInForce(view, dns)) return nothing;
  const { vpc } = dns.spec;
  const balancers = balancerRows(vpc, gateTargetsIn(view));
  const membership = groupMembership(
    vpc,
    balancers.map(({ key }) => key),
  );
  return { rows: [...switchRows(vpc), ...balancers], contributions: [membership], createdMs: dns.createdMs };
}

function reportDns(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'vpcDnses', name } as const;
  const dns = view.vpcDnses.get(name);
  if (dns === undefined || dns.isDeleting) return [{ object }];
  const refusal = refusalOfDns(view, dns);
  const refused = refusalOf(outcome);
  const obstacle = refused ?? obstacleOfDns(view, dns) ?? missingService(view);
  const conditions = obstacleConditions(dns.generation, refusal, obstacle, 'VpcDnsReady');
  const events = [
    ...refusalEvents('ValidateVpcDnsFailed', conditions, dns.conditions),
    ...(refusal === undefined ? readinessEvents('VpcDns', dns, conditions) : []),
  ];
  const fields = { active: isInForce(view, dns) && refused === undefined };
  return [{ object, status: { fields, conditions, events } }];
}

/** VPCs on whose router, networks or VpcDnses the change has an effect. */
function* vpcsConcerned(change: Change, view: View): Generator<string> {
  if (change.kind === 'vpcs') yield change.name;
  else if (change.kind === 'verdicts' || change.kind === 'transitSwitches')
    for (const one of [change.before, change.after]) yield one?.vpc ?? '';
  else yield* vpcsOfDnsChange(change, view);
}

/** Keys: the VpcDns. */
export const vpcDnsFeature: Feature = {
  name: 'vpc-dns',
  all: (view) => view.vpcDnses.keys(),
  *reads(change, view) {
    if (change.kind === 'vpcDnses') yield change.name;
    for (const vpc of vpcsConcerned(change, view)) yield* view.indexes.vpcDnsesByVpc.of(vpc);
  },
  plan: planDns,
  report: reportDns,
};
