/**
 * The files with the instructions for the containers in the same pod, and the control sockets of their programs. Rules: a file is replaced as a
 * whole; a program is ended only through its control socket, and only after its file contains another instruction.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { callProgram } from '../../lib/ovn/unixctl.ts';
import type { Instruction } from '../plan/local.ts';
import type { DatabaseName } from '../model/databases.ts';

const answerMs = 5000;

export function renderInstruction(instruction: Instruction): string {
  const words: string[] = [instruction.verb];
  if (instruction.verb === 'create') {
    words.push(instruction.address, instruction.copy);
    if (instruction.backup !== undefined) words.push(instruction.backup);
  }
  if (instruction.verb === 'join') words.push(instruction.address, instruction.cid, ...instruction.remotes);
  return words.map((word) => `${word}\n`).join('');
}

/** Replaces a file atomically: a reader gets the former text or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

export class Instructions {
  readonly #runDir: string;

  constructor(runDir: string) {
    this.#runDir = runDir;
  }

  /** @returns whether the file contained another text before */
  async write(name: DatabaseName | 'northd', text: string): Promise<boolean> {
    const path = join(this.#runDir, `${name}.do`);
    const former = await readFile(path, 'utf8').catch(() => undefined);
    if (former === text) return false;
    await replaceFile(path, text);
    return true;
  }

  /** Ends a program, which its container may start again. Does nothing if the program is not running. */
  async end(name: DatabaseName | 'northd'): Promise<void> {
    await callProgram(join(this.#runDir, `${name}.ctl`), 'exit', [], answerMs).catch(() => undefined);
  }

  /** Sends a command to the server of a database. @throws Error with the server's message if it refuses */
  command(name: DatabaseName, method: string, parameters: readonly string[]): Promise<string> {
    return callProgram(join(this.#runDir, `${name}.ctl`), method, parameters, answerMs);
  }
}
