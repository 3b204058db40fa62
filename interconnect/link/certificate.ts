/** Certificates of the hub's authority: for the hub's own endpoint and for its members. */
import type { PublicKey } from '@peculiar/x509';
import { createAuthority, issue, issueWithKey, type KeyAndCertificate } from '../../lib/pki/certificate.ts';

export const memberDays = 90;
export const hubDays = 90;

/** A new authority: the root of trust of one hub. */
export async function createHubAuthority(nowMs: number): Promise<KeyAndCertificate> {
  return await createAuthority('isthmus hub', nowMs);
}

/** A certificate for a member's key, signed by the authority. */
export async function issueMember(
  authority: KeyAndCertificate,
  publicKey: PublicKey,
  cluster: string,
  nowMs: number,
): Promise<string> {
  const wanted = { publicKey, name: cluster, usages: ['client'], dnsNames: [], days: memberDays } as const;
  return await issue(authority, wanted, nowMs);
}

/**
 * The name in every hub's certificate. Members know their hub by its authority, which certifies one endpoint only; a
 * constant name lets the hub be reached by any address, also through NAT and by bare IP.
 */
export const hubName = 'hub.isthmus.network';

/** A key and certificate for the hub's own endpoint, followed by the authority's certificate, which joiners pin. */
export async function issueHub(authority: KeyAndCertificate, nowMs: number): Promise<KeyAndCertificate> {
  const wanted = { name: hubName, usages: ['server'], dnsNames: [hubName], days: hubDays } as const;
  const { key, certificate } = await issueWithKey(authority, wanted, nowMs);
  return { key, certificate: `${certificate}\n${authority.certificate}\n` };
}
