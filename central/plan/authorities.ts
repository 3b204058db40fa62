/**
 * Decides which of several authorities signs, which are trusted, and when another authority is due. Pure.
 *
 * A set holds the authorities of one purpose, newest first. An authority is trusted as soon as it is in the set, but signs only after all programs
 * had the time to load it: a renewal thus causes no refused connections.
 */
import {
  authorityFlaw,
  keyFingerprint,
  subjectOf,
  validityOf,
  type KeyAndCertificate,
} from '../../lib/pki/certificate.ts';

export type AuthoritySet = readonly KeyAndCertificate[];

/** Maximum time until all programs trust a new authority, ms. */
const learningMs = 60 * 60 * 1000;

/** The authority that signs. Undefined if none is valid. */
export function signerOf(set: AuthoritySet, nowMs: number): KeyAndCertificate | undefined {
  const valid = set.filter((authority) => validityOf(authority.certificate).notAfterMs > nowMs);
  // Certificates are valid from an hour before their creation.
  const known = valid.find((authority) => nowMs - validityOf(authority.certificate).notBeforeMs >= 2 * learningMs);
  return known ?? valid.at(-1);
}

/** Certificates of all trusted authorities, PEM. */
export function bundleOf(set: AuthoritySet, nowMs: number): string {
  const valid = set.filter((authority) => validityOf(authority.certificate).notAfterMs > nowMs);
  return valid.map(({ certificate }) => `${certificate.trim()}\n`).join('');
}

/** Whether another authority is due: two thirds of the newest authority's lifetime have passed, or there is none. */
export function isAuthorityDue(set: AuthoritySet, nowMs: number): boolean {
  const newest = set[0];
  return newest === undefined || isDue(newest.certificate, nowMs);
}

/**
 * The set with the administrator's authority as the newest; the same set if it is the newest already.
 * @returns a message if the authority cannot be used
 */
export function withGiven(set: AuthoritySet, given: KeyAndCertificate, nowMs: number): AuthoritySet | string {
  const flaw = authorityFlaw(given, nowMs);
  if (flaw !== undefined) return flaw;
  if (set[0]?.certificate.trim() === given.certificate.trim()) return set;
  // OpenSSL looks up an authority by its name alone, and would find the wrong one of two with the same name.
  const twin = set.find(
    ({ certificate }) =>
      validityOf(certificate).notAfterMs > nowMs &&
      subjectOf(certificate) === subjectOf(given.certificate) &&
      keyFingerprint(certificate) !== keyFingerprint(given.certificate),
  );
  return twin === undefined ? [given, ...set] : 'it has the name of the authority before it, and another key';
}

/** Whether two thirds of a certificate's lifetime have passed. */
export function isDue(certificate: string, nowMs: number): boolean {
  const { notBeforeMs, notAfterMs } = validityOf(certificate);
  return nowMs > notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3;
}

/** Concatenates the certificates or keys of a set for a Secret; `splitPem` reads them. */
export function joinPem(parts: readonly string[]): string {
  return parts.map((part) => `${part.trim()}\n`).join('');
}
