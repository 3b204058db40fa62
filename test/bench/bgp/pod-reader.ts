/** The floor of a start: reads the pods as the speaker does. Argument: kubeconfig. */
import { openKube } from '../../../lib/kube/client.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import { pods } from '../../../lib/kube/resources.ts';

const client = openKube({ kubeconfig: process.argv[2], userAgent: 'bench' });
await reflect({ client, resource: pods, parse: ({ metadata }) => metadata.name }).synced;
process.exit();
