/** Whether a member may be removed from the hub. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { plural } from '../../model/units.ts';
import { presenceOf } from './mesh.ts';
import type { MeshReading } from '../../model/mesh.ts';

type Member = MeshReading['members'][number];

/** By its present name, or by the name of its HubMember where no other member has that name now. */
export function findMember({ members, label }: MeshReading, name: string): Member | Problem {
  const found = members.find((one) => one.name === name) ?? members.find(({ handle }) => handle === name);
  if (found !== undefined) return found;
  const known = members.map((one) => one.name).join(', ');
  return { code: 'UnknownMember', message: `the hub in ${label} has no member ${name}; it has ${known}` };
}

/** A member that is connected is not dead: its own `leave` ends the membership in order. */
export function refuseRemoval(member: Member, { label }: MeshReading, isForced: boolean): Problem | undefined {
  const { name } = member;
  if (isForced || presenceOf(member) !== 'connected') return undefined;
  const own = name === label ? '; it is the cluster of the hub itself' : '';
  return {
    code: 'StillConnected',
    message: `${name} has a session with the hub${own}: end its membership there (isthmus ic leave), or use --force, which cuts it off`,
  };
}

/** What the removal ends, for the question. */
export function lossOf({ name, status }: Member): string {
  const { prefixes, exports, ports = [] } = status;
  const parts = [
    ...(prefixes === undefined ? [] : [plural(prefixes, 'prefix')]),
    ...(exports === undefined ? [] : [plural(exports, 'exported Service')]),
    plural(ports.length, 'transit port'),
  ];
  return `${name} is removed from the hub with ${parts.join(', ')}; its certificate is refused from then on, and it needs a new token to join again`;
}
