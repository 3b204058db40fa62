import { type GobgpClient, pathFingerprint, unicastFamilies } from 'gobgp-js';
import { fresh, type Programmed, type Steps } from './steps.ts';

/** Reads the whole state of a gobgpd process. @throws GobgpUnreachable | GobgpRejected */
export async function readProgrammed(client: GobgpClient): Promise<Programmed> {
  const global = await client.getBgp();
  if (!global) return fresh();
  const [policies, peers, ...tables] = await Promise.all([
    client.listPolicies(),
    client.listPeers(),
    ...unicastFamilies.map((family) => client.listPaths(family)),
  ]);
  const own = tables.flat().filter((path) => path.isLocal);
  return {
    global,
    policies,
    peers: new Map(peers.map(({ config }) => [config.address, config])),
    paths: new Map(own.map((path) => [path.prefix, path.fingerprint])),
  };
}

/** The state of gobgpd after the steps, without the refused peers; the map of paths is updated in place. */
export function programmedBySteps(steps: Steps, before: Programmed, refused: ReadonlySet<string>): Programmed {
  const peers = new Map(before.peers);
  for (const address of steps.deletePeers) peers.delete(address);
  for (const peer of [...steps.updatePeers, ...steps.addPeers]) {
    if (refused.has(peer.address)) peers.delete(peer.address);
    else peers.set(peer.address, peer);
  }
  const { paths } = before;
  for (const prefix of steps.withdraw) paths.delete(prefix);
  for (const path of steps.addPaths) paths.set(path.prefix, pathFingerprint(path));
  return {
    global: before.global ?? steps.startBgp,
    policies: steps.prunePolicies ?? steps.setPolicies ?? before.policies,
    peers,
    paths,
  };
}
