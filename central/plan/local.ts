/**
 * Decides what the container of a database on this node has to do. In: the plan, the files on disk, the reports of the other nodes. Out: an
 * instruction for images/ovn/run-ovn and, if it waits, the reason. Rules: a copy of the plan's cluster is served without the consent of other nodes;
 * only the founder of a generation creates a database, from the copy that the plan names; a copy is put aside only if the plan has another cluster,
 * or if the leader reports that this server is not in its cluster.
 */
import { raftAddress, type DatabaseName, type Scheme } from '../model/databases.ts';
import { tokenOf, type Copy } from '../model/copy.ts';
import type { Plan } from '../model/plan.ts';
import { leaderOf, lists, type Reports } from '../model/report.ts';

export type Instruction =
  | { readonly verb: 'wait' | 'serve' | 'wipe' }
  | { readonly verb: 'create'; readonly address: string; readonly copy: string; readonly backup?: string }
  | { readonly verb: 'join'; readonly address: string; readonly cid: string; readonly remotes: readonly string[] };

export interface LocalView {
  readonly name: DatabaseName;
  readonly node: string;
  readonly address: string;
  readonly scheme: Scheme;
  readonly plan: Plan | undefined;
  readonly copy: Copy;
  readonly reports: Reports;
}

export interface LocalDecision {
  readonly instruction: Instruction;
  /** What the container waits for. */
  readonly why?: string;
  /** The running server has to be ended, so that a new server opens the same file. */
  readonly isSpent?: true;
  /** The server in the leader's list that used the lost disk of this node. */
  readonly lost?: string;
}

export function planDatabase(view: LocalView): LocalDecision {
  const { plan, name, node } = view;
  if (plan === undefined) return goOnWithoutPlan(view);
  const cid = plan.clusters[name];
  const isMember = plan.members[node] !== undefined;
  if (cid === undefined) return found(view, plan);
  const token = tokenOf(view.copy.file);
  if (token === cid) return goOn(view, cid);
  if (!isMember && token !== 'joining') return wait('this node is a standby');
  if (token === 'none') return join(view, plan, cid);
  if (token === 'joining') return goOnJoining(view, plan, cid);
  if (token === 'standalone' && plan.from[name]?.copy === 'none')
    return wait(
      `this node has a ${name} database of its own, while ${plan.founder} began with an empty one: delete it, or continue with it by setting the annotation isthmus.network/recover: ${node}`,
    );
  return { instruction: { verb: 'wipe' }, why: `its copy is not of generation ${plan.generation}` };
}

/** A member may have lost the plan but none of the rows. */
function goOnWithoutPlan(view: LocalView): LocalDecision {
  const { file } = view.copy;
  const why = 'there is no plan yet: the holder of the Lease writes it';
  const isMember = file.model === 'clustered' && file.cid !== undefined && file.address === ownRaft(view);
  return isMember ? { instruction: { verb: 'serve' }, why } : wait(why);
}

function wait(why: string): LocalDecision {
  return { instruction: { verb: 'wait' }, why };
}

function ownRaft({ scheme, name, address }: LocalView): string {
  return raftAddress(scheme, name, address);
}

/** The cluster has no id yet: its founder creates it. */
function found(view: LocalView, { generation, founder, from, members }: Plan): LocalDecision {
  const { name, node, address, copy } = view;
  if (founder !== node) return wait(`${founder} makes the ${name} database of generation ${generation}`);
  if (members[node] !== address) return wait(`the plan has another address of this node: ${members[node]}`);
  const source = from[name];
  const token = tokenOf(copy.file);
  if (token === source?.copy) {
    const { backup } = source;
    const rows = backup === undefined ? {} : { backup: `${name}-${backup}.db` };
    return { instruction: { verb: 'create', address: ownRaft(view), copy: token, ...rows } };
  }
  // A server that no cluster has accepted has no rows.
  if (token === 'joining') return { instruction: { verb: 'wipe' }, why: 'no cluster accepted its server' };
  if (copy.file.model === 'clustered' && copy.file.address === ownRaft(view)) return serve(copy);
  return wait(`the plan makes the ${name} database from "${source?.copy}", while this node has "${token}"`);
}

function goOn(view: LocalView, cid: string): LocalDecision {
  const { file, server } = view.copy;
  const leader = leaderOf(view.reports, view.name, cid);
  const sid = file.model === 'clustered' ? file.sid : '';
  if (server?.isConnected !== true && leader?.strangers?.includes(sid) === true)
    return { instruction: { verb: 'wipe' }, why: 'its server was taken out of the cluster' };
  const isListed = leader?.servers === undefined || lists(leader.servers, sid);
  if (file.model !== 'clustered' || file.address === ownRaft(view)) return serve(view.copy, isListed);
  // The other members certainly have the rows only once they remove this server: their reports may be older than the loss of all members.
  return wait(`its copy belongs to the address ${file.address}, which the leader has to take out first`);
}

/** A server that was removed from the cluster also closes the database, but must not be started again. */
function serve({ isGivenUp }: Copy, isListed = true): LocalDecision {
  if (isGivenUp !== true || !isListed) return { instruction: { verb: 'serve' } };
  const why = 'its server closed it after a failed write, and is started again: check whether the disk is full';
  return { instruction: { verb: 'serve' }, why, isSpent: true };
}

function join(view: LocalView, { members }: Plan, cid: string): LocalDecision {
  const { name, node, address } = view;
  if (members[node] !== address) return wait(`the plan has another address of this node: ${members[node]}`);
  if (Object.keys(members).length === 1)
    return wait(
      `the only copy of the ${name} database is gone: restore the file, restore a backup, or recover from another node`,
    );
  const servers = leaderOf(view.reports, name, cid)?.servers;
  if (servers === undefined) return wait(`no server leads the cluster of the ${name} database`);
  const former = servers.find((server) => server.address === ownRaft(view));
  if (former !== undefined)
    return { ...wait('its former server, whose disk is lost, has to be taken out first'), lost: former.sid };
  const remotes = servers.filter(({ isSilent }) => isSilent === undefined).map((server) => server.address);
  if (remotes.length === 0) return wait(`no server of the ${name} database answers its leader`);
  return { instruction: { verb: 'join', address: ownRaft(view), cid, remotes }, why: 'it joins' };
}

function goOnJoining(view: LocalView, { members }: Plan, cid: string): LocalDecision {
  const { file } = view.copy;
  const isWanted = members[view.node] === view.address;
  const isOwn = file.model === 'clustered' && file.address === ownRaft(view) && file.joins === cid;
  if (!isWanted || !isOwn) return { instruction: { verb: 'wipe' }, why: 'it joined under another plan' };
  return { instruction: { verb: 'serve' }, why: 'it joins' };
}
