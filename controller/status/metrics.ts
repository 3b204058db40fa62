import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { backendCounts } from '../plan/switch-lb-rule/backends.ts';
import { nodesOf } from '../plan/underlay/provider-network.ts';
import type { View } from '../model/view.ts';
import { openExternalMetrics } from './external-metrics.ts';

export interface Metrics {
  round(figures: { readonly keys: number; readonly ms: number; readonly lagMs: number }): void;
  transaction(figures: { readonly operations: number; readonly ms: number }): void;
  /** A changed plan was sent to the database, so long after the event behind it. */
  sent(ms: number): void;
  /** The southbound database did not allow a write. */
  southboundRefused(): void;
}

const seconds = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
/** Fine around what one pod's change may take. */
const fineSeconds = [0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.012, 0.015, 0.02, 0.03, 0.05, 0.1, 0.5, 1, 5];
const counts = [1, 5, 10, 50, 100, 500, 1000, 5000, 10000];

/** The room's figures; those of subnets are read when asked for. */
export function openMetrics(registry: Registry, view: View): Metrics {
  const registers = [registry];
  const histogram = (name: string, help: string, buckets: number[]): Histogram =>
    new Histogram({ name: `isthmus_controller_${name}`, help, buckets, registers });
  const plan = histogram('plan_seconds', 'time to plan the dirty keys of a round', seconds);
  const keys = histogram('round_keys', 'dirty keys of a round', counts);
  const lag = histogram('event_lag_seconds', 'time from an event to the round that plans it', seconds);
  const transaction = histogram('transaction_seconds', 'time from sending a transaction to its reply', seconds);
  const sent = histogram(
    'event_to_transaction_seconds',
    'time from an event to the transaction that it causes',
    fineSeconds,
  );
  const operations = histogram('transaction_operations', 'operations of a transaction', counts);
  const usage = new Gauge({
    name: 'isthmus_controller_subnet_addresses',
    help: 'addresses of a subnet by state',
    labelNames: ['subnet', 'family', 'state'],
    registers,
    collect() {
      this.reset();
      for (const subnet of view.subnets.keys()) {
        for (const family of [4, 6] as const) {
          const pool = view.pool(subnet)?.pool(family);
          if (pool === undefined) continue;
          this.set({ subnet, family: `v${family}`, state: 'using' }, Number(pool.used.count));
          this.set({ subnet, family: `v${family}`, state: 'available' }, Number(pool.availableCount));
        }
      }
    },
  });
  usage.reset();
  const balanced = new Gauge({
    name: 'isthmus_controller_load_balancer_addresses',
    help: 'addresses of a LoadBalancerPool by state',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      this.reset();
      for (const pool of view.loadBalancerPools.keys()) {
        const { used, available } = view.loadBalancerUsage(pool);
        this.set({ pool, state: 'using' }, Number(used));
        this.set({ pool, state: 'available' }, Number(available));
      }
    },
  });
  balanced.reset();
  const waiting: Gauge = new Gauge({
    name: 'isthmus_controller_load_balancers_waiting',
    help: 'Services of type LoadBalancer without an address that they request',
    registers,
    collect: () => waiting.set([...view.loadBalancers.values()].filter(({ ready }) => ready?.isTrue === false).length),
  });
  const ruleBackends = new Gauge({
    name: 'isthmus_controller_switch_lb_rule_backends',
    help: 'backends of a SwitchLBRule by the state of their health check',
    labelNames: ['rule', 'state'],
    registers,
    collect() {
      this.reset();
      for (const rule of view.switchLbRules.values())
        for (const [state, count] of backendCounts(view, rule)) this.set({ rule: rule.name, state }, count);
    },
  });
  ruleBackends.reset();
  const routerBackends = new Gauge({
    name: 'isthmus_controller_router_lb_rule_backends',
    help: 'backends of a RouterLBRule by the state of their health check',
    labelNames: ['rule', 'state'],
    registers,
    collect() {
      this.reset();
      for (const rule of view.routerLbRules.values())
        for (const [state, count] of backendCounts(view, rule)) this.set({ rule: rule.name, state }, count);
    },
  });
  routerBackends.reset();
  const learned: Gauge = new Gauge({
    name: 'isthmus_controller_learned_prefixes',
    help: 'prefixes that nodes learned by BGP and that are routes of the default VPC',
    registers,
    collect: () => learned.set([...view.learned.values()].filter(({ hops }) => hops.length > 0).length),
  });
  const networkNodes = new Gauge({
    name: 'isthmus_controller_provider_network_nodes',
    help: 'nodes of a provider network by state',
    labelNames: ['network', 'state'],
    registers,
    collect() {
      this.reset();
      for (const network of view.providerNetworks.values()) {
        const { ready, notReady } = nodesOf(view, network);
        this.set({ network: network.name, state: 'ready' }, ready.length);
        this.set({ network: network.name, state: 'not-ready' }, notReady.length);
      }
    },
  });
  networkNodes.reset();
  openExternalMetrics(registry, view);
  const refusals = new Counter({
    name: 'isthmus_controller_southbound_refusals_total',
    help: 'writes that the southbound database did not allow',
    registers,
  });
  return {
    round({ keys: count, ms, lagMs }) {
      keys.observe(count);
      plan.observe(ms / 1000);
      lag.observe(lagMs / 1000);
    },
    transaction({ operations: count, ms }) {
      operations.observe(count);
      transaction.observe(ms / 1000);
    },
    sent: (ms) => sent.observe(ms / 1000),
    southboundRefused: () => refusals.inc(),
  };
}
