/** Watches pending CertificateSigningRequests of chassis. In: the API. Out: values for plan/certificate-requests.ts. */
import { certificateSigningRequests } from '../../lib/kube/resources.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import type { KubeClient, RawObject, Reflector } from '../../lib/kube/types.ts';
import { chassisSigner, isApproved, outcomeOf } from '../../lib/ovn/chassis-request.ts';
import type { Logger } from '../../lib/run/logger.ts';

export interface RequestFacts {
  readonly name: string;
  readonly username: string;
  /** Node of the pod that the requester's token is bound to. */
  readonly node: string | undefined;
  readonly usages: readonly string[];
  /** PEM. */
  readonly request: string;
  readonly isApproved: boolean;
  readonly isAnswered: boolean;
}

interface Spec {
  readonly username?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly usages?: readonly string[];
  readonly request?: string;
}

/** Set by the API server from a token that is bound to a pod. */
const nodeKey = 'authentication.kubernetes.io/node-name';

export function watchCertificateRequests(options: {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
}): Reflector<RequestFacts> {
  const fieldSelector = `spec.signerName=${chassisSigner}`;
  return reflect({ ...options, resource: certificateSigningRequests, fieldSelector, parse });
}

function parse({ metadata, spec, status }: RawObject): RequestFacts {
  const { username = '', extra, usages = [], request = '' } = (spec ?? {}) as Spec;
  return {
    name: metadata.name,
    username,
    node: extra?.[nodeKey]?.[0],
    usages,
    request: Buffer.from(request, 'base64').toString('utf8'),
    isApproved: isApproved(status),
    isAnswered: outcomeOf(status).state !== 'pending',
  };
}
