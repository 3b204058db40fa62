import { addressFamilies, type GobgpClient } from 'gobgp-js';
import type { SpeakerPlan } from '../plan/plan.ts';
import { diffSteps, fresh, type Programmed } from './steps.ts';
import { renderPath, renderPeer, renderPolicies } from './render.ts';
import { pathFingerprint } from 'gobgp-js';

/** Reads everything a gobgpd has. @throws GobgpUnreachable | GobgpRejected */
export async function readProgrammed(client: GobgpClient): Promise<Programmed> {
  const global = await client.getBgp();
  if (!global) return fresh;
  const [policies, peers, ...tables] = await Promise.all([
    client.listPolicies(),
    client.listPeers(),
    ...addressFamilies.map((family) => client.listPaths(family)),
  ]);
  const own = tables.flat().filter((path) => path.isLocal);
  return {
    global,
    policies,
    peers: new Map(peers.map(({ config }) => [config.address, config])),
    paths: new Map(own.map((path) => [path.prefix, path.fingerprint])),
  };
}

/** What a gobgpd has once the plan was applied, but for the peers it refused. */
export function programmedByPlan(plan: SpeakerPlan, before: Programmed, refused: ReadonlySet<string>): Programmed {
  const peers = new Map(before.peers);
  for (const address of before.peers.keys()) if (!plan.peers.has(address)) peers.delete(address);
  for (const [address, peer] of plan.peers) {
    const rendered = refused.has(address) ? undefined : renderPeer(plan, peer);
    if (rendered !== undefined) peers.set(address, rendered);
  }
  return {
    global: before.global ?? diffSteps(plan, before)?.startBgp,
    policies: renderPolicies(plan),
    peers,
    paths: new Map(plan.prefixes.map((prefix) => [prefix, pathFingerprint(renderPath(prefix))])),
  };
}
