/**
 * The floor of a start: reads all pods, IP objects and networks and the northbound database as the controller does, and
 * prints the milliseconds since the process began. Arguments: kubeconfig, remote.
 */
import { openOvsdb } from 'ovsdb-client';
import { openKube } from '../../lib/kube/client.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { ips, namespaces, nodes, pods, subnets, vpcs } from '../../lib/kube/resources.ts';

const [kubeconfig, remote = ''] = process.argv.slice(2);
const client = openKube({ kubeconfig, userAgent: 'bench' });
const monitor = {
  Logical_Switch: ['name', 'external_ids', 'ports'],
  Logical_Switch_Port: ['name', 'external_ids', 'type', 'addresses', 'port_security', 'options'],
  Port_Group: ['name', 'external_ids', 'ports'],
};
const resources = [pods, ips, nodes, namespaces, subnets, vpcs];
await Promise.all([
  openOvsdb({ remotes: [remote], database: 'OVN_Northbound', monitor }),
  ...resources.map((resource) => reflect({ client, resource, parse: ({ metadata }) => metadata.name }).synced),
]);
console.log(performance.now() / 1000);
process.exit();
