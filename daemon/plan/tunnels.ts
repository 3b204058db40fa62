/** Other gateways and the tunnels of the local Open vSwitch → the state of each tunnel in the status of the InterconnectGateway. Pure. */
import type { GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { LocalTunnel } from '../model/interconnect.ts';

export interface TunnelsInput {
  /** Gateways of other clusters, or of this one. */
  readonly peers: readonly Pick<GatewayTunnel, 'chassis' | 'address'>[];
  readonly tunnels: readonly LocalTunnel[];
  /** Whether ovs-vswitchd is known not to run, so that the states in its database are outdated. */
  readonly isSwitchDown: boolean;
  /** Whether the database has not answered for a while, so that `tunnels` have their last known state. */
  readonly isDatabaseAway: boolean;
  /** The last status; a state that continues keeps its time. */
  readonly before: readonly GatewayTunnel[];
  readonly nowIso: string;
}

type Health = Pick<GatewayTunnel, 'state' | 'diagnostic' | 'remoteDiagnostic' | 'flaps'>;

const bfdStates: Readonly<Record<string, GatewayTunnel['state']>> = {
  up: 'up',
  down: 'down',
  init: 'init',
  admin_down: 'admin_down',
};
/** Of several tunnels to one chassis, the best state counts. */
const preference: readonly GatewayTunnel['state'][] = ['up', 'unknown', 'init', 'down', 'admin_down'];

/** One for each peer, sorted by chassis. */
export function planTunnels(input: TunnelsInput): readonly GatewayTunnel[] {
  const { peers, before, nowIso } = input;
  const byChassis = Map.groupBy(input.tunnels, ({ chassis }) => chassis);
  const earlier = new Map(before.map((tunnel) => [tunnel.chassis, tunnel]));
  return peers
    .map(({ chassis, address }) => {
      const found = healthOf(address, byChassis.get(chassis) ?? [], input);
      const last = earlier.get(chassis);
      return { chassis, address, ...found, since: (last?.state === found.state ? last.since : undefined) ?? nowIso };
    })
    .toSorted((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

/** Whether a write is not needed: a flap that is over already is not worth one. */
export function isSameTunnels(a: readonly GatewayTunnel[], b: readonly GatewayTunnel[]): boolean {
  return fingerprint(a) === fingerprint(b);
}

function fingerprint(tunnels: readonly GatewayTunnel[]): string {
  const lines = tunnels.map(({ chassis, address, state, diagnostic, remoteDiagnostic, since }) =>
    JSON.stringify([chassis, address, state, diagnostic, remoteDiagnostic, since]),
  );
  return lines.toSorted().join();
}

function healthOf(address: string, tunnels: readonly LocalTunnel[], input: TunnelsInput): Health {
  if (input.isSwitchDown) return { state: 'down', diagnostic: 'ovs-vswitchd of this node does not answer' };
  const last = lastHealthOf(address, tunnels);
  // The last state is kept: without the database, a tunnel is neither better nor worse than before.
  return input.isDatabaseAway
    ? { ...last, diagnostic: 'the Open_vSwitch database of this node does not answer; this is the last known state' }
    : last;
}

function lastHealthOf(address: string, tunnels: readonly LocalTunnel[]): Health {
  const exact = tunnels.filter((tunnel) => tunnel.address === address);
  const [best] = (exact.length > 0 ? exact : tunnels)
    .map(healthOfTunnel)
    .toSorted((a, b) => preference.indexOf(a.state) - preference.indexOf(b.state));
  return (
    best ?? {
      state: 'down',
      diagnostic:
        'Open vSwitch of this node has no tunnel to it; ovn-controller creates one for each chassis in the southbound database',
    }
  );
}

function healthOfTunnel({ bfd, isBfdWanted, isStale }: LocalTunnel): Health {
  if (isStale) return { state: 'down', diagnostic: 'ovs-vswitchd of this node is starting' };
  const flaps = Number.parseInt(bfd['flap_count'] ?? '', 10);
  const counted = Number.isNaN(flaps) ? {} : { flaps };
  const state = bfdStates[bfd['state'] ?? ''];
  if (state === undefined && isBfdWanted)
    return { state: 'init', diagnostic: 'ovs-vswitchd of this node has not started BFD on it', ...counted };
  // Open vSwitch keeps the reason of the last outage after its end.
  if (state === undefined || state === 'up') return { state: state ?? 'unknown', ...counted };
  const [own, remote] = [wordsOf(bfd['diagnostic']), wordsOf(bfd['remote_diagnostic'])];
  return {
    state,
    ...(own === undefined ? {} : { diagnostic: own }),
    ...(remote === undefined ? {} : { remoteDiagnostic: remote }),
    ...counted,
  };
}

function wordsOf(diagnostic: string | undefined): string | undefined {
  return diagnostic === undefined || diagnostic === '' || diagnostic === 'No Diagnostic' ? undefined : diagnostic;
}
