/** The floor of an idle daemon: the same connections, kept and listened to, and nothing else. Arguments: kubeconfig, node, Open_vSwitch remote. */
import { openOvsdb } from 'ovsdb-client';
import { openKube } from '../../../lib/kube/client.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import { nodes, pods, subnets } from '../../../lib/kube/resources.ts';

const [kubeconfig, node = '', remote = ''] = process.argv.slice(2);
const client = openKube({ kubeconfig, userAgent: 'bench' });
const parse = ({ metadata }: { readonly metadata: { readonly name: string } }): string => metadata.name;
await Promise.all([
  openOvsdb({
    remotes: [remote],
    database: 'Open_vSwitch',
    monitor: { Port: ['name', 'interfaces', 'external_ids'], Interface: ['name', 'error', 'external_ids'] },
  }),
  reflect({ client, resource: pods, fieldSelector: `spec.nodeName=${node}`, parse }).synced,
  reflect({ client, resource: nodes, fieldSelector: `metadata.name=${node}`, parse }).synced,
  reflect({ client, resource: subnets, parse }).synced,
]);
// As the daemon does when it has nothing more to do.
globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
console.log('ready');
