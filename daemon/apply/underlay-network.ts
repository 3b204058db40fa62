/**
 * One provider network on this node: from what is decided to what is so. In: `wake` after anything changed. Out: a report
 * after each round. Every step is planned from what the kernel and the database have now, and what is to be moved is
 * written down before the first, so a round may end anywhere and the next, of whichever process, goes on.
 */
import { providerBridge } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { isRefusal, refusalProblem } from '../host/refusal.ts';
import { linkProblem, type Decision } from '../settle/provider-network.ts';
import { beginMove, defaultGateways, describeMove, extendMove } from '../plan/underlay/move.ts';
import { planSteps } from '../plan/underlay/steps.ts';
import type { NetworkReport, NicMove } from '../model/provider-network.ts';
import type { Nic, NicsByName } from '../model/nic.ts';
import type { UnderlayHost } from './underlay-host.ts';

export interface LaneOptions {
  readonly network: string;
  readonly node: string;
  readonly host: UnderlayHost;
  /** Of an earlier run. */
  readonly move: NicMove | undefined;
  readonly decide: (nics: NicsByName) => Decision;
  /** After each round that came to an end. */
  readonly onRound: (lane: NetworkLane) => void;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

type Verdict = Omit<NetworkReport, 'network'>;

const deviceTimeoutMs = 10_000;
const checkTimeoutMs = 10_000;
/** What answers at all answers within this. */
const baselineTimeoutMs = 2000;
const retryMs = 2000;

export class NetworkLane {
  readonly network: string;
  readonly #options: LaneOptions;
  readonly #bridge: string;
  readonly #stop = new AbortController();
  #move: NicMove | undefined;
  #report: NetworkReport | undefined;
  #isSettled = false;
  #isDirty = false;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.network = options.network;
    this.#bridge = providerBridge(options.network);
    this.#move = options.move;
  }

  get move(): NicMove | undefined {
    return this.#move;
  }

  /** Of the last round; undefined before the first, and where the network is not for this node. */
  get report(): NetworkReport | undefined {
    return this.#report;
  }

  /** Whether it is known what is so; before, nothing that was told of it is to be taken back. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Whether nothing of it is left on the node, and nothing to be told. */
  get isOver(): boolean {
    return this.#move === undefined && this.#report === undefined && this.#running === undefined;
  }

  wake(): void {
    this.#isDirty = true;
    this.#running ??= this.#run();
  }

