/**
 * The floor of a controller that starts: a program that reads the same objects and rows, writes the rows that it is given in one bare transaction, and prints the seconds since the
 * process began. Arguments: kubeconfig, remote, file with the operations; without a file it writes nothing.
 */
import { readFileSync } from 'node:fs';
import { openOvsdb, type Operation } from 'ovsdb-client';
import { openKube } from '../../../lib/kube/client.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import { ips, namespaces, networkPolicies, nodes, pods, subnets, vpcs } from '../../../lib/kube/resources.ts';

const [kubeconfig, remote = '', file] = process.argv.slice(2);
const client = openKube({ kubeconfig, userAgent: 'bench' });
const monitor = {
  Logical_Switch: ['name', 'external_ids', 'ports'],
  Logical_Switch_Port: ['name', 'external_ids', 'type', 'addresses', 'port_security', 'options'],
  Port_Group: ['name', 'external_ids', 'ports', 'acls'],
  ACL: ['direction', 'priority', 'match', 'action', 'external_ids', 'options'],
  Address_Set: ['name', 'addresses', 'external_ids'],
};
const resources = [pods, networkPolicies, ips, nodes, namespaces, subnets, vpcs];
const [nb] = await Promise.all([
  openOvsdb({ remotes: [remote], database: 'OVN_Northbound', monitor }),
  ...resources.map((resource) => reflect({ client, resource, parse: ({ metadata }) => metadata.name }).synced),
]);
if (file !== undefined) await nb.transact(JSON.parse(readFileSync(file, 'utf8')) as readonly Operation[]);
console.log(performance.now() / 1000);
process.exit();
