/** Metrics of tunnels and paths to other clusters, with one series per remote gateway. */
import { Gauge, type Registry } from 'prom-client';
import type { GatewayPeer, GatewayProbe, GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';

export interface GatewayMetrics {
  readonly peers: readonly GatewayPeer[];
  readonly tunnels: readonly GatewayTunnel[];
  readonly probes: readonly GatewayProbe[];
}

type Series = readonly (readonly [chassis: string, value: number | undefined])[];

/** `current` is called at each scrape. */
export function openGatewayMetrics(registry: Registry, current: () => GatewayMetrics): void {
  const gauge = (name: string, help: string, read: (figures: GatewayMetrics) => Series): void => {
    const made: Gauge<'cluster' | 'chassis'> = new Gauge({
      name: `isthmus_daemon_${name}`,
      help,
      labelNames: ['cluster', 'chassis'] as const,
      registers: [],
      collect: () => {
        made.reset();
        const figures = current();
        const clusters = new Map(figures.peers.map(({ chassis, cluster }) => [chassis, cluster]));
        for (const [chassis, value] of read(figures))
          if (value !== undefined) made.set({ cluster: clusters.get(chassis) ?? '', chassis }, value);
      },
    });
    registry.registerMetric(made);
  };
  gauge(
    'tunnel_up',
    'Whether BFD is up on the tunnel to a gateway of another cluster: 1 yes, 0 no; no series without BFD.',
    ({ tunnels }) =>
      tunnels.map(({ chassis, state }) => [chassis, state === 'unknown' ? undefined : state === 'up' ? 1 : 0]),
  );
  gauge('tunnel_flaps', 'How often BFD on the tunnel went up or down since ovs-vswitchd started.', ({ tunnels }) =>
    tunnels.map(({ chassis, flaps }) => [chassis, flaps]),
  );
  gauge(
    'probe_rtt_seconds',
    'Mean round-trip time to the other gateway outside the tunnel, last probe.',
    ({ probes }) => probes.map(({ chassis, rttMs }) => [chassis, rttMs === undefined ? undefined : rttMs.avg / 1000]),
  );
  gauge(
    'probe_loss_ratio',
    'Share of packets lost to the other gateway and back, last probe; 1 also where ICMP is filtered.',
    ({ probes }) => probes.map(({ chassis, lossPercent }) => [chassis, lossPercent / 100]),
  );
  gauge(
    'probe_mtu_bytes',
    'Largest IP packet that reached the other gateway unfragmented, up to the wanted size.',
    ({ probes }) => probes.map(({ chassis, mtu }) => [chassis, mtu]),
  );
}
