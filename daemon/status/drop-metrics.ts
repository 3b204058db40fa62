/** Metrics of samples of dropped packets. No label comes from a packet. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { PolicyDrops } from './policy-drops.ts';

export function openDropMetrics(
  registry: Registry,
  { drops, isUp }: { readonly drops: Pick<PolicyDrops, 'counts'>; readonly isUp: () => boolean },
): void {
  const registers: Registry[] = [];
  const sampled: Counter<'direction' | 'result'> = new Counter({
    name: 'isthmus_daemon_policy_drops_sampled_total',
    help: 'Samples of packets that policies dropped on this node, which OVN limits. result: event; limited, there were too many; unlabelled, of a Namespace without the label; multicast; unknown, its pod or policy is not known.',
    labelNames: ['direction', 'result'] as const,
    registers,
    collect() {
      sampled.reset();
      for (const [key, packets] of drops.counts) {
        const [direction = '', result = ''] = key.split(' ');
        sampled.inc({ direction, result }, packets);
      }
    },
  });
  const up: Gauge = new Gauge({
    name: 'isthmus_daemon_policy_drops_up',
    help: 'Whether samples of dropped packets are received: 1 yes, 0 no.',
    registers,
    collect: () => up.set(isUp() ? 1 : 0),
  });
  for (const metric of [sampled, up]) registry.registerMetric(metric);
}
