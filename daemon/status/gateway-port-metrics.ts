/** Metrics of ports of routers that this node holds. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface GatewayPortFigures {
  /** Announcements that were sent, by protocol. */
  readonly sent: Readonly<Record<'arp' | 'nd', number>>;
  /** Ports that this node has; undefined while that is not known. */
  readonly held: number | undefined;
}

/** The figures are read at each scrape. */
export function openGatewayPortMetrics(registry: Registry, figures: GatewayPortFigures): void {
  const sent: Counter<'protocol'> = new Counter({
    name: 'isthmus_daemon_gateway_port_announcements_total',
    help: 'Gratuitous ARP requests (arp) and unsolicited neighbour advertisements (nd) for addresses of gateway ports that moved to this node.',
    labelNames: ['protocol'] as const,
    registers: [],
    collect() {
      sent.reset();
      for (const [protocol, count] of Object.entries(figures.sent)) sent.inc({ protocol }, count);
    },
  });
  const held: Gauge = new Gauge({
    name: 'isthmus_daemon_gateway_ports',
    help: 'Ports of routers in Subnets outside that this node has; no value where none can be, or the southbound database does not answer.',
    registers: [],
    collect() {
      held.remove();
      if (figures.held !== undefined) held.set(figures.held);
    },
  });
  for (const metric of [sent, held]) registry.registerMetric(metric);
}
