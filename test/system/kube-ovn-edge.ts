/**
 * The edge of a cluster that Kube-OVN leaves: a network outside, the router's port in it by the ConfigMap, an OvnFip, an OvnSnatRule and an OvnDnatRule in use,
 * with the columns, names, labels and statuses that Kube-OVN 1.17 writes. For tests of the adoption of such a cluster.
 */
import type { Operation } from 'ovsdb-client';
import {
  apiVersionOf,
  configMaps,
  nodes,
  objectPath,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  ovnSnatRules,
  providerNetworks,
  subnets,
  vlans,
} from '../../lib/kube/resources.ts';
import { externalConfig } from '../../lib/api/names.ts';
import type { Resource } from '../../lib/kube/types.ts';
import type { ControllerBed } from './controller-bed.ts';

const vendor = { vendor: 'kube-ovn' };
const merge = { contentType: 'application/merge-patch+json' };
const router = 'ovn-cluster';
/** The pod of the rules. */
const inside = { name: 'web-1.default', ip: '10.16.0.7' } as const;

/** Addresses and MAC addresses of the OvnEips. */
export const formerEips = {
  'ovn-cluster-external': { v4Ip: '203.0.113.100', macAddress: '5e:cc:00:00:00:01', type: 'lrp', nat: '' },
  floating: { v4Ip: '203.0.113.101', macAddress: '5e:cc:00:00:00:02', type: 'nat', nat: 'fip' },
  shared: { v4Ip: '203.0.113.102', macAddress: '5e:cc:00:00:00:03', type: 'nat', nat: 'dnat,snat' },
} as const;

const condition = {
  type: 'Ready',
  status: 'True',
  reason: '',
  lastUpdateTime: '2026-01-01T00:00:00Z',
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const;

async function createServed(
  bed: ControllerBed,
  resource: Resource,
  { name, spec, status, more = {} }: { name: string; spec: object; status: object; more?: object },
): Promise<void> {
  const metadata = { name, finalizers: ['kubeovn.io/kube-ovn-controller'], ...more };
  await bed.kube.create(resource, { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, spec });
  const body = { status: { ready: true, conditions: [condition], ...status } };
  await bed.kube.request('PATCH', objectPath(resource, { name }, 'status'), body, merge);
}

/** To be called after `createFormerObjects`. */
export async function createFormerEdge(bed: ControllerBed): Promise<void> {
  for (const [name, number] of [
    ['n1', 1],
    ['n2', 2],
  ] as const) {
    const labels = { 'net1.provider-network.kubernetes.io/ready': 'true' };
    const annotations = { 'ovn.kubernetes.io/chassis': `chassis-${number}` };
    await bed.kube.request('PATCH', objectPath(nodes, { name }), { metadata: { labels, annotations } }, merge);
  }
  await bed.create(providerNetworks, 'net1', { defaultInterface: 'eth1' });
  await bed.create(vlans, 'lan', { id: 0, provider: 'net1' });
  await bed.create(subnets, 'external', {
    vlan: 'lan',
    vpc: router,
    protocol: 'IPv4',
    provider: 'ovn',
    cidrBlock: '203.0.113.0/24',
    gateway: '203.0.113.1',
    excludeIps: ['203.0.113.1..203.0.113.9'],
  });
  const { namespace, name } = externalConfig;
  await bed.kube.create(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name },
    data: {
      'enable-external-gw': 'true',
      type: 'centralized',
      'external-gw-nodes': 'n1,n2',
      'external-gw-nic': 'eth1',
      'external-gw-addr': '203.0.113.1',
      'nic-ip': `${formerEips['ovn-cluster-external'].v4Ip}/24`,
      'nic-mac': formerEips['ovn-cluster-external'].macAddress,
    },
  });
  for (const [name, { v4Ip, macAddress, type, nat }] of Object.entries(formerEips))
    await createServed(bed, ovnEips, {
      name,
      spec: { externalSubnet: 'external', v4Ip, v6Ip: '', macAddress, type },
      status: { v4Ip, v6Ip: '', macAddress, type, nat },
      more: { labels: { 'ovn.kubernetes.io/subnet': 'external', 'ovn.kubernetes.io/eip_v4_ip': v4Ip } },
    });
  const [floating, shared] = [formerEips.floating.v4Ip, formerEips.shared.v4Ip];
  await createServed(bed, ovnFips, {
    name: 'floating',
    spec: { ovnEip: 'floating', ipName: inside.name },
    status: { vpc: router, v4Eip: floating, v4Ip: inside.ip },
    more: { annotations: { 'ovn.kubernetes.io/vpc_eip': 'floating' } },
  });
  await createServed(bed, ovnSnatRules, {
    name: 'leave',
    spec: { ovnEip: 'shared', vpcSubnet: 'ovn-default' },
    status: { vpc: router, v4Eip: shared, v4IpCidr: '10.16.0.0/16' },
    more: { annotations: { 'ovn.kubernetes.io/vpc_eip': 'shared' } },
  });
  const ports = { protocol: 'tcp', externalPort: '80', internalPort: '8080' };
  await createServed(bed, ovnDnatRules, {
    name: 'published',
    spec: { ovnEip: 'shared', ipName: inside.name, ...ports },
    status: { vpc: router, v4Eip: shared, v4Ip: inside.ip, ipName: inside.name, ...ports },
    more: { annotations: { 'ovn.kubernetes.io/vpc_eip': 'shared' } },
  });
}

