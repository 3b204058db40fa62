/** Parses ovsdb-server's reply to `cluster/status`. Pure: text in, a value out. */
import type { Server } from '../model/copy.ts';

const roles = ['leader', 'follower', 'candidate'] as const;

/** Undefined if the text is not such a reply. */
export function parseClusterStatus(text: string): Server | undefined {
  const line = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]?.trim();
  const id = (value: string | undefined): string | undefined => /\(([0-9a-f-]{36})\)/.exec(value ?? '')?.[1];
  const [sid, address, status] = [id(line('Server ID')), line('Address'), line('Status')];
  const role = roles.find((each) => each === line('Role'));
  if (sid === undefined || address === undefined || role === undefined) return undefined;
  const leader = line('Leader');
  const won = /^(\d+) ms ago/.exec(line('Last Election won') ?? '')?.[1];
  return {
    sid,
    cid: id(line('Cluster ID')),
    address,
    isJoining: status?.startsWith('joining') === true,
    role,
    term: Number(line('Term') ?? 0),
    isConnected: status === 'cluster member' && leader !== undefined && leader !== 'unknown',
    electionTimerMs: Number(line('Election timer') ?? 0),
    leadingMs: role === 'leader' && won !== undefined ? Number(won) : undefined,
    servers: text
      .slice(text.search(/^Servers:$/m))
      .matchAll(/^ +[0-9a-f]{4} \(([0-9a-f]{4}) at ([^)]+)\)(.*)$/gm)
      .map(([, sid = '', address = '', rest = '']) => {
        const heard = /last msg (\d+) ms ago/.exec(rest)?.[1];
        return {
          sid,
          address,
          isSelf: rest.includes('(self)'),
          silentMs: heard === undefined ? undefined : Number(heard),
        };
      })
      .toArray(),
  };
}
