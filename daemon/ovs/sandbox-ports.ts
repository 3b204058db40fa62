/**
 * The ports of sandboxes in the local OVS database: asks the reconciler for them and tells when they work. In: a
 * sandbox. Out: promises that follow the database's own changes. Who calls: cni/ and the start of main.ts.
 */
import type { OvsdbClient, Row } from 'ovsdb-client';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { externalIdOf } from '../../lib/ovn/owner.ts';
import { parseSandbox, planSandbox, sandboxOwner } from '../plan/sandbox.ts';
import type { Sandbox } from '../state/facts.ts';

/** Open vSwitch or its database refused the port; the message says why. */
export class PortRefused extends Error {
  readonly code = 'PortRefused';
}

export class SandboxPorts {
  readonly #client: OvsdbClient;
  readonly #target: OvsdbTarget;

  constructor(client: OvsdbClient, target: OvsdbTarget) {
    this.#client = client;
    this.#target = target;
  }

  /** Of an earlier run of the daemon. */
  recorded(): readonly Sandbox[] {
    return [...this.#client.cache.table('Interface').rows.values()].flatMap((row) => {
      const sandbox = parseSandbox(row['name'] as string, row['external_ids'] as Readonly<Record<string, unknown>>);
      return sandbox === undefined ? [] : [sandbox];
    });
  }

  add(sandbox: Sandbox): void {
    this.#target.set(sandboxOwner(sandbox), planSandbox(sandbox));
  }

  remove(sandbox: Sandbox): void {
    this.#target.drop(sandboxOwner(sandbox));
  }

  /**
   * Resolves when ovn-controller has the flows of this very port in place: the row is new with each sandbox, so
   * `ovn-installed` in it cannot be an earlier port's. @throws PortRefused, the signal's reason
   */
  async untilInstalled(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
    const owner = sandboxOwner(sandbox);
    let refusal: string | undefined;
    const unsubscribe = this.#target.onResult((who, problem) => {
      if (who === owner && problem?.code === 'DatabaseRefused') refusal = problem.message;
    });
    try {
      await this.#until(sandbox, signal, (row) => {
        if (refusal !== undefined) throw new PortRefused(refusal);
        const error = row?.['error'];
        if (typeof error === 'string' && error !== '')
          throw new PortRefused(`Open vSwitch cannot use interface ${sandbox.hostInterface}: ${error}`);
        return row !== undefined && externalIdOf(row, 'ovn-installed') === 'true';
      });
    } finally {
      unsubscribe();
    }
  }

  /** Resolves when the database holds no row of this sandbox any more. @throws the signal's reason */
  async untilGone(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
    await this.#until(sandbox, signal, (row) => row === undefined);
  }

  #row(sandbox: Sandbox): Row | undefined {
    const rows = this.#client.cache.table('Interface').byIndex(['name'], [sandbox.hostInterface]);
    return rows.find((row) => externalIdOf(row, 'sandbox') === sandbox.containerId);
  }

  #until(sandbox: Sandbox, signal: AbortSignal, holds: (row: Row | undefined) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const stops: (() => void)[] = [];
      const finish = (settle: () => void): void => {
        for (const stop of stops) stop();
        settle();
      };
      const check = (): void => {
        try {
          if (signal.aborted) finish(() => reject(signal.reason as Error));
          else if (holds(this.#row(sandbox))) finish(resolve);
        } catch (error) {
          if (!(error instanceof PortRefused)) throw error;
          finish(() => reject(error));
        }
      };
      signal.addEventListener('abort', check, { once: true });
      stops.push(
        () => signal.removeEventListener('abort', check),
        this.#client.subscribe(check),
        this.#target.onResult(check),
      );
      check();
    });
  }
}
