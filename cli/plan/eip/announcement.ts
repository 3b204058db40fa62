/** Where an OvnEip is announced by BGP. In: what was read of BGP. Out: sessions, or the first reason of the first session that lacks it. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { BgpReading } from '../../model/bgp.ts';
import { findTarget } from '../bgp/question.ts';
import { explain } from '../bgp/why.ts';

export interface Announcement {
  /** `node → peer` */
  readonly sessions: readonly string[];
  /** Why there is no session with it. */
  readonly reason: Problem | undefined;
}

/** Undefined where no BgpPeer exists. */
export function announcementOf(bgp: BgpReading | Problem, name: string): Announcement | Problem | undefined {
  if ('code' in bgp) return bgp;
  const target = bgp.state.peers.size === 0 ? undefined : findTarget(bgp.state, `eip/${name}`);
  if (target === undefined) return undefined;
  const { answers } = explain(bgp, target, { node: undefined, peer: undefined });
  const announced = answers.flatMap(({ node, peer, state }) => (state === 'NotAnnounced' ? [] : [`${node} → ${peer}`]));
  const sessions = [...new Set(announced)].sort();
  return { sessions, reason: sessions.length > 0 ? undefined : answers.flatMap(({ obstacles }) => obstacles)[0] };
}
