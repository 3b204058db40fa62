/**
 * A cluster that Kube-OVN leaves: its Kubernetes objects and its rows in the northbound database, with the names, ids and
 * priorities that Kube-OVN uses. For tests of the adoption of such a cluster.
 */
import type { Operation } from 'ovsdb-client';
import { ips, nodes, objectPath, pods, subnets, vpcs } from '../../lib/kube/resources.ts';
import type { ControllerBed } from './controller-bed.ts';

const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;
const vendor = { vendor: 'kube-ovn' };
const merge = { contentType: 'application/merge-patch+json' };

export interface FormerPod {
  readonly name: string;
  readonly node: string;
  readonly ip: string;
  readonly mac: string;
}

export const formerPods: readonly FormerPod[] = [
  { name: 'web-1', node: 'n1', ip: '10.16.0.7', mac: '5e:11:22:33:44:01' },
  { name: 'web-2', node: 'n2', ip: '10.16.0.9', mac: '5e:11:22:33:44:02' },
];
const formerNodes = [
  { name: 'n1', address: '172.30.1.11', ip: '100.64.0.5', mac: '5e:aa:00:00:00:01' },
  { name: 'n2', address: '172.30.1.12', ip: '100.64.0.3', mac: '5e:aa:00:00:00:02' },
] as const;
const formerSubnets = [
  { name: 'ovn-default', cidr: '10.16.0.0/16', gateway: '10.16.0.1', mac: '5e:bb:00:00:00:01' },
  { name: 'join', cidr: '100.64.0.0/16', gateway: '100.64.0.1', mac: '5e:bb:00:00:00:02' },
] as const;
/** The MAC addresses of router ports, which neighbours have learned. */
export const formerRouterMacs: Readonly<Record<string, string>> = Object.fromEntries(
  formerSubnets.map(({ name, mac }) => [`ovn-cluster-${name}`, mac]),
);

async function createIp(bed: ControllerBed, name: string, subnet: string, spec: object): Promise<void> {
  const labels = { [ovn('subnet')]: subnet, [subnet]: '' };
  const metadata = { name, labels, finalizers: ['kubeovn.io/kube-ovn-controller'] };
  const rest = { subnet, attachIps: [], attachMacs: [], attachSubnets: [], containerID: '', podType: '' };
  await bed.kube.create(ips, { apiVersion: 'kubeovn.io/v1', kind: 'IP', metadata, spec: { ...rest, ...spec } });
}

function annotationsOf(subnet: string, ip: string, mac: string, more: object): Readonly<Record<string, string>> {
  const { cidr = '', gateway = '' } = formerSubnets.find(({ name }) => name === subnet) ?? {};
  return {
    [ovn('allocated')]: 'true',
    [ovn('ip_address')]: ip,
    [ovn('mac_address')]: mac,
    [ovn('cidr')]: cidr,
    [ovn('gateway')]: gateway,
    [ovn('logical_switch')]: subnet,
    ...more,
  };
}

