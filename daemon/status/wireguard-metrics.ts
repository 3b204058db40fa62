/** Metrics of encrypted tunnels, with one series per remote gateway. */
import { Gauge, type Registry } from 'prom-client';

export interface PeerFigures {
  readonly chassis: string;
  /** Unix milliseconds; 0 before the first. */
  readonly handshakeMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** `current` is called at each scrape. */
export function openWireGuardMetrics(
  registry: Registry,
  current: () => readonly PeerFigures[],
  now: () => number,
): void {
  const gauge = (name: string, help: string, read: (peer: PeerFigures) => number | undefined): void => {
    const made: Gauge<'chassis'> = new Gauge({
      name: `isthmus_daemon_wireguard_${name}`,
      help,
      labelNames: ['chassis'] as const,
      registers: [],
      collect: () => {
        made.reset();
        for (const peer of current()) {
          const value = read(peer);
          if (value !== undefined) made.set({ chassis: peer.chassis }, value);
        }
      },
    });
    registry.registerMetric(made);
  };
  gauge(
    'handshake_age_seconds',
    'Time since the last WireGuard handshake with a gateway of another cluster; no series before the first. Above 180 nothing is sent.',
    ({ handshakeMs }) => (handshakeMs === 0 ? undefined : Math.max(0, now() - handshakeMs) / 1000),
  );
  gauge(
    'received_bytes',
    'Bytes received from a gateway by WireGuard since it started.',
    ({ receivedBytes }) => receivedBytes,
  );
  gauge('sent_bytes', 'Bytes sent to a gateway by WireGuard since it started.', ({ sentBytes }) => sentBytes);
}
