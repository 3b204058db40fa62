/**
 * The floor of a controller that starts on an empty database: a program that reads the same objects, writes the rows that it is given in
 * bare transactions, and prints the seconds since the process began. Arguments: kubeconfig, remote, file with the rows.
 */
import { readFileSync } from 'node:fs';
import { openOvsdb, type Operation } from 'ovsdb-client';
import { openKube } from '../../../lib/kube/client.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import { nodes, ovnDnatRules, ovnEips, ovnFips, subnets, vpcs } from '../../../lib/kube/resources.ts';
import type { BareRows } from './bare-rows.ts';

const rowsPerTransaction = 1000;
const [kubeconfig, remote = '', file = ''] = process.argv.slice(2);
const client = openKube({ kubeconfig, userAgent: 'bench' });
const resources = [ovnEips, ovnFips, ovnDnatRules, nodes, subnets, vpcs];
const [nb] = await Promise.all([
  openOvsdb({
    remotes: [remote],
    database: 'OVN_Northbound',
    monitor: {
      Logical_Router: ['name', 'nat', 'load_balancer'],
      NAT: ['type', 'external_ip', 'logical_ip', 'external_ids'],
      Load_Balancer: ['name', 'protocol', 'vips', 'external_ids'],
    },
  }),
  ...resources.map((resource) => reflect({ client, resource, parse: ({ metadata }) => metadata.name }).synced),
]);
await nb.transact([{ op: 'insert', table: 'Logical_Router', row: { name: 'bench' } }]);
const rows = JSON.parse(readFileSync(file, 'utf8')) as BareRows;
for (const [table, column] of [
  ['NAT', 'nat'],
  ['Load_Balancer', 'load_balancer'],
] as const)
  for (let from = 0; from < rows[table].length; from += rowsPerTransaction) {
    const part = rows[table].slice(from, from + rowsPerTransaction);
    const inserts = part.map((row, at): Operation => ({ op: 'insert', table, uuidName: `r${String(at)}`, row }));
    const members = part.map((_, at) => ({ named: `r${String(at)}` }));
    const where = [['name', '==', 'bench']] as const;
    await nb.transact([
      ...inserts,
      { op: 'mutate', table: 'Logical_Router', where, mutations: [[column, 'insert', members]] },
    ]);
  }
console.log(performance.now() / 1000);
process.exit();
