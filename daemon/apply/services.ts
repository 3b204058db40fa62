/**
 * Keeps the nftables table of Services: each round plans the Services that changed and writes the differing elements in one transaction.
 * The table (`host/service-table.ts`) is read from the kernel at the start, and again after another program changed it or a transaction was refused.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../../lib/desired/problem.ts';
import { RoundEngine, type Round } from '../../lib/rounds/engine.ts';
import { isRefusal, refusalProblem } from '../host/refusal.ts';
import type { PresentTable, TableChanges, TableElement } from '../model/service-table.ts';
import { slotMap } from '../model/service-table.ts';
import type { Frontend, HealthCheck, ServedService, ServiceNode, Slots } from '../model/service.ts';
import { arrangeService, ChangeCollector, chainsOf, elementsOf, slotsOfPlan } from '../plan/services/elements.ts';
import { planService, rightsOf } from '../plan/services/frontends.ts';
import { FrontendRights } from '../settle/frontend-rights.ts';
import type { Services } from '../state/services.ts';

export interface ServiceTarget {
  read(): Promise<PresentTable>;
  create(elements: readonly TableElement[], chains: ReadonlySet<string>): Promise<void>;
  apply(changes: TableChanges, chains: ReadonlySet<string>): Promise<void>;
}

export interface NodeServicesOptions {
  readonly services: Pick<Services, 'keys' | 'get' | 'slicesOf'>;
  readonly table: ServiceTarget;
  readonly node: () => ServiceNode;
  readonly nodeElements: () => readonly TableElement[];
  readonly hasExternalIps: boolean;
  /** Called after each transaction with the frontends whose endpoints changed, and their former plans, undefined if not known. */
  readonly onWritten: (changed: readonly FrontendChange[]) => void;
  /** Called after each round. */
  readonly onResult: () => void;
}

export interface FrontendChange {
  readonly before: Frontend | undefined;
  readonly after: Frontend | undefined;
}

/** A problem of one Service. */
export interface ServiceProblem extends Problem {
  readonly service: string;
}

/** A burst of slices, as of a rolling update, is one transaction. */
const gatherMs = 10;
/** The spacing of rounds is twice the time of the former round, but a round that writes the whole table must not delay the next change for longer. */
const longestSpacingMs = 500;
const retryMs = 2000;
/** A message names at most this many addresses: a Service may have thousands of ports. */
const namedKeys = 8;
const nothing: ServedService = { frontends: [], clusterIps: [], healthCheck: undefined };

export class NodeServices {
  readonly #options: NodeServicesOptions;
  readonly #engine: RoundEngine<string>;
  readonly #rights = new FrontendRights();
  /** Services whose rights were settled since they were last taken. */
  #settled = new Set<string>();
  /** What the kernel has, as far as this process wrote it. */
  readonly #planned = new Map<string, ServedService>();
  readonly #healthChecks = new Map<string, HealthCheck>();
  #isHealthChanged = false;
  #nodeElements: readonly TableElement[] = [];
  #isNodeChanged = false;
  #node: ServiceNode | undefined;
  #isInDoubt = true;
  #problem: Problem | undefined;

  constructor(options: NodeServicesOptions) {
    this.#options = options;
    const spacingMs = (tookMs: number): number => Math.min(2 * tookMs, longestSpacingMs);
    this.#engine = new RoundEngine({ gatherMs, spacingMs, run: (round) => this.#run(round) });
  }

  /** Why the kernel does not have the wanted table; undefined while it has. */
  get problem(): Problem | undefined {
    return this.#problem;
  }

  /** The plan of each Service that is served, as the kernel has it. */
  get plans(): ReadonlyMap<string, ServedService> {
    return this.#planned;
  }

