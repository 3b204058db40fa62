/**
 * The floor of a controller that starts on an empty database: a program that reads the same objects, writes the rows that it is given in
 * bare transactions, and prints the seconds since the process began. Arguments: kubeconfig, remote, file with the rows; without a
 * file it writes nothing.
 */
import { readFileSync } from 'node:fs';
import { openOvsdb, type Operation } from 'ovsdb-client';
import { openKube } from '../../../lib/kube/client.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import { endpointSlices, ips, namespaces, nodes, pods, services, subnets, vpcs } from '../../../lib/kube/resources.ts';
import { balancerColumns, type BalancerRow, insertBalancers } from './balancers.ts';

const [kubeconfig, remote = '', file] = process.argv.slice(2);
const client = openKube({ kubeconfig, userAgent: 'bench' });
const resources = [services, endpointSlices, pods, ips, nodes, namespaces, subnets, vpcs];
const [nb] = await Promise.all([
  openOvsdb({
    remotes: [remote],
    database: 'OVN_Northbound',
    monitor: { Load_Balancer: balancerColumns, Load_Balancer_Group: ['name', 'load_balancer'] },
  }),
  ...resources.map((resource) => reflect({ client, resource, parse: ({ metadata }) => metadata.name }).synced),
]);
if (file !== undefined) {
  const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly BalancerRow[];
  const group: Operation = { op: 'insert', table: 'Load_Balancer_Group', row: { name: 'bench' } };
  await nb.transact([group]);
  for (const operations of insertBalancers(rows, 'bench')) await nb.transact(operations);
}
console.log(performance.now() / 1000);
process.exit();