type Inserted = Operation & { readonly op: 'insert' };

function insert(table: string, uuidName: string, row: Inserted['row']): Inserted {
  return { op: 'insert', table, uuidName, row };
}

/** Rows on the router that exists already. */
export function formerEdgeRows(): readonly Operation[] {
  const port = 'ovn-cluster-external';
  const { v4Ip, macAddress } = formerEips[port];
  const chassis = [1, 2].map((number) =>
    insert('Gateway_Chassis', `gc${number}`, {
      name: `${port}-chassis-${number}`,
      chassis_name: `chassis-${number}`,
      priority: 101 - number,
    }),
  );
  const where = [['name', '==', router]] as const;
  return [
    insert('Logical_Switch', 'switch', {
      name: 'external',
      external_ids: vendor,
      ports: [{ named: 'localnet' }, { named: 'patch' }],
    }),
    insert('Logical_Switch_Port', 'localnet', {
      name: 'localnet.external',
      type: 'localnet',
      addresses: ['unknown'],
      options: { network_name: 'net1' },
      external_ids: vendor,
    }),
    insert('Logical_Switch_Port', 'patch', {
      name: 'external-ovn-cluster',
      type: 'router',
      addresses: ['router'],
      options: { 'router-port': port, 'nat-addresses': 'router' },
      external_ids: vendor,
    }),
    ...chassis,
    insert('Logical_Router_Port', 'out', {
      name: port,
      mac: macAddress,
      networks: [`${v4Ip}/24`],
      gateway_chassis: chassis.map(({ uuidName = '' }) => ({ named: uuidName })),
      external_ids: vendor,
    }),
    // Kube-OVN leads packets to the node of the pod, also where the type is centralized.
    insert('NAT', 'fip', {
      type: 'dnat_and_snat',
      external_ip: formerEips.floating.v4Ip,
      logical_ip: inside.ip,
      external_mac: formerEips.floating.macAddress,
      logical_port: inside.name,
      options: { stateless: 'false' },
    }),
    insert('NAT', 'leave', { type: 'snat', external_ip: formerEips.shared.v4Ip, logical_ip: '10.16.0.0/16' }),
    insert('Load_Balancer', 'published', {
      name: 'published',
      protocol: 'tcp',
      vips: { [`${formerEips.shared.v4Ip}:80`]: `${inside.ip}:8080` },
      external_ids: vendor,
    }),
    {
      op: 'mutate',
      table: 'Logical_Router',
      where,
      mutations: [
        ['ports', 'insert', { named: 'out' }],
        ['nat', 'insert', { named: 'fip' }],
        ['nat', 'insert', { named: 'leave' }],
        ['load_balancer', 'insert', { named: 'published' }],
      ],
    },
  ];
}
