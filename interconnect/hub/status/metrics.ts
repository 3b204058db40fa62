/** The hub's own figures. */
import { Gauge, type Registry } from 'prom-client';
import { validityOf } from '../../../lib/pki/certificate.ts';

/** Figures are read from this whenever they are scraped. */
export interface HubFigures {
  readonly sessions: number;
  readonly members: number;
  readonly rejections: number;
  readonly exports: number;
  readonly exportedEndpoints: number;
  readonly podSets: number;
  readonly podAddresses: number;
  readonly foreignZones: number;
  readonly silentDatabases: number;
  /** Unix milliseconds. */
  readonly endpointNotAfterMs: number;
}

export function hubMetrics(registry: Registry, hub: HubFigures, authority: string): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(read()) });
  };
  gauge('isthmus_hub_sessions', 'Members connected now', () => hub.sessions);
  gauge('isthmus_hub_members', 'Members with rows in the databases', () => hub.members);
  gauge('isthmus_hub_rejections', 'Requests of connected members that were refused', () => hub.rejections);
  gauge('isthmus_hub_exports', 'Exported Services of all members that were accepted', () => hub.exports);
  gauge('isthmus_hub_exported_endpoints', 'Endpoints of the accepted exports', () => hub.exportedEndpoints);
  gauge('isthmus_hub_pod_sets', 'Sets of pods that policies of other members name', () => hub.podSets);
  gauge('isthmus_hub_pod_addresses', 'Addresses in these sets', () => hub.podAddresses);
  gauge('isthmus_hub_foreign_zones', 'Availability zones that run plain ovn-ic', () => hub.foreignZones);
  gauge('isthmus_hub_silent_databases', 'Databases of the hub that do not answer it', () => hub.silentDatabases);
  const expiry: Gauge<'certificate'> = new Gauge({
    name: 'isthmus_hub_certificate_expiry_seconds',
    help: 'Unix time at which a certificate of the hub ends',
    labelNames: ['certificate'],
    registers: [registry],
    collect: () => {
      expiry.set({ certificate: 'endpoint' }, hub.endpointNotAfterMs / 1000);
      expiry.set({ certificate: 'authority' }, validityOf(authority).notAfterMs / 1000);
    },
  });
}
