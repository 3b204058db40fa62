/**
 * Reconciles one provider network on this node with the decision about it; `wake` requests a round, and each round ends with a report.
 * Every step is planned from what the kernel and the database have now, and the move is recorded before its first step. So a round may end
 * anywhere, and the next one goes on, even in another process.
 */
import { providerBridge } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { RoundEngine, type Round } from '../../lib/rounds/engine.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { isRefusal, refusalProblem } from '../host/refusal.ts';
import { linkProblem, type Decision } from '../settle/provider-network.ts';
import { beginMove, defaultGateways, describeMove, extendMove } from '../plan/underlay/move.ts';
import { planSteps } from '../plan/underlay/steps.ts';
import type { NetworkReport, NicMove } from '../model/provider-network.ts';
import type { Nic, NicsByName } from '../model/nic.ts';
import type { UnderlayHost } from './underlay-host.ts';

export interface ReconcilerOptions {
  readonly network: string;
  readonly node: string;
  readonly host: UnderlayHost;
  /** The move that an earlier run recorded. */
  readonly move: NicMove | undefined;
  /** MTU of the bridge to which an earlier run routed, in bytes. */
  readonly routedMtu: number | undefined;
  readonly decide: (nics: NicsByName) => Decision;
  /** Called after each completed round. */
  readonly onRound: (reconciler: NetworkReconciler) => void;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

type State = Omit<NetworkReport, 'network'>;

const deviceTimeoutMs = 10_000;
const checkTimeoutMs = 10_000;
/** A gateway that answers at all answers within this time. */
const baselineTimeoutMs = 2000;
const retryMs = 2000;

export class NetworkReconciler {
  readonly network: string;
  readonly #options: ReconcilerOptions;
  readonly #bridge: string;
  readonly #stop = new AbortController();
  #move: NicMove | undefined;
  #routedMtu: number | undefined;
  #report: NetworkReport | undefined;
  #isSettled = false;
  readonly #engine: RoundEngine = new RoundEngine({ run: (round) => this.#run(round) });
  /** Revision of the last round that ended. */
  #ended = 0;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.network = options.network;
    this.#bridge = providerBridge(options.network);
    this.#move = options.move;
    this.#routedMtu = options.routedMtu;
  }

  get move(): NicMove | undefined {
    return this.#move;
  }

  /** MTU of the bridge to which the node routes, in bytes; undefined of a network with an interface. */
  get routedMtu(): number | undefined {
    return this.#routedMtu;
  }

  /** Report of the last round; undefined before the first, and if the network does not select this node. */
  get report(): NetworkReport | undefined {
    return this.#report;
  }

  /** Whether a round has completed; before that, marks of an earlier run on the Node must stay. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Whether nothing of the network is left on the node, and there is nothing to report. */
  get isOver(): boolean {
    const hasBridge = this.#move !== undefined || this.#routedMtu !== undefined;
    return !hasBridge && this.#report === undefined && this.#ended === this.#engine.revision;
  }

  wake(): void {
    if (this.#engine.revision === 0) this.#engine.start();
    else this.#engine.urgent();
  }

  /** Resolves when the rounds that were asked for until now have ended. */
  idle(): Promise<void> {
    return this.#engine.untilApplied();
  }

  /** Stops after the step under way; the record stays for the next process. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the daemon stops'));
    await this.#engine.close();
  }

  async #run({ revision }: Round<never>): Promise<void> {
    while ((await this.#step()) === 'again' && !this.#stop.signal.aborted);
    this.#ended = revision;
    if (!this.#stop.signal.aborted) this.#options.onRound(this);
  }

  async #step(): Promise<'again' | 'done'> {
    try {
      const nics = await this.#options.host.read();
      const state = await this.#advance(nics, this.#options.decide(nics));
      if (state === 'again') return 'again';
      this.#setReport(state);
    } catch (error) {
      if (this.#stop.signal.aborted) return 'done';
      if (!isRefusal(error)) throw error;
      this.#setReport({ isReady: false, nic: undefined, plan: undefined, problem: refusalProblem(error) });
      this.#engine.wakeAfter(retryMs);
    }
    return 'done';
  }

  #setReport(state: State | undefined): void {
    const report = state && { network: this.network, ...state };
    const problem = report?.problem;
    if (problem !== undefined && problem.message !== this.#report?.problem?.message)
      this.#options.log.warn({ network: this.network, reason: problem.code }, problem.message);
    this.#report = report;
    this.#isSettled = true;
  }

  /** Makes one transition (`again`), or returns the state if there is none to make. */
  async #advance(nics: NicsByName, decision: Decision): Promise<State | 'again' | undefined> {
    const move = this.#move;
    if (move === undefined && decision.kind === 'route') return this.#route(decision.mtu);
    if (this.#routedMtu !== undefined && (decision.kind === 'absent' || decision.kind === 'join')) {
      await this.#forget();
      return 'again';
    }
    if (move === undefined) return this.#begin(nics, decision);
    if (move.phase === 'returning') return this.#returnNic(move, nics);
    if (move.phase === 'rolledBack') return this.#stayRolledBack(move, decision);
    const isWanted = decision.kind !== 'absent' && decision.nic === move.nic;
    const isKept = move.phase === 'joined' && (isWanted || decision.kind === 'dryRun');
    if (isKept) return this.#keep(move, nics, decision);
    if (!isWanted) return this.#startReturn(move);
    return decision.kind === 'join' ? this.#join(move) : this.#startReturn(move);
  }

