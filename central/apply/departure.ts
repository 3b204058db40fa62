/**
 * Removes the keys and the instructions of the servers when the release is uninstalled; the daemon of the node marks that with a file. Databases and
 * backups stay.
 */
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { leftMark } from '../../lib/api/names.ts';
import { CredentialFiles } from '../../lib/ovn/credential-files.ts';

/** Called last at shutdown. @throws system errors */
export async function leaveIfAsked(runDir: string, tlsDir: string): Promise<void> {
  if (!existsSync(join(runDir, leftMark))) return;
  await new CredentialFiles(tlsDir).remove();
  const files = (await readdir(runDir)).filter((name) => name.endsWith('.do') || name === leftMark);
  await Promise.all(files.map((name) => rm(join(runDir, name), { force: true })));
}
