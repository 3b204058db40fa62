/** Finds the image of test pods. In: a cluster, the user's choice. Out: that, or the image of the daemons, which every node of the cluster has. */
import { fieldsOf, recordsOf, textOf } from '../../lib/kube/fields.ts';
import { daemonSets } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { CommandFailed } from '../command/failure.ts';
import { findObject } from './workload.ts';

interface Place {
  readonly client: Pick<KubeClient, 'get'>;
  readonly namespace: string;
  readonly label: string;
}

/** @throws CommandFailed if there is none, KubeApiError, KubeUnreachable */
export async function testImage(
  { client, namespace, label }: Place,
  chosen: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly image: string; readonly pullPolicy: string }> {
  if (chosen !== undefined) return { image: chosen, pullPolicy: 'IfNotPresent' };
  const found = await findObject(client, daemonSets, { namespace, name: 'isthmus-daemon' }, signal);
  const { spec } = fieldsOf(fieldsOf(found?.['spec'])['template']);
  const container = recordsOf(fieldsOf(spec)['containers']).find(({ name }) => name === 'daemon');
  const image = textOf(container?.['image']);
  // Every node has it. The Namespace of the pods has no Secret to pull it with.
  if (image !== '') return { image, pullPolicy: 'IfNotPresent' };
  const message = `${label} has no DaemonSet ${namespace}/isthmus-daemon whose image the test pods could run: give --image, with busybox and ping in it`;
  throw new CommandFailed({ code: 'NoImage', message });
}
