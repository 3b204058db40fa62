/** Removes several interfaces: all removals are tried, and all failures are reported. */
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { CniError, errorCode, type ErrorCode } from './error.ts';

export interface Removal {
  /** Name for messages: `interface eth0 of container …` */
  readonly what: string;
  readonly remove: () => Promise<void>;
}

interface Failure {
  readonly code: ErrorCode;
  readonly sentence: string;
}

/** @throws CniError with the code of the first failure and a line for each */
export async function removeAll(removals: readonly Removal[]): Promise<void> {
  const results = await Promise.allSettled(removals.map(({ remove }) => remove()));
  const failures = results.flatMap((result, index) =>
    result.status === 'rejected' ? [failureOf(removals[index]?.what ?? '', result.reason)] : [],
  );
  const [first] = failures;
  if (first === undefined) return;
  throw new CniError(
    first.code,
    `${failures.length} of ${removals.length} stale attachments could not be removed`,
    failures.map(({ sentence }) => sentence).join('\n'),
  );
}

/** @throws unexpected errors */
function failureOf(what: string, reason: unknown): Failure {
  if (reason instanceof CniError)
    return { code: reason.code, sentence: `${what}: ${reason.message}; ${reason.details ?? ''}` };
  if (reason instanceof NetlinkError)
    return { code: errorCode.internal, sentence: `${what}: the kernel refused ${reason.message}` };
  throw reason;
}
