/** Why a pod has no address: the newest event in which the controller said so. Asked only after an ADD has failed. */
import { z } from 'zod';
import { isKubeError } from '../../lib/kube/errors.ts';
import { events } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';

const reason = 'AcquireAddressFailed';
const shape = z.looseObject({
  message: z.string(),
  lastTimestamp: z.string().nullish(),
  eventTime: z.string().nullish(),
});
const timeoutMs = 3000;

/** Falls back to where the user can look. */
export async function findAddressCause(
  client: KubeClient,
  pod: { readonly podNamespace: string; readonly podName: string },
): Promise<string> {
  const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${pod.podName},reason=${reason}`;
  const hint = `isthmus-controller has not given it one; see "kubectl describe pod -n ${pod.podNamespace} ${pod.podName}" and the controller's log`;
  try {
    const found = await client.list(events, {
      namespace: pod.podNamespace,
      fieldSelector,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const parsed = found.flatMap((raw) => shape.safeParse(raw).data ?? []);
    const newest = parsed.toSorted((a, b) => timeOf(b).localeCompare(timeOf(a)))[0];
    return newest === undefined ? hint : `${reason}: ${newest.message}`;
  } catch (error) {
    if (isKubeError(error) || (error instanceof DOMException && error.name === 'TimeoutError')) return hint;
    throw error;
  }
}

function timeOf(event: z.infer<typeof shape>): string {
  return event.lastTimestamp ?? event.eventTime ?? '';
}
