import { createHash } from 'node:crypto';

/** Digest of a SecurityGroup's rules in its status, by which tools see whether the rules are those in force. */
export function rulesDigest(rules: unknown): string {
  return createHash('md5').update(JSON.stringify(rules)).digest('hex');
}
