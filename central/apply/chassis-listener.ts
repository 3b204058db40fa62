/**
 * Maintains the row of the southbound database for the port that nodes connect to. The server for chassis reads from it where to listen and that its
 * clients have OVN's role `ovn-controller`, which lets each of them write the rows of its own chassis. In: the database. Out: the row as wanted. The
 * leader calls this periodically.
 */
import { textOf } from '../../lib/ovn/columns.ts';
import { openOvsdb, type Operation, type OvsdbClient, type OvsdbOptions, type Row } from 'ovsdb-client';

export const chassisPort = 16642;
const role = 'ovn-controller';
/** The server probes a node that has been silent for this time; a busy node answers late. */
const probeMs = 30_000;

/** Returns false if the database has no SB_Global row yet; northd creates it. @throws OvsdbError, the signal's reason */
export async function ensureChassisListener(
  access: Pick<OvsdbOptions, 'remotes' | 'tls' | 'signal'>,
  isIpv6: boolean,
): Promise<boolean> {
  const client = await openOvsdb({
    ...access,
    database: 'OVN_Southbound',
    monitor: { SB_Global: ['connections'], Connection: ['target', 'role', 'inactivity_probe'] },
    leaderOnly: false,
  });
  try {
    if (client.cache.table('SB_Global').rows.size === 0) return false;
    const operations = plan(client, `pssl:${chassisPort}:${isIpv6 ? '[::]' : '0.0.0.0'}`);
    if (operations.length > 0) await client.transact(operations);
    return true;
  } finally {
    await client.close();
  }
}

function plan({ cache }: OvsdbClient, target: string): readonly Operation[] {
  const wanted = { target, role, inactivity_probe: probeMs };
  const present = [...cache.table('Connection').rows.values()].filter((row) => portOf(row) === chassisPort);
  const [kept, ...others] = present;
  if (kept === undefined)
    return [
      { op: 'insert', table: 'Connection', row: wanted, uuidName: 'listener' },
      {
        op: 'mutate',
        table: 'SB_Global',
        where: [],
        mutations: [['connections', 'insert', [{ named: 'listener' }]]],
      },
    ];
  const isRight = textOf(kept, 'target') === target && textOf(kept, 'role') === role;
  if (isRight && others.length === 0) return [];
  return [
    { op: 'update', table: 'Connection', where: [['_uuid', '==', kept._uuid]], row: wanted },
    ...others.map(({ _uuid }): Operation => ({
      op: 'mutate',
      table: 'SB_Global',
      where: [],
      mutations: [['connections', 'delete', [_uuid]]],
    })),
  ];
}

function portOf(row: Row): number {
  return Number(/^pssl:(\d+)/.exec(textOf(row, 'target'))?.[1] ?? 0);
}