  async #route(mtu: number): Promise<State> {
    const { host, log } = this.#options;
    if (this.#routedMtu === undefined) log.info({ network: this.network }, `the node routes to bridge ${this.#bridge}`);
    this.#routedMtu = mtu;
    await host.setRouted(this.network, mtu);
    await host.untilDevice(this.#bridge, this.#within(deviceTimeoutMs));
    await host.prepare(this.#bridge, mtu);
    return { isReady: true, nic: { name: this.#bridge, mtu }, problem: undefined, plan: undefined };
  }

  async #begin(nics: NicsByName, decision: Decision): Promise<State | 'again' | undefined> {
    if (decision.kind === 'absent' || decision.kind === 'route') return undefined;
    const nic = nics.get(decision.nic);
    const refuse = (problem: Problem): State => ({ isReady: false, nic: undefined, problem, plan: undefined });
    if (decision.kind === 'refused') return refuse(decision.problem);
    if (decision.kind === 'dryRun' && decision.isRouted === true) return this.#describeRouted(decision.problem);
    if (decision.kind === 'dryRun') return this.#describeDryRun(nics, nic, decision.problem);
    if (nic === undefined) return undefined;
    const checks = await this.#baseline(nic);
    await this.#record(beginMove(this.network, nic, { nics, wish: decision.wish, checks }), false);
    return 'again';
  }

  #describeRouted(problem: Problem | undefined): State {
    const mtu = this.#routedMtu;
    if (mtu !== undefined) {
      const plan = `would do nothing: the node routes to ${this.#bridge}`;
      return { isReady: true, nic: { name: this.#bridge, mtu }, problem, plan };
    }
    const plan =
      problem === undefined
        ? `would create bridge ${this.#bridge}, and give it the gateway addresses of its Subnets`
        : `would do nothing: ${problem.message}`;
    return { isReady: false, nic: undefined, problem, plan };
  }

  async #describeDryRun(nics: NicsByName, nic: Nic | undefined, problem: Problem | undefined): Promise<State> {
    const silent = { isReady: false, nic: undefined, problem };
    if (problem !== undefined || nic === undefined)
      return { ...silent, plan: `would do nothing: ${problem?.message ?? 'there is no such interface'}` };
    const checks = { gateways: defaultGateways(nic), api: await this.#options.host.isWayToApi(nic.index) };
    return { ...silent, plan: describeMove(beginMove(this.network, nic, { nics, wish: '', checks })) };
  }

  /** Finds what answers over the interface now; only that can be lost by the move. */
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
    // An interface that an earlier daemon put into the bridge stays there.
    await this.#record(recorded, host.hasPort(this.#bridge, recorded.nic));
    await host.untilDevice(this.#bridge, this.#within(deviceTimeoutMs));
    await host.prepare(this.#bridge, recorded.mtu);
    await host.prepare(recorded.nic, undefined);
    const problem = await this.#moveNic(recorded);
    if (problem !== undefined) {
      await this.#record({ ...this.#move!, phase: 'returning', failure: problem }, true);
      return 'again';
    }
    await this.#record({ ...this.#move!, phase: 'joined' }, true);
    log.info({ network: this.network, nic: recorded.nic }, `interface is in bridge ${this.#bridge}`);
    return 'again';
  }

  /** Moves the interface into the bridge and checks that everything answers as before; returns why it must be rolled back. */
  async #moveNic(recorded: NicMove): Promise<Problem | undefined> {
    const { host } = this.#options;
    const { nic } = recorded;
    await this.#record(recorded, true);
    const portState = await host.untilPort(nic, this.#within(deviceTimeoutMs));
    if (portState !== 'works')
      return rolledBack(recorded, `Open vSwitch could not use it: ${portState}; look at ovs-vswitchd's log`);
    const nics = await host.read();
    const move = extendMove(recorded, nics);
    if (move !== recorded) await this.#record(move, true);
    try {
      await host.apply(planSteps(move.moved, nics, 'join'));
      await host.guard(nic, true);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return rolledBack(move, `the kernel refused ${error.message}; find the other program that manages the interface`);
    }
    const lost = await this.#findLoss(move.checks, this.#bridge);
    if (lost === '') return undefined;
    return rolledBack(move, `${lost} within ${checkTimeoutMs / 1000} s; look at port security and VLANs of its switch`);
  }

  /** Names what answered before the move and does not answer now; empty if everything answers. */
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

  /** Keeps the interface as recorded, and undoes changes by others. */
  async #keep(recorded: NicMove, nics: NicsByName, decision: Decision): Promise<State> {
    const { host } = this.#options;
    const { nic } = recorded;
    const move = extendMove(recorded, nics);
    await this.#record(move, true);
    const joined = { nic: { name: nic, mtu: move.mtu }, plan: undefined };
    const fail = (problem: Problem): State => ({ ...joined, isReady: false, problem });
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
    const plan = decision.kind === 'dryRun' ? this.#describeKept(nic, decision.nic) : undefined;
    return { ...joined, isReady: state === 'works', problem: undefined, plan };
  }

  #describeKept(nic: string, wanted: string): string {
    if (nic === wanted) return `would do nothing: ${nic} is in ${this.#bridge}`;
    return `would move everything from ${this.#bridge} back to ${nic}, and put ${wanted} into it`;
  }

  async #startReturn(move: NicMove): Promise<'again'> {
    const { failure: _, ...rest } = move;
    await this.#record({ ...rest, phase: 'returning' }, this.#options.host.hasPort(this.#bridge, move.nic));
    return 'again';
  }

  async #returnNic(move: NicMove, nics: NicsByName): Promise<'again'> {
    const { host, log } = this.#options;
    const { nic, failure } = move;
    await host.guard(nic, false);
    await this.#record(move, false);
    if (nics.has(nic)) {
      await host.prepare(nic, undefined);
      await host.apply(planSteps(move.moved, await host.read(), 'return'));
    } else log.warn({ network: this.network, nic }, 'the interface is gone, and nothing can be moved back to it');
    if (failure === undefined) await this.#forget();
    else await this.#record({ ...move, phase: 'rolledBack', failure: await this.#checkReturn(move, failure) }, false);
    return 'again';
  }

  /** Checks whether the return has restored what was lost, and adds to the problem if it has not. */
  async #checkReturn({ checks, nic }: NicMove, failure: Problem): Promise<Problem> {
    const lost = await this.#findLoss(checks, nic);
    if (lost === '') return failure;
    return {
      ...failure,
      message: `${failure.message}. Back on ${nic}, ${lost} either: so the bridge is not the cause`,
    };
  }

