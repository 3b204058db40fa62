/** Faults of names, prefixes and policies, and the cause that the diagnosis must report. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { policyOf, spoil, subnetOf } from '../../testing-snapshots.ts';
import { tryFault, type Fault, rejectRoute } from '../../testing-faults.ts';

const faults: readonly Fault[] = [
  {
    name: 'two gateways have one system-id, says the hub',
    make: ({ east }) =>
      spoil(
        east,
        'NoConflicts',
        'DuplicateChassis',
        'chassis e1 is a gateway of west already; set another system-id in its Open vSwitch',
      ),
    code: 'DuplicateChassis',
    says: /gateway of west already/,
  },
  {
    name: 'two gateways have one system-id, seen on both sides',
    make: ({ west }) => {
      const [gateway] = west.gateways;
      assert.ok(gateway);
      gateway.status.chassis = 'e1';
    },
    code: 'DuplicateChassis',
    says: /e1 of east and w1 of west have the same system-id e1/,
  },
  {
    name: 'two gateways have one tunnel address',
    make: ({ west }) => {
      const [gateway] = west.gateways;
      assert.ok(gateway);
      gateway.status.address = '192.0.2.11';
    },
    code: 'DuplicateEncap',
    says: /the same tunnel address 192\.0\.2\.11/,
  },
  {
    name: 'a prefix overlaps: the hub kept it for the first',
    make: ({ east }) =>
      spoil(east, 'NoConflicts', 'PrefixOverlap', '10.16.0.0/16 overlaps 10.16.0.0/12 of west, which had it first'),
    code: 'PrefixOverlap',
    says: /of west, which had it first/,
  },
  {
    name: 'a prefix overlaps a subnet here',
    make: ({ east }) =>
      rejectRoute(east, 'Overlap', '10.17.0.0/16 of west overlaps 10.17.3.0/24 (ovn-default) of this cluster'),
    code: 'Overlap',
    says: /overlaps 10\.17\.3\.0\/24/,
  },
  {
    name: 'a policy denies it',
    make: ({ east }) => {
      east.policies = [policyOf('no-west', { rules: [{ match: { clusters: ['west'] }, action: 'Deny' }] })];
      rejectRoute(east, 'Denied', '10.17.0.0/16 of west is denied by rules[0] of RoutePolicy no-west');
    },
    code: 'Denied',
    says: /rules\[0\] of RoutePolicy no-west/,
  },
  {
    name: 'a policy denies one of several',
    make: ({ east }) => {
      const [route] = east.remotes[0]?.status.routes ?? [];
      assert.ok(route);
      east.remotes[0]?.status.routes?.push({ ...route, prefix: '10.27.0.0/16' });
      rejectRoute(east, 'Denied', '10.17.0.0/16 of west is denied by rules[0] of RoutePolicy some-of-west');
      Object.assign(east.remotes[0]?.status ?? {}, { routesActive: 1 });
    },
    code: 'Denied',
    says: /RoutePolicy some-of-west/,
    as: 'warning',
  },
  {
    name: 'the other cluster offers nothing',
    make: ({ east }) => {
      Object.assign(east.remotes[0]?.status ?? {}, { routes: [], routesActive: 0, routesRejected: 0 });
    },
    code: 'NothingOffered',
    says: /west offers no prefix/,
    isAlone: true,
  },
  {
    name: 'more prefixes than maxPrefixes',
    make: ({ east }) => {
      east.policies = [policyOf('few', { maxPrefixes: 1 }, { overLimit: 4 })];
      rejectRoute(east, 'MaxPrefixes', '10.17.0.0/16 of west is beyond the limit of 1 of RoutePolicy few');
    },
    code: 'MaxPrefixes',
    says: /RoutePolicy few refuses 4 prefixes above its limit of 1/,
  },
  {
    name: 'an invalid policy',
    make: ({ east }) =>
      (east.policies = [
        policyOf(
          'odd',
          {},
          {
            conditions: [
              {
                type: 'Ready',
                status: 'False',
                reason: 'PrefixInvalid',
                message: 'rules[0]: 10.0.0.1/8 has host bits',
              },
            ],
          },
        ),
      ]),
    code: 'PrefixInvalid',
    says: /RoutePolicy odd: rules\[0\]/,
  },
  {
    name: 'a subnet is not shared',
    make: ({ west }) => west.subnets.push(subnetOf('private', '10.18.0.0/24', { isDisabled: true })),
    code: 'NotShared',
    says: /subnet private of west is not shared: disableInterConnection/,
    as: 'warning',
  },
  {
    name: 'the only subnet is not shared',
    make: ({ west }) => (west.subnets = [subnetOf('ovn-default', '10.17.0.0/16', { isDisabled: true })]),
    code: 'NothingOffered',
    says: /west has no subnet that is shared with other clusters/,
  },
  {
    name: 'a subnet is not ready',
    make: ({ west }) =>
      west.subnets.push(
        subnetOf('late', '10.19.0.0/24', {
          cidrs: [],
          conditions: [
            { type: 'Ready', status: 'False', reason: 'CIDROverlap', message: '10.19.0.0/24 overlaps subnet web' },
          ],
        }),
      ),
    code: 'SubnetNotReady',
    says: /subnet late of west \(10\.19\.0\.0\/24\) is not ready: 10\.19\.0\.0\/24 overlaps subnet web/,
  },
  {
    name: 'a new subnet would take addresses of another cluster, and was refused',
    make: ({ east }) =>
      east.subnets.push(
        subnetOf('clash', '10.17.4.0/24', {
          cidrs: [],
          conditions: [
            {
              type: 'Ready',
              status: 'False',
              reason: 'InterconnectOverlap',
              message: 'spec.cidrBlock 10.17.4.0/24 overlaps 10.17.0.0/16 of cluster west',
            },
          ],
        }),
      ),
    code: 'PrefixOverlap',
    says: /subnet clash of east is not in force: .* overlaps 10\.17\.0\.0\/16 of cluster west/,
    isAlone: true,
  },
  {
    name: 'a subnet is in a VPC that is not joined',
    make: ({ west }) => west.subnets.push(subnetOf('tenant', '10.20.0.0/24', { vpc: 'blue' })),
    code: 'OtherVpc',
    says: /in the VPC blue, which is attached to no transit switch/,
    as: 'warning',
  },
  {
    name: 'the VPC that is to be joined does not exist',
    make: ({ east }) => {
      assert.ok(east.interconnect && 'vpc' in east.interconnect.spec);
      east.interconnect.spec.vpc = 'blue';
    },
    code: 'VpcNotFound',
    says: /joins the VPC blue, which east does not have/,
  },
  {
    name: 'the transit network overlaps a subnet',
    make: ({ east }) => {
      east.subnets.push(subnetOf('odd', '100.100.7.0/24', { isDisabled: true }));
      spoil(east, 'NoConflicts', 'TransitOverlap', 'transit switch ts (100.100.0.0/16) overlaps 100.100.7.0/24 (odd)');
    },
    code: 'TransitOverlap',
    says: /overlaps 100\.100\.7\.0\/24/,
  },
];

describe('faults of names and prefixes', () => {
  for (const fault of faults) it(fault.name, () => tryFault(fault));
});
