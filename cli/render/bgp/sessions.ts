/** Renders sessions as text: one row each, and below it a message for each session that is not established. Pure. */
import type { SessionList, SessionRow } from '../../plan/bgp/sessions.ts';
import type { Paint } from '../paint.ts';
import { type Cell, renderSection, renderTable, toned } from '../table.ts';
import { since } from '../../model/units.ts';

const heads = ['NODE', 'PEER', 'ADDRESS', 'ASN', 'STATE', 'UPTIME', 'FLAPS', 'SENT', 'RECEIVED', 'USED', 'REASON'];

export function renderSessions({ sessions, problems }: SessionList, nowMs: number, paint: Paint): string {
  const rows = sessions.map((session): readonly Cell[] => [
    session.node === '' ? toned('none', 'doubtful') : session.node,
    session.peer,
    session.address,
    session.asn,
    toned(session.state, isUp(session) ? 'good' : 'bad'),
    isUp(session) ? since(session.since, nowMs) : '',
    session.flaps,
    session.sent,
    session.received,
    session.used,
    session.reason,
  ]);
  const notable = sessions.filter((session) => !isUp(session) || session.message !== undefined);
  const lines = [
    ...(rows.length === 0
      ? ['there is no such session, and no BgpPeer that requires one']
      : renderTable(heads, rows, paint)),
    ...renderSection(
      'Sessions',
      notable.map((session) => sentence(session, paint)),
      paint,
    ),
    ...renderSection(
      'Nodes',
      problems.map(({ node, code, message }) => `${node}: ${paint(code, 'bad')}: ${message}`),
      paint,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function isUp({ state }: SessionRow): boolean {
  return state === 'Established';
}

function sentence(session: SessionRow, paint: Paint): string {
  const { node, peer, state, reason, message } = session;
  const who = node === '' ? peer : `${node} with ${peer}`;
  return `${who}: ${paint(reason ?? state, isUp(session) ? 'doubtful' : 'bad')}: ${message ?? `the speaker gives no reason why the session is ${state}`}`;
}
