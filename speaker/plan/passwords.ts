import type { BgpPeerSpec } from '../../lib/api/kinds/bgp-peer.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { SpeakerState } from '../model/objects.ts';

/** The password of a session, or the problem because of which it is not known. */
export type Password = { readonly text: string } | { readonly problem: Problem };

const codes = ['SecretNotReadable', 'SecretNotFound', 'SecretKeyNotFound', 'PasswordInvalid'] as const;

/** Whether the code means that a password is not known. */
export function isPasswordProblem(code: string | undefined): boolean {
  return codes.some((each) => each === code);
}

/** The longest TCP MD5 signature key that Linux accepts. */
const longestBytes = 80;

/** Undefined for a peer without a password. */
export function passwordOf(
  { secrets }: SpeakerState,
  { passwordSecretRef }: Pick<BgpPeerSpec, 'passwordSecretRef'>,
): Password | undefined {
  if (passwordSecretRef === undefined) return undefined;
  const { name, key } = passwordSecretRef;
  const fail = (code: (typeof codes)[number], message: string): Password => ({ problem: { code, message } });
  const secret = secrets.get(name);
  if (secret === undefined)
    return fail(
      'SecretNotReadable',
      `speakers read the Secrets ${[...secrets.keys()].join(', ') || 'none'} only: add ${name} to the chart value speaker.passwordSecrets, or put the password into one of those`,
    );
  if (secret === 'unread')
    return fail('SecretNotReadable', `Secret ${name} could not be read yet: see the log of the speaker`);
  if (secret === 'missing')
    return fail('SecretNotFound', `Secret ${name} does not exist; create it with the key ${key}`);
  const text = secret.get(key);
  if (text === undefined) return fail('SecretKeyNotFound', `Secret ${name} has no key ${key}`);
  if (text === '') return fail('PasswordInvalid', `key ${key} of Secret ${name} is empty`);
  if (/[\0\r\n]/.test(text))
    return fail('PasswordInvalid', `key ${key} of Secret ${name} has a line break or a NUL, which no router accepts`);
  if (Buffer.byteLength(text) > longestBytes)
    return fail('PasswordInvalid', `key ${key} of Secret ${name} has more than ${longestBytes} bytes`);
  return { text };
}
