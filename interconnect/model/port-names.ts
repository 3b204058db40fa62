/** Names of ports on transit switches and of their routers, which plans write and `watch/` looks up. Pure. */
import type { Member, Port } from './messages.ts';

export function transitRouterPort(handle: string, logicalSwitch: string): string {
  return `${handle}-${logicalSwitch}`;
}

/** The SB port that OVN binds to the chassis which forwards for the transit router port. */
export function redirectPort(handle: string, logicalSwitch: string): string {
  return `cr-${transitRouterPort(handle, logicalSwitch)}`;
}

/** The handle in the name of a member's port: `<logical switch>-<handle>`; undefined if it has another form. */
export function handleOfPort(port: Pick<Port, 'switch' | 'logicalPort'>): string | undefined {
  const prefix = `${port.switch}-`;
  return port.logicalPort.startsWith(prefix) ? port.logicalPort.slice(prefix.length) : undefined;
}

/**
 * What another cluster's rows are known by here: the name it joined with, which its ports keep when it is renamed; so a
 * rename changes no row. A foreign zone, whose ports may be called anything, and a member without ports go by their name.
 */
export function handleOf({ name, foreign, ports }: Pick<Member, 'name' | 'foreign' | 'ports'>): string {
  const [port] = ports;
  return foreign || port === undefined ? name : (handleOfPort(port) ?? name);
}
