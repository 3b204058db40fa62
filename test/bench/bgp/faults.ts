/** Twelve faults of a BGP session of the node, each with the reason to be reported. */
import { bgpPeers, secrets } from '../../../lib/kube/resources.ts';
import type { FrrPeer } from '../../system/bgp/frr.ts';
import { openRefused, segmentRefused, sessionEnded, type Sign, type Site } from './signs.ts';
import { passwordSecret } from './speaker-process.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

export interface Fault {
  readonly what: string;
  readonly reason: string;
  /** A router of the node's own AS. */
  readonly isInternal?: boolean;
  /** Fields of the BgpPeer's spec besides the common ones. */
  readonly spec?: object;
  /** The session recovers by itself, and the reason is cleared. */
  readonly isShort?: boolean;
  /** Prepares the other side before the session starts. */
  readonly prepare?: (site: Site) => Promise<void>;
  readonly cause: (site: Site) => Promise<void>;
  /** Sign of a fault that shows when a timer ends the session. */
  readonly end?: Sign;
  /** Sign of a fault that shows when a connection attempt is refused. */
  readonly refusal?: Sign;
  /** Restores the router. */
  readonly undo?: (site: Site) => Promise<void>;
}

const lines =
  (...each: readonly string[]) =>
  ({ router }: Site): Promise<void> =>
    router.configureSessions(...each);

const change =
  (spec: object) =>
  async ({ bed, name }: Site): Promise<void> => {
    await bed.kube.patch(bgpPeers, { name }, 'merge', { spec });
  };

const network =
  (...each: readonly string[]) =>
  ({ router }: Site): Promise<void> =>
    router.configure(`router bgp ${router.asn}`, 'address-family ipv4 unicast', ...each);

const routerId = (router: FrrPeer, id: string): Promise<void> =>
  router.configure(`router bgp ${router.asn}`, `bgp router-id ${id}`);

async function freeze(site: Site): Promise<void> {
  for (const daemon of daemonsOf(site)) daemon.freeze();
}

async function untilBfdUp({ router }: Site): Promise<void> {
  await eventually(`BFD with ${router.name}`, async () => {
    const state = await router.bfd(router.link.nodeV4);
    return state === 'up' || notYet(state ?? 'no session');
  });
}

async function thaw(site: Site): Promise<void> {
  for (const daemon of daemonsOf(site)) daemon.resume();
}

const daemonsOf = ({ router }: Site) => [router.daemon, ...(router.setup.hasBfd ? [router.bfdd] : [])];

const passwordSecretRef = { name: passwordSecret.name, key: 'router' };
const [password, otherPassword] = ['right-5f0c', 'wrong-77aa'];

async function setPassword({ bed }: Site): Promise<void> {
  await bed.kube.delete(secrets, passwordSecret);
  const stringData = { [passwordSecretRef.key]: password };
  await bed.kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: passwordSecret, stringData });
}

/** An unused address on the first router's link. */
const nobody = '172.31.1.77';

/** Faults of passwords come last: for minutes the refusals that the kernel counts may belong to any session that is down. */
export const faults: readonly Fault[] = [
  { what: 'the BgpPeer has an address that nobody has', reason: 'NotConnected', cause: change({ address: nobody }) },
  {
    what: 'the router has another AS than the BgpPeer',
    reason: 'BadPeerAs',
    cause: change({ asn: 65_999 }),
    refusal: openRefused(2),
  },
  {
    what: 'the router expects another AS of the node',
    reason: 'OpenRefusedByNeighbor',
    cause: lines('remote-as 65050'),
    refusal: openRefused(2),
    undo: lines('remote-as external'),
  },
  {
    what: "the router has the node's router ID",
    reason: 'BadBgpIdentifier',
    isInternal: true,
    cause: ({ bed, router }) => routerId(router, bed.lab.routerId),
    refusal: openRefused(3),
    undo: ({ router }) => routerId(router, router.link.v4),
  },
  {
    what: 'the router is silent for the hold time',
    reason: 'HoldTimerExpired',
    spec: { holdTimeSeconds: 3, keepaliveSeconds: 1 },
    cause: freeze,
    end: sessionEnded,
    undo: thaw,
  },
  {
    what: 'BFD loses the router',
    reason: 'BfdDown',
    spec: { bfd: {} },
    cause: async (site) => {
      await untilBfdUp(site);
      await freeze(site);
    },
    end: sessionEnded,
    undo: thaw,
  },
  {
    what: 'the router sends too many prefixes',
    reason: 'PrefixLimit',
    spec: { maximumPrefixes: { limit: 1 } },
    cause: network('network 192.0.2.0/24', 'network 198.51.100.0/24'),
    undo: network('no network 192.0.2.0/24', 'no network 198.51.100.0/24'),
  },
  {
    what: 'the router resets the session',
    reason: 'CeaseAdministrativeReset',
    isShort: true,
    cause: ({ router }) => router.reset(),
  },
  {
    what: 'the router shuts the session down',
    reason: 'CeaseAdministrativeShutdown',
    cause: lines('shutdown'),
    undo: lines('no shutdown'),
  },
  {
    what: "the router's bgpd is killed",
    reason: 'ConnectionLost',
    cause: ({ router }) => router.daemon.kill(),
    undo: ({ router }) => router.start(),
  },
  {
    what: 'the router has a password and the BgpPeer none',
    reason: 'AuthenticationFailed',
    cause: lines(`password ${password}`),
    refusal: segmentRefused('TCPMD5Unexpected'),
    undo: lines('no password'),
  },
  {
    what: 'another password than the router',
    reason: 'AuthenticationFailed',
    spec: { passwordSecretRef },
    prepare: async (site) => {
      await setPassword(site);
      await lines(`password ${password}`)(site);
    },
    cause: lines(`password ${otherPassword}`),
    refusal: segmentRefused('TCPMD5Failure', 'TCPMD5NotFound'),
    undo: lines('no password'),
  },
];
