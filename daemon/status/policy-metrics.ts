/** Metrics of policies: a series for each rule with flows on this node, and for each NetworkPolicy that dropped packets here. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { PolicyCounters } from './policy-counters.ts';

export function openPolicyMetrics(registry: Registry, counters: PolicyCounters): void {
  const registers: Registry[] = [];
  const rules: Counter<'kind' | 'namespace' | 'policy' | 'direction' | 'rule' | 'verdict'> = new Counter({
    name: 'isthmus_daemon_policy_packets_total',
    help: 'Packets that a rule of a policy decided on this node, in the direction in which the connection was opened; rule is its place in spec.ingress or spec.egress, several that share a match separated by commas.',
    labelNames: ['kind', 'namespace', 'policy', 'direction', 'rule', 'verdict'] as const,
    registers,
    collect: async () => {
      await counters.refresh();
      rules.reset();
      for (const { packets, ...labels } of counters.counts.rules) rules.inc(labels, packets);
    },
  });
  const isolation: Counter<'namespace' | 'policy' | 'direction'> = new Counter({
    name: 'isthmus_daemon_policy_isolation_drops_total',
    help: 'Packets of pods of this node that no NetworkPolicy allowed. A packet counts at each policy that isolates the pod in this direction.',
    labelNames: ['namespace', 'policy', 'direction'] as const,
    registers,
    collect: async () => {
      await counters.refresh();
      isolation.reset();
      for (const { packets, ...labels } of counters.counts.isolation) isolation.inc(labels, packets);
    },
  });
  const up: Gauge = new Gauge({
    name: 'isthmus_daemon_policy_counters_up',
    help: 'Whether the counters of policies were read: 1 yes, 0 no, and the counters are those of an earlier reading.',
    registers,
    collect: async () => {
      await counters.refresh();
      up.set(counters.isUp ? 1 : 0);
    },
  });
  for (const metric of [rules, isolation, up]) registry.registerMetric(metric);
}
