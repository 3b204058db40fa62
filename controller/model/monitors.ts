/** Health checks of OVN, as the southbound database reports them. Pure. */
import { backendKey } from '../../lib/services/backends.ts';

/** `online`, `offline` or `error`; empty before the first result. */
export type MonitorState = string;

/** How `View.monitors` names the check of a backend at a port of OVN. */
export function monitorKey(port: string, protocol: string, address: string, number: number): string {
  return `${port} ${protocol} ${backendKey(address, number)}`;
}

/** The port of OVN in such a name. */
export function monitoredPort(key: string): string {
  return key.slice(0, key.indexOf(' '));
}
