/**
 * Copies packets of pods to an interface of the node, for tcpdump and the like. The mirror and its output exist on every node that has not
 * turned them off; mirrored pods add their ports to it. Pure.
 */
import { integrationBridge, vendor } from '../../lib/api/names.ts';
import { ref, type Contribution, type Desired } from '../../lib/desired/row.ts';
import { portRows } from './port-rows.ts';

export interface MirrorSettings {
  /** Name of the output interface; empty for no mirror on this node. */
  readonly mirrorInterface: string;
  /** Whether all packets of the bridge are copied, whatever pods ask for. */
  readonly isMirroringAll: boolean;
}

const mirrorName = 'm0';
const selections = ['select_src_port', 'select_dst_port'] as const;

export function planMirror({ mirrorInterface, isMirroringAll }: MirrorSettings): Desired | undefined {
  if (mirrorInterface === '') return undefined;
  return {
    rows: [
      ...portRows(mirrorInterface, { type: 'internal' }, {}),
      {
        table: 'Mirror',
        key: mirrorName,
        parent: { table: 'Bridge', key: integrationBridge, column: 'mirrors' },
        columns: {
          name: mirrorName,
          output_port: ref('Port', mirrorInterface),
          select_all: isMirroringAll,
          external_ids: { vendor },
        },
        collects: selections,
      },
    ],
  };
}

/** Selects both directions of one port. */
export function mirrorSelection(port: string): readonly Contribution[] {
  return selections.map((column) => ({ table: 'Mirror', key: mirrorName, column, values: [ref('Port', port)] }));
}