  /** All health checks, if one has changed since the last call. */
  takeHealthChecks(): Iterable<HealthCheck> | undefined {
    if (!this.#isHealthChanged) return undefined;
    this.#isHealthChanged = false;
    return this.#healthChecks.values();
  }

  /** Services that may have other problems than at the last call. A Service that changes later is among those of a later call. */
  takeSettled(): ReadonlySet<string> {
    const settled = this.#settled;
    this.#settled = new Set();
    return settled;
  }

  /** Addresses and ports that a Service does not get, because another one has the right to them: a problem for each of these Services. */
  problemsOf(service: string): readonly ServiceProblem[] {
    const denied = Map.groupBy(this.#rights.deniedTo(service), ({ holder }) => holder);
    return [...denied].map(([holder, keys]) => {
      const named = keys.slice(0, namedKeys).map(({ key }) => key.replaceAll(' . ', ' '));
      const rest = keys.length > namedKeys ? ` and ${keys.length - namedKeys} more` : '';
      return {
        service,
        code: 'ServiceAddressTaken',
        message: `nodes serve ${named.join(', ')}${rest} (address, protocol, port) for Service ${holder}, which is older or has it as its ClusterIP; give one of the two another address or port`,
      };
    });
  }

  /** Runs the first round, which reads the kernel and plans everything. */
  start(): void {
    this.#engine.start();
  }

  changed(service: string): void {
    this.#engine.request(service);
  }

  /** To be called after a change of the node's addresses, zone or networks. */
  nodeChanged(): void {
    this.#isNodeChanged = true;
    this.#engine.request();
  }

  /** To be called after another program changed the table. */
  doubt(): void {
    this.#isInDoubt = true;
    this.#engine.request();
  }

  untilApplied(): Promise<void> {
    return this.#engine.untilApplied();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  async #run({ keys }: Round<string>): Promise<boolean> {
    const node = this.#options.node();
    const isSamePlace = this.#node !== undefined && isSameNode(this.#node, node);
    const dirty = isSamePlace ? keys : this.#allKeys();
    this.#node = node;
    try {
      if (this.#isInDoubt) await this.#reconcile(dirty, node);
      else await this.#write(dirty, node);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#isInDoubt = true;
      // Plans of this round are lost, so the next one plans everything.
      this.#node = undefined;
      this.#problem = { ...refusalProblem(error), code: 'ServiceRulesRefused' };
      this.#engine.wakeAfter(retryMs);
      this.#options.onResult();
      return false;
    }
    this.#problem = undefined;
    this.#options.onResult();
    return true;
  }

  #allKeys(): ReadonlySet<string> {
    return new Set([...this.#options.services.keys, ...this.#planned.keys()]);
  }

  /** Reads the table from the kernel, and writes its differences from the plans, of which those of `dirty` are made anew. */
  async #reconcile(dirty: ReadonlySet<string>, node: ServiceNode): Promise<void> {
    const { table, nodeElements } = this.#options;
    // A change by another program from now on calls `doubt` again.
    this.#isInDoubt = false;
    this.#isNodeChanged = false;
    const present = await table.read();
    const slots = slotsIn(present);
    const plans = new Map(this.#planned);
    for (const key of this.#settle(dirty)) plans.set(key, arrangeService(this.#plan(key, node), slots));
    const elements = nodeElements();
    const wanted = [...elements, ...[...plans.values()].flatMap((plan) => [...elementsOf(plan)])];
    if (present.isIntact) {
      const collector = new ChangeCollector();
      collector.add(elementsIn(present), wanted);
      await this.#apply(collector.changes);
    } else await table.create(wanted, chainsOf(wanted));
    this.#nodeElements = elements;
    // Connections that began without the table were not translated.
    this.#keep(plans, present.isIntact);
  }

  /** Writes the differences of these Services and of the node. */
  async #write(dirty: ReadonlySet<string>, node: ServiceNode): Promise<void> {
    const collector = new ChangeCollector();
    const nodeElements = this.#isNodeChanged ? this.#options.nodeElements() : this.#nodeElements;
    this.#isNodeChanged = false;
    if (nodeElements !== this.#nodeElements) collector.add(this.#nodeElements, nodeElements);
    const keys = this.#settle(dirty);
    const plans = new Map<string, ServedService>();
    for (const key of keys) {
      const before = this.#planned.get(key);
      const after = arrangeService(this.#plan(key, node), slotsOfPlan(before));
      collector.add(elementsOf(before ?? nothing), elementsOf(after));
      plans.set(key, after);
    }
    await this.#apply(collector.changes);
    this.#nodeElements = nodeElements;
    this.#keep(plans, true);
  }

  async #apply(changes: TableChanges): Promise<void> {
    if (changes.added.length + changes.removed.length === 0) return;
    await this.#options.table.apply(changes, chainsOf(changes.added));
  }

  /** Settles the rights of these Services. Returns these, and other Services that gained or lost a right. */
  #settle(dirty: ReadonlySet<string>): ReadonlySet<string> {
    const { services, hasExternalIps } = this.#options;
    const keys = new Set(dirty);
    for (const key of dirty) {
      const service = services.get(key);
      const wanted = service === undefined ? [] : rightsOf(service, hasExternalIps);
      for (const other of this.#rights.set(key, service?.createdMs ?? 0, wanted)) keys.add(other);
    }
    for (const key of keys) this.#settled.add(key);
    return keys;
  }

  #plan(key: string, node: ServiceNode): ServedService {
    const { services, hasExternalIps } = this.#options;
    const service = services.get(key);
    if (service === undefined) return nothing;
    return planService({
      service,
      slices: services.slicesOf(key),
      node,
      hasExternalIps,
      hasRight: (right) => this.#rights.holderOf(right) === key,
    });
  }

  /** Keeps the plans that the kernel has now, and reports how their frontends changed: from an unknown state unless the kernel had the table. */
  #keep(plans: ReadonlyMap<string, ServedService>, hadTable: boolean): void {
    const changes: FrontendChange[] = [];
    for (const [key, is] of plans) {
      const was = this.#planned.get(key) ?? nothing;
      const byKey = new Map(was.frontends.map((frontend) => [frontend.key, frontend]));
      for (const after of is.frontends) {
        changes.push({ before: hadTable ? byKey.get(after.key) : undefined, after });
        byKey.delete(after.key);
      }
      for (const gone of byKey.values()) changes.push({ before: gone, after: undefined });
      // The Service may have gone since it was planned; its elements are in the kernel until the next round.
      if (is.frontends.length + is.clusterIps.length === 0 && is.healthCheck === undefined) this.#planned.delete(key);
      else this.#planned.set(key, is);
      if (isDeepStrictEqual(was.healthCheck, is.healthCheck)) continue;
      this.#isHealthChanged = true;
      if (is.healthCheck === undefined) this.#healthChecks.delete(key);
      else this.#healthChecks.set(key, is.healthCheck);
    }
    if (changes.length > 0) this.#options.onWritten(changes);
  }
}

function isSameNode(a: ServiceNode, b: ServiceNode): boolean {
  const families = [4, 6] as const;
  return (
    a.node === b.node && a.zone === b.zone && families.every((one) => a.masqueraded.has(one) === b.masqueraded.has(one))
  );
}

function* elementsIn({ elements }: PresentTable): Generator<TableElement> {
  for (const [set, members] of elements) for (const [key, value] of members) yield { set, key, value };
}

function slotsIn({ elements }: PresentTable): (frontend: Frontend, list: 'all' | 'local') => Slots {
  return ({ key, family }, list) => {
    const members = elements.get(`${slotMap[list]}${family}`);
    const slots: string[] = [];
    for (let slot; (slot = members?.get(`${key} . ${slots.length}`)) !== undefined;) slots.push(slot);
    return slots;
  };
}
