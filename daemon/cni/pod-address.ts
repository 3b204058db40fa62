/** Waits until the controller has allocated the addresses of a pod's interface; the error says why there are none. */
import { annotation, defaultProvider, interfaceAnnotation } from '../../lib/api/names.ts';
import { addressCondition, permanentRefusals, type PodCondition } from '../../lib/api/pod-addresses.ts';
import type { Reflector } from '../../lib/kube/types.ts';
import type { InterfaceNetwork, Route } from '../model/address.ts';
import type { InterfaceAnnotations, Pod } from '../model/pod.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';
import { CniError, errorCode } from './error.ts';
import type { AddRequest } from './request.ts';

export interface AddressedPod {
  readonly pod: Pod;
  readonly facts: InterfaceAnnotations;
  readonly network: InterfaceNetwork;
  readonly routes: readonly Route[];
}

type Asked = Pick<AddRequest, 'podNamespace' | 'podName' | 'podUid' | 'provider' | 'ifname'>;

/**
 * @throws CniError 103 as soon as the annotations of the pod are known to be wrong; CniError 11 with the known cause if `signal` aborts before
 * there is an address
 */
export async function untilAddressed(
  pods: Pick<Reflector<Pod>, 'get' | 'subscribe'>,
  request: Asked,
  signal: AbortSignal,
): Promise<AddressedPod> {
  const key = `${request.podNamespace}/${request.podName}`;
  const onChange = (check: () => void): (() => void) => pods.subscribe((change) => change.key === key && check());
  try {
    return await waitUntil([onChange], () => addressed(pods.get(key), request), signal);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    throw new CniError(
      errorCode.tryAgainLater,
      `${describe(request)} has no address yet`,
      explain(pods.get(key), request),
    );
  }
}

/** For an interface that is attached already. @throws CniError 11 or 103 if the pod or its address is gone */
export function addressedNow(pods: Pick<Reflector<Pod>, 'get'>, request: Asked): AddressedPod {
  const pod = pods.get(`${request.podNamespace}/${request.podName}`);
  const found = addressed(pod, request);
  if (found !== undefined) return found;
  throw new CniError(errorCode.tryAgainLater, `${describe(request)} has no address any more`, explain(pod, request));
}

function addressed(pod: Pod | undefined, request: Asked): AddressedPod | undefined {
  if (pod === undefined || !isAsked(pod, request)) return undefined;
  const facts = factsOf(pod, request);
  const network = facts?.network;
  if (facts === undefined || network === undefined || typeof network === 'string') {
    const refusal = refusalOf(pod);
    if (refusal === undefined || !permanentRefusals.has(refusal.reason)) return undefined;
    throw new CniError(errorCode.podRefused, `${describe(request)} gets no address: ${textOf(refusal)}`);
  }
  if ('code' in facts.routes) throw new CniError(errorCode.podRefused, `${describe(request)}: ${facts.routes.message}`);
  return { pod, facts, network, routes: facts.routes };
}

/** If a network is attached more than once, each interface has annotations of its own. */
function factsOf({ interfaces }: Pod, { provider, ifname }: Asked): InterfaceAnnotations | undefined {
  const own = interfaces.get(`${provider}.${ifname}`);
  return own?.network === undefined ? interfaces.get(provider) : own;
}

function describe({ podNamespace, podName, provider, ifname }: Asked): string {
  const pod = `pod ${podNamespace}/${podName}`;
  return provider === defaultProvider ? pod : `${pod}: interface ${ifname} of network ${provider}`;
}

function isAsked({ uid, staticUid }: Pod, { podUid }: Asked): boolean {
  return podUid === undefined || podUid === uid || podUid === staticUid;
}

function refusalOf({ addressCondition: condition }: Pod): PodCondition | undefined {
  return condition?.status === 'False' ? condition : undefined;
}

function textOf({ reason, message }: PodCondition): string {
  return `${reason}: ${message}`;
}

function explain(pod: Pod | undefined, request: Asked): string {
  if (pod === undefined) return 'the API server has no pod of that name on this node';
  if (!isAsked(pod, request))
    return `the pod of that name has uid ${pod.staticUid ?? pod.uid} now, the request is for ${request.podUid}: its pod was deleted`;
  const refusal = refusalOf(pod);
  if (refusal !== undefined) return `isthmus-controller refused the address: ${textOf(refusal)}`;
  const network = factsOf(pod, request)?.network;
  if (typeof network === 'string') return network;
  const look = `see "kubectl describe pod -n ${pod.namespace} ${pod.name}" and the log of isthmus-controller`;
  if (pod.addressCondition === undefined)
    return `isthmus-controller has not reported on the pod yet: no condition ${addressCondition} is in its status; ${look}`;
  const name = interfaceAnnotation(request.provider, annotation.ipAddress);
  return `annotations such as ${name} differ from those that isthmus-controller wrote, or it assigned no such interface to the pod; ${look}`;
}
