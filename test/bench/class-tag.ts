/** The large community of a class of routes in gobgpd's policies: peers receive only paths that carry one. */
import type { GobgpClient } from 'gobgp-js';

export async function classTag(gobgp: Pick<GobgpClient, 'listPolicies'>): Promise<string> {
  const { largeCommunitySets } = await gobgp.listPolicies();
  const [tag] = Object.values(largeCommunitySets)[0] ?? [];
  if (tag === undefined) throw new Error('gobgpd has no class of routes');
  return tag;
}
