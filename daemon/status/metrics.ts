/** Metrics of the daemon; there are no series per pod. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Outcome } from '../cni/commands.ts';
import { commands } from '../cni/environment.ts';

export interface DaemonMetrics {
  onOutcome(outcome: Outcome): void;
  onTransaction(transaction: { readonly operations: number; readonly ms: number }): void;
}

/** The sources of gauges, which are read at each scrape. */
export interface GaugeSources {
  readonly sandboxes: { readonly size: number };
  /** Programs whose state is known, and whether they are up. */
  readonly programs: () => readonly (readonly [program: string, isUp: boolean])[];
  /** Number of kernel routes for prefixes learned by BGP. */
  readonly learnedRoutes: () => number;
  /** Number of next hops of such prefixes that are withheld. */
  readonly withheldRoutes: () => number;
}

export function openMetrics(registry: Registry): DaemonMetrics {
  const registers = [registry];
  const requests = new Histogram({
    name: 'isthmus_daemon_cni_request_seconds',
    help: 'Time from the receipt of a CNI request to its answer; code is the CNI error code, 0 for success.',
    labelNames: ['command', 'code'] as const,
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 30, 60],
    registers,
  });
  const transactions = new Histogram({
    name: 'isthmus_daemon_transact_seconds',
    help: 'Time of one transaction with the local Open vSwitch database.',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1, 5],
    registers,
  });
  const operations = new Counter({
    name: 'isthmus_daemon_operations_total',
    help: 'Operations sent to the local Open vSwitch database.',
    registers,
  });
  return {
    onOutcome: ({ command, code, ms }) =>
      requests.observe({ command: commands.find((known) => known === command) ?? 'other', code }, ms / 1000),
    onTransaction: (transaction) => {
      transactions.observe(transaction.ms / 1000);
      operations.inc(transaction.operations);
    },
  };
}

/** Registers the gauges of parts that exist once the node is known. */
export function openGauges(
  registry: Registry,
  { sandboxes, programs, learnedRoutes, withheldRoutes }: GaugeSources,
): void {
  const attached: Gauge = new Gauge({
    name: 'isthmus_daemon_sandboxes',
    help: 'Pod sandboxes that are attached on this node.',
    registers: [],
    collect: () => attached.set(sandboxes.size),
  });
  registry.registerMetric(attached);
  const learned: Gauge = new Gauge({
    name: 'isthmus_daemon_learned_routes',
    help: 'Routes of the kernel for prefixes learned by BGP.',
    registers: [],
    collect: () => learned.set(learnedRoutes()),
  });
  registry.registerMetric(learned);
  const withheld: Gauge = new Gauge({
    name: 'isthmus_daemon_learned_routes_withheld',
    help: 'Next hops of prefixes learned by BGP that are no routes of the kernel, because the API server was not reached by them.',
    registers: [],
    collect: () => withheld.set(withheldRoutes()),
  });
  registry.registerMetric(withheld);
  const up: Gauge<'program'> = new Gauge({
    name: 'isthmus_daemon_program_up',
    help: 'Whether the program answers on its control socket: 1 yes, 0 no; no series for one that is not watched.',
    labelNames: ['program'] as const,
    registers: [],
    collect: () => {
      up.reset();
      for (const [program, isUp] of programs()) up.set({ program }, isUp ? 1 : 0);
    },
  });
  registry.registerMetric(up);
}
