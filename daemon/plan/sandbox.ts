/**
 * A sandbox ↔ its rows in the local OVS database. Only the external_ids outlive the daemon: `parseSandbox` must read back exactly what
 * `planSandbox` writes, or a restart would change ports of living pods. Pure.
 */
import { defaultProvider, vendor } from '../../lib/api/names.ts';
import { ref, type Desired } from '../../lib/desired/row.ts';
import type { InterfaceAnnotations, Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import { mirrorSelection } from './mirror.ts';
import { portRows } from './port-rows.ts';
import { asideTable } from '../model/ovs-keys.ts';

/** Owner of a sandbox's rows, without the room. */
export function sandboxOwner({ containerId, ifname }: Pick<Sandbox, 'containerId' | 'ifname'>): string {
  return `cni/${containerId}/${ifname}`;
}

/** Options of a port by the annotations of its pod; they may change while the port exists. */
export type PortOptions = Pick<InterfaceAnnotations, 'netem' | 'isMirrored'>;

/** The options for the interface of the sandbox; the defaults if the pod is gone or another pod has its name. */
export function portOptionsOf(pod: Pod | undefined, { podUid, provider }: Sandbox): PortOptions {
  const facts = pod?.uid === podUid ? pod.interfaces.get(provider) : undefined;
  return { netem: facts?.netem ?? {}, isMirrored: facts?.isMirrored === true };
}

/**
 * The record of a sandbox whose port is out of the bridge while its interface is restored. It replaces the port in one transaction and stays
 * until the interface is complete: if the daemon dies in between, the next one restores the interface.
 */
export function planAside(sandbox: Sandbox): Desired {
  const ids = { ...sandboxIds(sandbox), [hostInterfaceKey]: sandbox.hostInterface, vendor };
  return { rows: [{ table: asideTable, key: sandbox.hostInterface, columns: { external_ids: ids } }] };
}

const hostInterfaceKey = 'host_interface';

/** Undefined for a row that is not a record of a sandbox. */
export function parseAside(externalIds: Readonly<Record<string, unknown>>): Sandbox | undefined {
  const name = externalIds[hostInterfaceKey];
  return typeof name === 'string' && name !== '' ? parseSandbox(name, externalIds) : undefined;
}

function sandboxIds(sandbox: Sandbox): Readonly<Record<string, string>> {
  return {
    'iface-id': sandbox.port,
    'iface-id-ver': sandbox.podUid,
    attached_mac: sandbox.mac,
    ip_addresses: sandbox.ips.join(','),
    pod_name: sandbox.podName,
    pod_namespace: sandbox.podNamespace,
    pod_netns: sandbox.netns,
    sandbox: sandbox.containerId,
    ifname: sandbox.ifname,
    ...(sandbox.network === undefined ? {} : { cni_network: sandbox.network }),
    ...(sandbox.provider === defaultProvider ? {} : { provider: sandbox.provider }),
  };
}

export function planSandbox(sandbox: Sandbox, { netem, isMirrored }: PortOptions): Desired {
  const ids = sandboxIds(sandbox);
  const name = sandbox.hostInterface;
  const hasNetem = Object.keys(netem).length > 0;
  const queue = {
    table: 'QoS',
    key: name,
    columns: { type: 'linux-netem', other_config: netem, external_ids: { vendor } },
  };
  return {
    rows: [...portRows(name, {}, ids, { qos: hasNetem ? ref('QoS', name) : null }), ...(hasNetem ? [queue] : [])],
    ...(isMirrored ? { contributions: mirrorSelection(name) } : {}),
  };
}

/** Undefined for an interface that does not belong to a pod. */
export function parseSandbox(name: string, externalIds: Readonly<Record<string, unknown>>): Sandbox | undefined {
  const id = (key: string): string => {
    const value = externalIds[key];
    return typeof value === 'string' ? value : '';
  };
  if (id('sandbox') === '' || id('ifname') === '') return undefined;
  return {
    containerId: id('sandbox'),
    ifname: id('ifname'),
    network: id('cni_network') || undefined,
    provider: id('provider') || defaultProvider,
    port: id('iface-id'),
    netns: id('pod_netns'),
    podNamespace: id('pod_namespace'),
    podName: id('pod_name'),
    podUid: id('iface-id-ver'),
    hostInterface: name,
    mac: id('attached_mac'),
    ips: id('ip_addresses')
      .split(',')
      .filter((ip) => ip !== ''),
  };
}

/** Whether an ADD that a killed daemon began, or a DEL that never came, has left this record behind. */
export function isAbandoned(seen: { readonly hasNetns: boolean; readonly hasPod: boolean }): boolean {
  return !seen.hasNetns && !seen.hasPod;
}
