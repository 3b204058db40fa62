/**
 * Keys, requests and certificates: ECDSA P-256, PEM in and out.
 *
 * In: key material from a file or Secret, the time as a parameter. Out: PEM texts. Called by programs that have an authority (the
 * hub, OVN's databases) and by programs that request a certificate. Nothing is stored here. The name in a certificate comes from the
 * records of the authority's owner, never from the signed request.
 */
import 'reflect-metadata';
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  webcrypto,
  X509Certificate as NodeCertificate,
} from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const day = 24 * 60 * 60 * 1000;
/** Certificates are valid from shortly before now, because clocks of two clusters differ. */
const backdateMs = 60 * 60 * 1000;
const usageIds = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const;

const authorityDays = 3650;

export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

/** A new private key, PKCS #8 PEM. */
export async function createKey(): Promise<string> {
  const pair = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey), 'PRIVATE KEY');
}

/** A certificate request for the key, PEM. */
export async function createRequest(key: string, name: string): Promise<string> {
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [name] }],
    keys: await keyPair(key),
    signingAlgorithm: algorithm,
  });
  return request.toString('pem');
}

/** SHA-256 of the public key (hex) of a certificate in PEM or DER. */
export function keyFingerprint(certificate: string | Buffer): string {
  return hashOf(new NodeCertificate(certificate).publicKey.export({ type: 'spki', format: 'der' }));
}

export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export function validityOf(certificate: string): Validity {
  const { validFromDate, validToDate } = new NodeCertificate(certificate);
  return { notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() };
}

/** The name a certificate was issued to. */
export function commonNameOf(certificate: string): string | undefined {
  return new x509.X509Certificate(certificate).subjectName.getField('CN')[0];
}

/** Whether this authority itself signed the certificate. @throws if one of them is not a certificate */
export function isSignedBy(certificate: string, authority: Pick<KeyAndCertificate, 'certificate'>): boolean {
  return new NodeCertificate(certificate).verify(new NodeCertificate(authority.certificate).publicKey);
}

export function isCertificate(text: string): boolean {
  return holds(() => Boolean(new NodeCertificate(text)));
}

export function isKey(text: string): boolean {
  return holds(() => Boolean(createPrivateKey(text)));
}

/** Whether both are readable and the key belongs to the certificate. Manual edits and truncated files can break either. */
export function isPair({ key, certificate }: KeyAndCertificate): boolean {
  return holds(() => new NodeCertificate(certificate).checkPrivateKey(createPrivateKey(key)));
}

/** The result of the check; false if it throws, as for a text that is not PEM. */
function holds(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

/** Why a key and its certificate cannot be an authority that signs here; undefined if they can. */
export function authorityFlaw(authority: KeyAndCertificate, nowMs: number): string | undefined {
  if (!isPair(authority)) return 'tls.key is not the key of tls.crt';
  const certificate = new NodeCertificate(authority.certificate);
  if (createPrivateKey(authority.key).asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    return 'its key is not ECDSA P-256';
  if (!certificate.ca) return 'its certificate is not one of a CA';
  // Otherwise every certificate that a common root signed would be trusted, too.
  if (!certificate.checkIssued(certificate) || !certificate.verify(certificate.publicKey))
    return 'its certificate is not self-signed';
  return validityOf(authority.certificate).notAfterMs > nowMs ? undefined : 'its certificate has expired';
}

/** The subject of a certificate, for comparison. */
export function subjectOf(certificate: string): string {
  return new NodeCertificate(certificate).subject;
}

/** The blocks of a text with several certificates or keys. */
export function splitPem(text: string): readonly string[] {
  return text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g) ?? [];
}

/** A new authority with a unique name, which distinguishes it from its predecessor. */
export async function createAuthority(name: string, nowMs: number): Promise<KeyAndCertificate> {
  const key = await createKey();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [`${name} ${randomBytes(4).toString('hex')}`] }],
    notBefore: new Date(nowMs - backdateMs),
    notAfter: new Date(nowMs + authorityDays * day),
    keys: await keyPair(key),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return { key, certificate: certificate.toString('pem') };
}

/** A request after its signature was checked. */
export interface VerifiedRequest {
  /** The requested name. */
  readonly name: string | undefined;
  readonly publicKey: x509.PublicKey;
  readonly fingerprint: string;
}

/** Undefined if the text is not a request or is not signed by the key that it contains. */
export async function verifyRequest(pem: string): Promise<VerifiedRequest | undefined> {
  try {
    const request = new x509.Pkcs10CertificateRequest(pem);
    if (!(await request.verify())) return undefined;
    return {
      name: request.subjectName.getField('CN')[0],
      publicKey: request.publicKey,
      fingerprint: hashOf(Buffer.from(request.publicKey.rawData)),
    };
  } catch {
    // The parser passes on the errors of its ASN.1 layer; each of them means that the text is not a request.
    return undefined;
  }
}

/** A new key with its certificate. */
export async function issueWithKey(
  authority: KeyAndCertificate,
  wanted: Omit<Wanted, 'publicKey'>,
  nowMs: number,
): Promise<KeyAndCertificate> {
  const key = await createKey();
  const { publicKey } = await keyPair(key);
  return { key, certificate: await issue(authority, { ...wanted, publicKey }, nowMs) };
}

export interface Wanted {
  readonly publicKey: x509.PublicKey | webcrypto.CryptoKey;
  readonly name: string;
  readonly usages: readonly (keyof typeof usageIds)[];
  readonly dnsNames: readonly string[];
  readonly days: number;
}

/** A certificate for a key, signed by the authority. */
export async function issue(authority: KeyAndCertificate, wanted: Wanted, nowMs: number): Promise<string> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: [{ CN: [wanted.name] }],
    issuer: issuer.subjectName,
    notBefore: new Date(nowMs - backdateMs),
    notAfter: new Date(nowMs + wanted.days * day),
    publicKey: wanted.publicKey,
    signingKey: (await keyPair(authority.key)).privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(wanted.usages.map((usage) => usageIds[usage])),
      ...wanted.dnsNames.map((value) => new x509.SubjectAlternativeNameExtension([{ type: 'dns', value }])),
    ],
  });
  return certificate.toString('pem');
}

async function keyPair(pem: string): Promise<webcrypto.CryptoKeyPair> {
  const key = createPrivateKey(pem);
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return {
    privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
  };
}

/** Positive and without a leading zero byte, as DER requires. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

function hashOf(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