/** Creates Kube-OVN's Nodes, Vpc, Subnets, pods and IP objects. */
export async function createFormerObjects(bed: ControllerBed): Promise<void> {
  const apiVersion = 'kubeovn.io/v1';
  const finalizers = ['kubeovn.io/kube-ovn-controller'];
  await bed.kube.create(vpcs, { apiVersion, kind: 'Vpc', metadata: { name: 'ovn-cluster' }, spec: {} });
  for (const { name, cidr, gateway } of formerSubnets) {
    const common = { cidrBlock: cidr, gateway, excludeIps: [gateway], protocol: 'IPv4', provider: 'ovn' };
    const more =
      name === 'join' ? { disableInterConnection: true } : { default: true, natOutgoing: true, enableLb: true };
    const spec = { ...common, ...more, vpc: 'ovn-cluster', gatewayType: 'distributed' };
    await bed.kube.create(subnets, { apiVersion, kind: 'Subnet', metadata: { name, finalizers }, spec });
  }
  for (const { name, address, ip, mac } of formerNodes) {
    await bed.createNode(name, address);
    const annotations = annotationsOf('join', ip, mac, { [ovn('port_name')]: `node-${name}` });
    await bed.kube.request('PATCH', objectPath(nodes, { name }), { metadata: { annotations } }, merge);
    const spec = { ipAddress: ip, v4IpAddress: ip, v6IpAddress: '', macAddress: mac, nodeName: name };
    await createIp(bed, `node-${name}`, 'join', { ...spec, podName: name, namespace: '' });
  }
  for (const { name, node, ip, mac } of formerPods) {
    const more = {
      [ovn('routed')]: 'true',
      [ovn('logical_router')]: 'ovn-cluster',
      [ovn('pod_nic_type')]: 'veth-pair',
    };
    await bed.createPod(name, { node, annotations: annotationsOf('ovn-default', ip, mac, more) });
    const spec = { ipAddress: ip, v4IpAddress: ip, v6IpAddress: '', macAddress: mac, nodeName: node };
    await createIp(bed, `${name}.default`, 'ovn-default', { ...spec, podName: name, namespace: 'default' });
  }
  // Its pod was deleted while no controller ran.
  const spec = { ipAddress: '10.16.0.50', v4IpAddress: '10.16.0.50', v6IpAddress: '', macAddress: '5e:11:22:33:44:50' };
  await createIp(bed, 'lost.default', 'ovn-default', {
    ...spec,
    podName: 'lost',
    namespace: 'default',
    nodeName: 'n1',
  });
  await bed.kube.get(pods, { namespace: 'default', name: 'web-1' });
}

type Inserted = Operation & { readonly op: 'insert' };

function insert(table: string, uuidName: string, row: Inserted['row']): Inserted {
  return { op: 'insert', table, uuidName, row };
}

function policies(): readonly Inserted[] {
  const local = formerSubnets.map(({ name, cidr }) =>
    insert('Logical_Router_Policy', `local_${name.replace('-', '')}`, {
      priority: 31000,
      match: `ip4.dst == ${cidr}`,
      action: 'allow',
      external_ids: { ...vendor, subnet: name },
    }),
  );
  const byNode = formerNodes.flatMap(({ name, address, ip }) => [
    insert('Logical_Router_Policy', `to_${name}`, {
      priority: 30000,
      match: `ip4.dst == ${address}`,
      action: 'reroute',
      nexthops: [ip],
      external_ids: { ...vendor, node: name, 'address-family': '4' },
    }),
    insert('Logical_Router_Policy', `out_${name}`, {
      priority: 29000,
      match: `ip4.src == $ovn.default.${name}_ip4`,
      action: 'reroute',
      nexthops: [ip],
      external_ids: { ...vendor, subnet: 'ovn-default', node: name },
    }),
  ]);
  const stale = insert('Logical_Router_Policy', 'stale', {
    priority: 29400,
    match: 'ip4.dst == 10.99.0.0/16',
    action: 'allow',
    external_ids: vendor,
  });
  return [...local, ...byNode, stale];
}

function switches(): readonly Inserted[] {
  return formerSubnets.flatMap(({ name, gateway, mac }) => {
    const id = name.replace('-', '');
    const ofPods = [...formerPods.map((_, index) => `pod_${index}`), 'left'];
    const members = name === 'join' ? formerNodes.map((node) => `port_${node.name}`) : ofPods;
    const prefix = 16;
    return [
      insert('Logical_Switch', `switch_${id}`, {
        name,
        external_ids: vendor,
        ports: [{ named: `patch_${id}` }, ...members.map((named) => ({ named }))],
      }),
      insert('Logical_Switch_Port', `patch_${id}`, {
        name: `${name}-ovn-cluster`,
        type: 'router',
        addresses: ['router'],
        options: { 'router-port': `ovn-cluster-${name}` },
        external_ids: vendor,
      }),
      insert('Logical_Router_Port', `router_${id}`, {
        name: `ovn-cluster-${name}`,
        mac,
        networks: [`${gateway}/${prefix}`],
        external_ids: vendor,
      }),
    ];
  });
}

