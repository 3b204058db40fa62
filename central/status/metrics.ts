/** Metrics of this node's databases. */
import { Gauge, type Registry } from 'prom-client';
import type { Member } from '../apply/member.ts';
import { databaseNames } from '../model/databases.ts';

export function openMetrics(registry: Registry, member: Member, nowMs: () => number): void {
  const plain = (name: string, help: string, read: () => number): void => {
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: () => gauge.set(read()) });
  };
  const each = (name: string, help: string, read: (database: 'nb' | 'sb') => number | undefined): void => {
    const gauge: Gauge<'database'> = new Gauge({
      name,
      help,
      labelNames: ['database'],
      registers: [registry],
      collect() {
        gauge.reset();
        for (const database of databaseNames) {
          const value = read(database);
          if (value !== undefined) gauge.set({ database }, value);
        }
      },
    });
  };
  plain('isthmus_central_generation', 'Generation of the plan this node follows', () => member.plan?.generation ?? 0);
  plain('isthmus_central_members', 'Members of the plan', () => Object.keys(member.plan?.members ?? {}).length);
  plain('isthmus_central_member', 'Whether this node is a member', () => Number(member.isMember));
  each('isthmus_central_connected', 'Whether the server is connected to its cluster', (name) =>
    Number(member.copies?.[name].server?.isConnected === true),
  );
  each('isthmus_central_leader', 'Whether the server leads its cluster', (name) =>
    Number(member.copies?.[name].server?.role === 'leader'),
  );
  each(
    'isthmus_central_servers',
    'Servers of its cluster that this one knows',
    (name) => member.copies?.[name].server?.servers.length,
  );
  each('isthmus_central_waiting', 'Whether an operation waits; the ConfigMap and the log name the reason', (name) =>
    Number(member.isMember && member.waits[name] !== undefined),
  );
  each('isthmus_central_backup_age_seconds', 'Age of the newest backup on this node', (name) => {
    const time = member.backups[name].at(-1);
    return time === undefined ? undefined : (nowMs() - timeOf(time)) / 1000;
  });
}

/** Parses a time such as `20260131T000000Z`. */
function timeOf(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}
