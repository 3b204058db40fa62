/**
 * Witnesses keep the last gateway of a cluster from taking itself for cut off. In: one other cluster's gateways and the
 * networks that it shares with this one. Out: a port for each gateway and network (NB), and the chassis of each (SB).
 * Pure.
 *
 * ovn-controller lets the only chassis left of a group hold its port where BFD is up to one of the group's
 * `ref_chassis`. northd fills these with the chassis that ports of the router's switches are bound to. In a cluster of
 * two nodes, or in a VPC with pods on few, these are only the dead gateway and the one that is left. A port that is
 * bound to a gateway of another cluster adds that gateway, and BFD to it runs anyway. No packet enters or leaves such a
 * port: it has no address, and a disabled port is not flooded to.
 */
import { ref, type Contribution, type DesiredRow } from '../../lib/desired/row.ts';
import type { Gateway, Port } from '../model/messages.ts';
import type { OwnNetwork } from '../model/networks.ts';
import { bfdGroup } from './transit.ts';

export interface Witnesses {
  readonly rows: readonly DesiredRow[];
  readonly bindings: readonly Contribution[];
}

/** On the first path of each network: ref_chassis are those of the router, whichever of its ports the group is of. */
export function planWitnesses(
  networks: Iterable<OwnNetwork>,
  ports: readonly Port[],
  gateways: readonly Gateway[],
): Witnesses {
  const shared = new Set(ports.map((port) => port.switch));
  const switches = [...networks].flatMap(({ paths }) => paths.find((path) => shared.has(path.switch))?.switch ?? []);
  const places = switches.flatMap((name) => gateways.map(({ chassis }) => ({ name, chassis })));
  return {
    rows: places.map(({ name, chassis }) => ({
      table: 'Logical_Switch_Port',
      key: witnessPort(name, chassis),
      columns: { type: 'remote', enabled: false },
      parent: { table: 'Logical_Switch', key: name, column: 'ports' },
    })),
    bindings: places.map(({ name, chassis }) => ({
      table: 'Port_Binding',
      key: witnessPort(name, chassis),
      column: 'chassis',
      value: ref('Chassis', chassis),
    })),
  };
}

function witnessPort(logicalSwitch: string, chassis: string): string {
  return `${bfdGroup}:${logicalSwitch}:${chassis}`;
}