/** The port of a pod that was deleted while no controller ran. */
export const leftPort = { name: 'left.default', ip: '10.16.0.2', mac: '5e:11:22:33:44:60' } as const;

function ports(): readonly Inserted[] {
  const ofNodes = formerNodes.map(({ name, ip, mac }) =>
    insert('Logical_Switch_Port', `port_${name}`, { name: `node-${name}`, addresses: [`${mac} ${ip}`] }),
  );
  const ofPods = formerPods.map(({ name, ip, mac }, index) =>
    insert('Logical_Switch_Port', `pod_${index}`, {
      name: `${name}.default`,
      addresses: [`${mac} ${ip}`],
      external_ids: { ...vendor, pod: `default/${name}`, ls: 'ovn-default' },
    }),
  );
  const ofNobody = insert('Logical_Switch_Port', 'left', {
    name: leftPort.name,
    addresses: [`${leftPort.mac} ${leftPort.ip}`],
    external_ids: { ...vendor, pod: 'default/left', ls: 'ovn-default' },
  });
  return [...ofNodes, ...ofPods, ofNobody];
}

function groups(): readonly Inserted[] {
  const closed = insert('Port_Group', 'closed', {
    name: 'ovn.sg.kubeovn_deny_all',
    external_ids: { ...vendor, sg: 'kubeovn_deny_all' },
  });
  const ofNodes = formerNodes.flatMap(({ name }) => [
    insert('Port_Group', `group_${name}`, {
      name: `ovn.default.${name}`,
      ports: formerPods.flatMap(({ node }, index) => (node === name ? [{ named: `pod_${index}` }] : [])),
      external_ids: { ...vendor, subnet: 'ovn-default', node: name, np: `ovn-default/${name}` },
    }),
    insert('Port_Group', `node_${name}`, {
      name: `node.${name}`,
      external_ids: { ...vendor, node: name, np: `node/${name}` },
    }),
  ]);
  return [closed, ...ofNodes];
}

/** Kube-OVN's rows, in one transaction. One load balancer has a Service's backends; one switch belongs to another program. */
export function formerRows(): readonly Operation[] {
  const route = insert('Logical_Router_Static_Route', 'route', {
    ip_prefix: '0.0.0.0/0',
    nexthop: '100.64.0.1',
    policy: 'dst-ip',
    external_ids: vendor,
  });
  const named = policies();
  const router = insert('Logical_Router', 'router', {
    name: 'ovn-cluster',
    options: { mac_binding_age_threshold: '300', dynamic_neigh_routers: 'true' },
    external_ids: vendor,
    ports: formerSubnets.map(({ name }) => ({ named: `router_${name.replace('-', '')}` })),
    policies: named.map(({ uuidName = '' }) => ({ named: uuidName })),
    static_routes: [{ named: 'route' }],
    // The NAT of an OvnSnatRule, which Kube-OVN does not mark.
    nat: [{ named: 'snat' }],
    load_balancer: [{ named: 'dnat' }],
  });
  const snat = insert('NAT', 'snat', { type: 'snat', external_ip: '172.30.1.200', logical_ip: '10.16.0.0/16' });
  const dnat = insert('Load_Balancer', 'dnat', {
    name: 'my-dnat-rule',
    protocol: 'tcp',
    vips: { '172.30.1.201:80': '10.16.0.7:8080' },
    external_ids: vendor,
  });
  const balancer = insert('Load_Balancer', 'tcp', {
    name: 'cluster-tcp-loadbalancer',
    protocol: 'tcp',
    vips: { '10.96.0.10:53': '10.16.0.7:53' },
    external_ids: vendor,
  });
  const foreign = insert('Logical_Switch', 'foreign', { name: 'of-another', external_ids: { owner: 'another' } });
  return [...switches(), ...ports(), ...groups(), route, ...named, snat, dnat, router, balancer, foreign];
}
