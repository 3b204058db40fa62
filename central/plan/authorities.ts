/**
 * Which of several authorities signs, which are trusted, and when another one is due. Pure.
 *
 * A set holds authorities of one purpose, newest first. An authority is trusted as soon as it is in the set, and signs only after
 * everybody had the time to learn of it: so that a renewal refuses nobody.
 */
import {
  authorityFlaw,
  keyFingerprint,
  subjectOf,
  validityOf,
  type KeyAndCertificate,
} from '../../lib/pki/certificate.ts';

export type AuthoritySet = readonly KeyAndCertificate[];

/** How long everybody may take to trust a new authority, ms. */
const learningMs = 60 * 60 * 1000;

/** The one that signs. Undefined where none is valid. */
export function signerOf(set: AuthoritySet, nowMs: number): KeyAndCertificate | undefined {
  const valid = set.filter((authority) => validityOf(authority.certificate).notAfterMs > nowMs);
  // Certificates are valid from an hour before they were made.
  const known = valid.find((authority) => nowMs - validityOf(authority.certificate).notBeforeMs >= 2 * learningMs);
  return known ?? valid.at(-1);
}

/** Certificates of all that are trusted, PEM. */
export function bundleOf(set: AuthoritySet, nowMs: number): string {
  const valid = set.filter((authority) => validityOf(authority.certificate).notAfterMs > nowMs);
  return valid.map(({ certificate }) => `${certificate.trim()}\n`).join('');
}

/** Whether it is time for another authority: two thirds of the newest one's life are over, or there is none. */
export function isAuthorityDue(set: AuthoritySet, nowMs: number): boolean {
  const newest = set[0];
  return newest === undefined || isDue(newest.certificate, nowMs);
}

/**
 * The set with an authority of the administrator as the newest; the same set if it is that already.
 * @returns a sentence if the authority cannot be used
 */
export function withGiven(set: AuthoritySet, given: KeyAndCertificate, nowMs: number): AuthoritySet | string {
  const flaw = authorityFlaw(given, nowMs);
  if (flaw !== undefined) return flaw;
  if (set[0]?.certificate.trim() === given.certificate.trim()) return set;
  // OpenSSL looks for an authority by its name alone, and would find the wrong one of two.
  const twin = set.find(
    ({ certificate }) =>
      validityOf(certificate).notAfterMs > nowMs &&
      subjectOf(certificate) === subjectOf(given.certificate) &&
      keyFingerprint(certificate) !== keyFingerprint(given.certificate),
  );
  return twin === undefined ? [given, ...set] : 'it has the name of the authority before it, and another key';
}

/** Two thirds of a certificate's life are over. */
export function isDue(certificate: string, nowMs: number): boolean {
  const { notBeforeMs, notAfterMs } = validityOf(certificate);
  return nowMs > notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3;
}

/** Certificates and keys of a set, one after the other, as they are kept in a Secret; `splitPem` reads them. */
export function joinPem(parts: readonly string[]): string {
  return parts.map((part) => `${part.trim()}\n`).join('');
}
