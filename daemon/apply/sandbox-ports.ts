/**
 * Creates and removes the ports of sandboxes in the local OVS database: passes their rows to the reconciler, and waits until they work.
 * cni/ calls it for each request; at the start, the records of an earlier run are resumed.
 */
import type { OvsdbClient, Row } from 'ovsdb-client';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { externalIdOf } from '../../lib/ovn/owner.ts';
import { asideTable } from '../model/ovs-keys.ts';
import { parseAside, parseSandbox, planAside, planSandbox, sandboxOwner, type PortOptions } from '../plan/sandbox.ts';
import type { Sandbox } from '../model/sandbox.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';
import { interfaceError, untilTakenUp } from '../ovs/local.ts';

/** Open vSwitch or its database refused the port; the message says why. */
export class PortRefused extends Error {
  readonly code = 'PortRefused';
}

/** The part that a port still waits for: the database, ovs-vswitchd, ovn-controller, or the flows that guard it. */
export type PortStage = 'database' | 'switch' | 'controller' | 'guard';

export class SandboxPorts {
  readonly #client: OvsdbClient;
  readonly #target: OvsdbTarget;
  /** Owners whose ports are out of the bridge while their interfaces are restored. */
  readonly #aside = new Set<string>();

  constructor(client: OvsdbClient, target: OvsdbTarget) {
    this.#client = client;
    this.#target = target;
  }

  /** The sandboxes of an earlier run; `isAside` if that daemon died while it restored the interface. */
  recorded(): readonly { readonly sandbox: Sandbox; readonly isAside: boolean }[] {
    const rowsOf = (table: string): readonly Row[] => [...this.#client.cache.table(table).rows.values()];
    const idsOf = (row: Row): Readonly<Record<string, unknown>> =>
      row['external_ids'] as Readonly<Record<string, unknown>>;
    const found = new Map<string, { readonly sandbox: Sandbox; readonly isAside: boolean }>();
    const note = (sandbox: Sandbox | undefined, isAside: boolean): void => {
      if (sandbox !== undefined) found.set(sandboxOwner(sandbox), { sandbox, isAside });
    };
    for (const row of rowsOf('Interface')) note(parseSandbox(row['name'] as string, idsOf(row)), false);
    // The interface may be incomplete, even if the port is back in the bridge.
    for (const row of rowsOf(asideTable)) note(parseAside(idsOf(row)), true);
    return [...found.values()];
  }

  /** Resumes a sandbox of an earlier run as that run left it. */
  resume(sandbox: Sandbox, isAside: boolean, options: PortOptions): void {
    if (isAside) this.setAside(sandbox);
    else this.add(sandbox, options);
  }

  /** If the port was set aside, its record stays beside the port until `confirm`. */
  add(sandbox: Sandbox, options: PortOptions): void {
    const planned = planSandbox(sandbox, options);
    const record = this.isAside(sandbox) ? planAside(sandbox).rows : [];
    this.#target.set(sandboxOwner(sandbox), { ...planned, rows: [...planned.rows, ...record] });
  }

  /** The interface of a port that was set aside is complete again. */
  confirm(sandbox: Sandbox, options: PortOptions): void {
    this.#aside.delete(sandboxOwner(sandbox));
    this.add(sandbox, options);
  }

  /** Applies changed options; a port that is set aside gets them when it is added and confirmed. */
  change(sandbox: Sandbox, options: PortOptions): void {
    if (!this.isAside(sandbox)) this.add(sandbox, options);
  }

  /** Takes the port out of the bridge and keeps the record of the sandbox, in one transaction. */
  setAside(sandbox: Sandbox): void {
    const owner = sandboxOwner(sandbox);
    this.#aside.add(owner);
    this.#target.set(owner, planAside(sandbox));
  }

  isAside(sandbox: Sandbox): boolean {
    return this.#aside.has(sandboxOwner(sandbox));
  }

  remove(sandbox: Sandbox): void {
    const owner = sandboxOwner(sandbox);
    this.#aside.delete(owner);
    this.#target.drop(owner);
  }

  /**
   * Resolves when ovn-controller has installed the flows of this port. The row is new for each sandbox, so its `ovn-installed` cannot
   * belong to an earlier port. @throws PortRefused, the signal's reason
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
        const error = row === undefined ? undefined : interfaceError(row);
        if (error !== undefined)
          throw new PortRefused(`Open vSwitch cannot use interface ${sandbox.hostInterface}: ${error}`);
        return row !== undefined && isInstalledIn(row) ? row : undefined;
      });
    } finally {
      unsubscribe();
    }
  }

  /** Resolves when the database has no row of this sandbox any more. @throws the signal's reason */
  async untilGone(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
    await this.#until(sandbox, signal, (row) =>
      row === undefined && !this.#isRecordedAside(sandbox) ? true : undefined,
    );
  }

  /** Resolves when the record has replaced the port. @throws the signal's reason */
  async untilAside(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
    await this.#until(sandbox, signal, (row) =>
      row === undefined && this.#isRecordedAside(sandbox) ? true : undefined,
    );
  }

  /** Resolves when ovs-vswitchd has applied everything that is in the database now. @throws the signal's reason */
  async untilTakenUp(signal: AbortSignal): Promise<void> {
    await untilTakenUp(this.#client, signal);
  }

  /** Why the port carries no packets, as far as the database shows it; undefined if it does. */
  findFault(sandbox: Sandbox): string | undefined {
    const row = this.#row(sandbox);
    if (row === undefined) return `port ${sandbox.hostInterface} is not in the local Open vSwitch database`;
    const error = interfaceError(row);
    if (error !== undefined) return `Open vSwitch cannot use interface ${sandbox.hostInterface}: ${error}`;
    if (!isInstalledIn(row)) return `ovn-controller has not installed port ${sandbox.hostInterface}`;
    return undefined;
  }

  /** The stage of a port that is not ready yet. */
  stageOf(sandbox: Sandbox): PortStage {
    const row = this.#row(sandbox);
    if (row === undefined) return 'database';
    if (typeof row['ofport'] !== 'number') return 'switch';
    return isInstalledIn(row) ? 'guard' : 'controller';
  }

  /** Whether the database has an interface of that name, of any owner. */
  hasInterface(name: string): boolean {
    return this.#client.cache.table('Interface').byIndex(['name'], [name]).length > 0;
  }

  #isRecordedAside({ containerId, ifname }: Sandbox): boolean {
    return this.#client.cache
      .table(asideTable)
      .rows.values()
      .some((row) => externalIdOf(row, 'sandbox') === containerId && externalIdOf(row, 'ifname') === ifname);
  }

  #row(sandbox: Sandbox): Row | undefined {
    const rows = this.#client.cache.table('Interface').byIndex(['name'], [sandbox.hostInterface]);
    return rows.find((row) => externalIdOf(row, 'sandbox') === sandbox.containerId);
  }

  async #until(
    sandbox: Sandbox,
    signal: AbortSignal,
    probe: (row: Row | undefined) => Row | true | undefined,
  ): Promise<void> {
    const sources = [this.#client, { subscribe: (check: () => void) => this.#target.onResult(check) }];
    await waitUntil(
      sources.map((source) => (check) => source.subscribe(check)),
      () => probe(this.#row(sandbox)),
      signal,
    );
  }
}

function isInstalledIn(row: Row): boolean {
  return externalIdOf(row, 'ovn-installed') === 'true';
}
