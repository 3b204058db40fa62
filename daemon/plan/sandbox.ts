/**
 * A sandbox ↔ its rows in the local OVS database. The external_ids are all that outlives the daemon: what
 * `planSandbox` writes, `parseSandbox` must read back the same, or a restart would touch living ports. Pure.
 */
import { podPortName } from '../../lib/api/names.ts';
import type { Desired } from '../../lib/desired/row.ts';
import type { Sandbox } from '../state/facts.ts';
import { portRows } from './local-ovs.ts';

/** Owner of a sandbox's rows, without the room. */
export function sandboxOwner({ containerId, ifname }: Pick<Sandbox, 'containerId' | 'ifname'>): string {
  return `cni/${containerId}/${ifname}`;
}

export function planSandbox(sandbox: Sandbox): Desired {
  const ids = {
    'iface-id': podPortName(sandbox.podNamespace, sandbox.podName),
    'iface-id-ver': sandbox.podUid,
    attached_mac: sandbox.mac,
    ip_addresses: sandbox.ips.join(','),
    pod_name: sandbox.podName,
    pod_namespace: sandbox.podNamespace,
    pod_netns: sandbox.netns,
    sandbox: sandbox.containerId,
    ifname: sandbox.ifname,
  };
  return { rows: portRows(sandbox.hostInterface, {}, ids) };
}

/** undefined for an interface that is no pod's. */
export function parseSandbox(name: string, externalIds: Readonly<Record<string, unknown>>): Sandbox | undefined {
  const id = (key: string): string => {
    const value = externalIds[key];
    return typeof value === 'string' ? value : '';
  };
  if (id('sandbox') === '' || id('ifname') === '') return undefined;
  return {
    containerId: id('sandbox'),
    ifname: id('ifname'),
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

/** What an ADD that the old daemon began, or a DEL that never came, may have left behind. */
export function isAbandoned(seen: { readonly hasNetns: boolean; readonly hasPod: boolean }): boolean {
  return !seen.hasNetns && !seen.hasPod;
}
