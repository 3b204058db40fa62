/**
 * The port that nodes connect to, as a row of the southbound database: the server for chassis reads there where it is to listen and that its clients have
 * OVN's role `ovn-controller`, by which each writes the rows of its own chassis. In: the database. Out: the row, as it should be. Called now and then by
 * the one that leads.
 */
import { textOf } from '../../lib/ovn/columns.ts';
import { openOvsdb, type Operation, type OvsdbClient, type OvsdbOptions, type Row } from 'ovsdb-client';

export const chassisPort = 16642;
const role = 'ovn-controller';
/** A node that says nothing for so long is asked; a busy one answers late. */
const probeMs = 30_000;

/** False where the database has no SB_Global yet, which northd makes. @throws OvsdbError, the signal's reason */
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