  /** Resolves when no round runs. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Ends after the step under way; what is recorded stays for the next process. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the daemon stops'));
    clearTimeout(this.#retry);
    await this.#running;
  }

  async #run(): Promise<void> {
    clearTimeout(this.#retry);
    while (this.#isDirty && !this.#stop.signal.aborted) {
      this.#isDirty = false;
      await this.#round();
    }
    this.#running = undefined;
    if (!this.#stop.signal.aborted) this.#options.onRound(this);
  }

  async #round(): Promise<void> {
    try {
      const nics = await this.#options.host.read();
      const verdict = await this.#advance(nics, this.#options.decide(nics));
      if (verdict === 'again') this.#isDirty = true;
      else this.#tell(verdict);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (!isRefusal(error)) throw error;
      this.#tell({ isReady: false, nic: undefined, plan: undefined, problem: refusalProblem(error) });
      this.#retry = setTimeout(() => this.wake(), retryMs);
    }
  }

  #tell(verdict: Verdict | undefined): void {
    const report = verdict && { network: this.network, ...verdict };
    const problem = report?.problem;
    if (problem !== undefined && problem.message !== this.#report?.problem?.message)
      this.#options.log.warn({ network: this.network, reason: problem.code }, problem.message);
    this.#report = report;
    this.#isSettled = true;
  }

  /** One transition, or what there is to say where there is none. */
  async #advance(nics: NicsByName, decision: Decision): Promise<Verdict | 'again' | undefined> {
    const move = this.#move;
    if (move === undefined) return this.#begin(nics, decision);
    if (move.phase === 'returning') return this.#goBack(move, nics);
    if (move.phase === 'rolledBack') return this.#stayBack(move, decision);
    const isWanted = decision.kind !== 'absent' && decision.nic === move.nic;
    const isKept = move.phase === 'joined' && (isWanted || decision.kind === 'dryRun');
    if (isKept) return this.#keep(move, nics, decision);
    if (!isWanted) return this.#turn(move);
    return decision.kind === 'join' ? this.#join(move) : this.#turn(move);
  }

  async #begin(nics: NicsByName, decision: Decision): Promise<Verdict | 'again' | undefined> {
    if (decision.kind === 'absent') return undefined;
    const nic = nics.get(decision.nic);
    const refuse = (problem: Problem): Verdict => ({ isReady: false, nic: undefined, problem, plan: undefined });
    if (decision.kind === 'refused') return refuse(decision.problem);
    if (decision.kind === 'dryRun') return this.#rehearse(nics, nic, decision.problem);
    if (nic === undefined) return undefined;
    const checks = await this.#baseline(nic);
    await this.#record(beginMove(this.network, nic, { nics, wish: decision.wish, checks }), false);
    return 'again';
  }

  async #rehearse(nics: NicsByName, nic: Nic | undefined, problem: Problem | undefined): Promise<Verdict> {
    const silent = { isReady: false, nic: undefined, problem };
    if (problem !== undefined || nic === undefined)
      return { ...silent, plan: `would do nothing, because ${problem?.message ?? 'there is no such interface'}` };
    const checks = { gateways: defaultGateways(nic), api: await this.#options.host.isWayToApi(nic.index) };
    return { ...silent, plan: describeMove(beginMove(this.network, nic, { nics, wish: '', checks })) };
  }

  /** What works over the interface now: only that can be lost. */
  async #baseline(nic: Nic): Promise<NicMove['checks']> {
    const { host } = this.#options;
    const signal = this.#within(baselineTimeoutMs);
    const gateways = defaultGateways(nic);
    const [answered, api] = await Promise.all([
      Promise.all(gateways.map((gateway) => host.answers(nic.name, gateway, signal))),
      host.isWayToApi(nic.index).then((isWay) => isWay && host.askApi(signal)),
    ]);
    this.#stop.signal.throwIfAborted();
    return { gateways: gateways.filter((_, at) => answered[at]), api };
  }

  async #join(recorded: NicMove): Promise<'again'> {
    const { host, log } = this.#options;
    // What a daemon before this one put into the bridge stays there.
    await this.#record(recorded, host.hasPort(this.#bridge, recorded.nic));
    await host.untilDevice(this.#bridge, this.#within(deviceTimeoutMs));
    await host.prepare(this.#bridge, recorded.mtu);
    await host.prepare(recorded.nic, undefined);
    const problem = await this.#cross(recorded);
    if (problem !== undefined) {
      await this.#record({ ...this.#move!, phase: 'returning', failure: problem }, true);
      return 'again';
    }
    await this.#record({ ...this.#move!, phase: 'joined' }, true);
    log.info({ network: this.network, nic: recorded.nic }, `interface is in bridge ${this.#bridge}`);
    return 'again';
  }

  /** The moment in which the interface changes hands, and the look whether all is as it was. */
  async #cross(recorded: NicMove): Promise<Problem | undefined> {
    const { host } = this.#options;
    const { nic } = recorded;
    await this.#record(recorded, true);
    const state = await host.untilPort(nic, this.#within(deviceTimeoutMs));
    if (state !== 'works')
      return rolledBack(recorded, `Open vSwitch could not use it: ${state}; look at ovs-vswitchd's log`);
    const nics = await host.read();
    const move = extendMove(recorded, nics);
    if (move !== recorded) await this.#record(move, true);
    try {
      await host.apply(planSteps(move.moved, nics, 'join'));
      await host.guard(nic, true);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return rolledBack(move, `the kernel refused ${error.message}; look for what else manages the interface`);
    }
    const lost = await this.#findLoss(move.checks, this.#bridge);
    if (lost === '') return undefined;
    return rolledBack(move, `${lost} within ${checkTimeoutMs / 1000} s; look at port security and VLANs of its switch`);
  }

  /** What worked before and does not; empty where all does. */
  async #findLoss({ gateways, api }: NicMove['checks'], device: string): Promise<string> {
    const { host } = this.#options;
    const signal = this.#within(checkTimeoutMs);
    const [answered, hasApi] = await Promise.all([
      Promise.all(gateways.map((gateway) => host.answers(device, gateway, signal))),
      api ? host.askApi(signal) : true,
    ]);
    this.#stop.signal.throwIfAborted();
    const silent = gateways.filter((_, at) => !answered[at]).map((gateway) => `the default gateway ${gateway}`);
    if (!hasApi) silent.push('the API server');
    return silent.length === 0 ? '' : `${silent.join(' and ')} did not answer`;
  }

  /** As it was written down, whatever somebody did to it. */
  async #keep(recorded: NicMove, nics: NicsByName, decision: Decision): Promise<Verdict> {
    const { host } = this.#options;
    const { nic } = recorded;
    const move = extendMove(recorded, nics);
    await this.#record(move, true);
    const told = { nic: { name: nic, mtu: move.mtu }, plan: undefined };
    const fail = (problem: Problem): Verdict => ({ ...told, isReady: false, problem });
    if (!nics.has(this.#bridge))
      return fail({ code: 'BridgeMissing', message: `ovs-vswitchd has not made ${this.#bridge} yet; look at its log` });
    await host.prepare(this.#bridge, move.mtu);
    const steps = planSteps(move.moved, nics, 'join');
    if (steps.length > 0) await host.apply(steps);
    await host.guard(nic, nics.has(nic));
    if (decision.kind === 'refused') return fail(decision.problem);
    const down = linkProblem(nics.get(nic), this.#options.node);
    if (down !== undefined) return fail(down);
    const state = host.portState(nic);
    if (state !== 'works' && state !== undefined)
      return fail({ code: 'PortRefused', message: `Open vSwitch cannot use interface ${nic}: ${state}` });
    const plan = decision.kind === 'dryRun' ? this.#rehearseKept(nic, decision.nic) : undefined;
    return { ...told, isReady: state === 'works', problem: undefined, plan };
  }

  #rehearseKept(nic: string, wanted: string): string {
    if (nic === wanted) return `would do nothing: ${nic} is in ${this.#bridge}`;
    return `would move everything from ${this.#bridge} back to ${nic}, and put ${wanted} into it`;
  }

  async #turn(move: NicMove): Promise<'again'> {
    const { failure: _, ...rest } = move;
    await this.#record({ ...rest, phase: 'returning' }, this.#options.host.hasPort(this.#bridge, move.nic));
    return 'again';
  }

  async #goBack(move: NicMove, nics: NicsByName): Promise<'again'> {
    const { host, log } = this.#options;
    const { nic, failure } = move;
    await host.guard(nic, false);
    await this.#record(move, false);
    if (nics.has(nic)) {
      await host.prepare(nic, undefined);
      await host.apply(planSteps(move.moved, await host.read(), 'return'));
    } else log.warn({ network: this.network, nic }, 'the interface is gone, and nothing can be moved back to it');
    if (failure === undefined) await this.#forget();
    else await this.#record({ ...move, phase: 'rolledBack', failure: await this.#lookBack(move, failure) }, false);
    return 'again';
  }

  /** Whether the way back mended what was lost. */
  async #lookBack({ checks, nic }: NicMove, failure: Problem): Promise<Problem> {
    const lost = await this.#findLoss(checks, nic);
    if (lost === '') return failure;
    return { ...failure, message: `${failure.message}. Back on ${nic}, ${lost} either: the cause lies elsewhere` };
  }

  /** Tried again only for another wish, or after somebody looked at it by a dry run. */
  async #stayBack(move: NicMove, decision: Decision): Promise<Verdict | 'again'> {
    const isSettled = decision.kind === 'refused' || (decision.kind === 'join' && decision.wish === move.wish);
    if (!isSettled) {
      await this.#forget();
      return 'again';
    }
    await this.#record(move, false);
    const problem = decision.kind === 'refused' ? decision.problem : move.failure;
    return { isReady: false, nic: undefined, problem, plan: undefined };
  }

  /** Returns when it is in the database. @throws Refusal */
  async #record(move: NicMove, hasNic: boolean): Promise<void> {
    this.#move = move;
    await this.#options.host.setRows(move, hasNic);
  }

  async #forget(): Promise<void> {
    await this.#options.host.dropRows(this.network);
    this.#move = undefined;
  }

  #within(ms: number): AbortSignal {
    return AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ms)]);
  }
}

function rolledBack({ nic, network }: NicMove, why: string): Problem {
  const what = `interface ${nic} was put into ${providerBridge(network)} and taken out again with all its addresses, because ${why}`;
  return {
    code: 'RolledBack',
    message: `${what}, then change the ProviderNetwork, or set and remove its annotation isthmus.network/dry-run, to try again`,
  };
}
