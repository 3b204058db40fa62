/** Waits, without polling, until the controller has given a pod its address; says why when it does not come. */
import type { Reflector } from '../../lib/kube/types.ts';
import type { Attachable, PodFacts } from '../state/facts.ts';
import { CniError, errorCode } from './error.ts';
import type { AddRequest } from './request.ts';

export interface AddressedPod {
  readonly pod: PodFacts;
  readonly network: Attachable;
}

type PodName = Pick<AddRequest, 'podNamespace' | 'podName' | 'podUid'>;

/** @throws CniError 11 when `signal` aborts before, with the cause that is known */
export async function untilAddressed(
  pods: Pick<Reflector<PodFacts>, 'get' | 'subscribe'>,
  request: PodName,
  signal: AbortSignal,
): Promise<AddressedPod> {
  const key = `${request.podNamespace}/${request.podName}`;
  return new Promise((resolve, reject) => {
    const stops: (() => void)[] = [];
    const finish = (settle: () => void): void => {
      for (const stop of stops) stop();
      settle();
    };
    const check = (): void => {
      const pod = pods.get(key);
      const network = pod !== undefined && isAsked(pod, request) ? pod.network : undefined;
      if (pod !== undefined && network !== undefined && typeof network !== 'string')
        finish(() => resolve({ pod, network }));
      else if (signal.aborted)
        finish(() =>
          reject(new CniError(errorCode.tryAgainLater, `pod ${key} has no address yet`, explain(pod, request))),
        );
    };
    signal.addEventListener('abort', check, { once: true });
    stops.push(
      () => signal.removeEventListener('abort', check),
      pods.subscribe((change) => change.key === key && check()),
    );
    check();
  });
}

function isAsked(pod: PodFacts, { podUid }: PodName): boolean {
  return podUid === undefined || podUid === pod.uid;
}

/** undefined where only the controller knows. */
function explain(pod: PodFacts | undefined, request: PodName): string | undefined {
  if (pod === undefined) return 'the API server knows no pod of that name on this node';
  if (!isAsked(pod, request))
    return `the pod of that name has uid ${pod.uid} now, the request is for ${request.podUid}: its pod was deleted`;
  return typeof pod.network === 'string' ? pod.network : undefined;
}
