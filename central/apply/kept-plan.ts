/**
 * Keeps the plan that this node followed last in a file beside its databases, so that a restart needs neither the API server nor the holder of the
 * Lease.
 */
import { readFile } from 'node:fs/promises';
import { parsePlan } from '../watch/parse.ts';
import type { Plan } from '../model/plan.ts';
import { replaceFile } from './instructions.ts';

export class KeptPlan {
  readonly #path: string;
  #text: string;

  private constructor(path: string, text: string) {
    this.#path = path;
    this.#text = text;
  }

  static async open(path: string): Promise<KeptPlan> {
    return new KeptPlan(path, await readFile(path, 'utf8').catch(() => ''));
  }

  get plan(): Plan | undefined {
    return parsePlan(this.#text);
  }

  async keep(plan: Plan): Promise<void> {
    const text = `${JSON.stringify(plan)}\n`;
    if (text === this.#text) return;
    await replaceFile(this.#path, text);
    this.#text = text;
  }
}
