/** Requests of nodes to the databases' authority, and their answers: CertificateSigningRequests of one signer. */

/** `spec.signerName` of requests by chassis. */
export const chassisSigner = 'isthmus.network/chassis';
/** `spec.usages`; the signer refuses others. */
export const chassisUsages = ['digital signature', 'client auth'] as const;

/** The result of a request. */
export type RequestOutcome =
  | { readonly state: 'pending' }
  | { readonly state: 'issued'; readonly certificate: string }
  | { readonly state: 'refused'; readonly message: string };

interface RequestStatus {
  readonly certificate?: string;
  readonly conditions?: readonly { readonly type?: string; readonly message?: string }[];
}

/** Reads `status` of a CertificateSigningRequest. */
export function outcomeOf(status: unknown): RequestOutcome {
  const { certificate, conditions = [] } = (status ?? {}) as RequestStatus;
  const refusal = conditions.find(({ type }) => type === 'Denied' || type === 'Failed');
  if (refusal !== undefined) return { state: 'refused', message: refusal.message ?? `the request is ${refusal.type}` };
  if (certificate === undefined) return { state: 'pending' };
  return { state: 'issued', certificate: Buffer.from(certificate, 'base64').toString('utf8') };
}

/** Whether the request is approved. */
export function isApproved(status: unknown): boolean {
  const { conditions = [] } = (status ?? {}) as RequestStatus;
  return conditions.some(({ type }) => type === 'Approved');
}
