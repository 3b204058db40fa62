/** The rows of a pod's port as a bare program writes them, which knows them from another pod. */
import type { Operation, WriteValue } from 'ovsdb-client';
import { nameOf, type ControllerBed } from '../../system/controller-bed.ts';
import type { ProbedPod } from './probe-bed.ts';

const portColumns = ['name', 'type', 'addresses', 'port_security', 'options', 'external_ids'];

export interface PortRows {
  readonly port: Readonly<Record<string, WriteValue>>;
  /** Texts of the port that are those of the pod. */
  readonly own: readonly string[];
  readonly network: string;
  readonly groups: readonly string[];
}

/** What of a pod stands in its row. */
function ownTexts({ name, namespace, mac }: ProbedPod, addresses: readonly string[]): readonly string[] {
  return [`${name}.${namespace}`, `${namespace}/${name}`, mac, ...addresses];
}

/** Of a pod that is there. */
export function portRowsOf(bed: ControllerBed, pod: ProbedPod, addresses: readonly string[]): PortRows {
  const row = bed.row('Logical_Switch_Port', `${pod.name}.${pod.namespace}`);
  const holders = (table: string): readonly string[] =>
    bed
      .rows(table)
      .flatMap((one) => ((one['ports'] as readonly string[]).includes(row?._uuid ?? '') ? [nameOf(one)] : []));
  return {
    port: Object.fromEntries(portColumns.map((column) => [column, row?.[column] ?? ''])),
    own: ownTexts(pod, addresses),
    network: holders('Logical_Switch')[0] ?? '',
    groups: holders('Port_Group'),
  };
}

/** Resolves when the database has the same rows for another pod. */
export async function insertPort(
  { nb }: ControllerBed,
  { port, own, network, groups }: PortRows,
  pod: ProbedPod,
  addresses: readonly string[],
): Promise<void> {
  const texts = ownTexts(pod, addresses);
  const text = own.reduce((all, one, at) => all.replaceAll(one, texts[at] ?? ''), JSON.stringify(port));
  const into = (table: string, name: string): Operation => ({
    op: 'mutate',
    table,
    where: [['name', '==', name]],
    mutations: [['ports', 'insert', [{ named: 'port' }]]],
  });
  const row = JSON.parse(text) as Readonly<Record<string, WriteValue>>;
  await nb.transact([
    { op: 'insert', table: 'Logical_Switch_Port', uuidName: 'port', row },
    into('Logical_Switch', network),
    ...groups.map((group) => into('Port_Group', group)),
  ]);
}

export async function deletePort(bed: ControllerBed, { network }: PortRows, name: string): Promise<void> {
  const uuid = bed.row('Logical_Switch_Port', name)?._uuid ?? '';
  const where = [['name', '==', network]] as const;
  await bed.nb.transact([{ op: 'mutate', table: 'Logical_Switch', where, mutations: [['ports', 'delete', [uuid]]] }]);
}