  /** A rolled back move is only tried again after the request has changed, or after a dry run. */
  async #stayRolledBack(move: NicMove, decision: Decision): Promise<State | 'again'> {
    const isSettled = decision.kind === 'refused' || (decision.kind === 'join' && decision.wish === move.wish);
    if (!isSettled) {
      await this.#forget();
      return 'again';
    }
    await this.#record(move, false);
    const problem = decision.kind === 'refused' ? decision.problem : move.failure;
    return { isReady: false, nic: undefined, problem, plan: undefined };
  }

  /** Resolves when the database has the record. @throws Refusal */
  async #record(move: NicMove, hasNic: boolean): Promise<void> {
    this.#move = move;
    await this.#options.host.setRows(move, hasNic);
  }

  async #forget(): Promise<void> {
    await this.#options.host.dropRows(this.network);
    this.#move = undefined;
    this.#routedMtu = undefined;
  }

  #within(ms: number): AbortSignal {
    return AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ms)]);
  }
}

function rolledBack({ nic, network }: NicMove, why: string): Problem {
  const what = `interface ${nic} was moved into ${providerBridge(network)} and back with all its addresses, because ${why}`;
  return {
    code: 'RolledBack',
    message: `${what}, then change the ProviderNetwork, or set and remove its annotation isthmus.network/dry-run, to try again`,
  };
}
