/** Waits for the certificate files of this node's servers, which apply/credentials.ts writes. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/run/logger.ts';

const files = ['ca.crt', 'tls.crt', 'tls.key'];
const pollMs = 200;

/** Resolves once all files exist. @throws the signal's reason */
export async function untilCredentials(folder: string, signal: AbortSignal, log: Logger): Promise<void> {
  for (let isLogged = false; ; isLogged = true) {
    const found = await Promise.allSettled(files.map((file) => access(join(folder, file))));
    const missing = files.filter((_, index) => found[index]?.status === 'rejected');
    if (missing.length === 0) return;
    if (!isLogged) log.info({ folder, missing }, 'waiting for the certificate of this node');
    await sleep(pollMs, undefined, { signal });
  }
}
