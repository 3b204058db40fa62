/**
 * Figures of the agent, read from its state when they are scraped: nothing is counted twice, and no round pays for
 * them.
 */
import { Gauge, Histogram, type Registry } from 'prom-client';
import type { LinkState } from '../model/link-state.ts';
import type { Rejection } from '../model/messages.ts';
import { countRefused } from '../model/refused.ts';
import type { RemoteState, RemoteView } from '../settle/remotes.ts';
import type { Tunnels } from '../state/tunnels.ts';

const prefix = 'isthmus_interconnect';
const seconds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** The source of the figures. */
export interface AgentView {
  readonly link: LinkState;
  readonly remotes: RemoteView;
  readonly tunnels: Tunnels;
  /** Rejections of the hub. */
  readonly rejections: readonly Rejection[];
}

export interface AgentMetrics {
  /** Sets the source of the figures. */
  readonly watch: (look: () => AgentView) => void;
  readonly reaction: (kind: 'tunnel' | 'hub', seconds: number) => void;
}

type Set = (labels: Readonly<Record<string, string>>, value: number) => void;

/** `now`: Unix milliseconds. */
export function agentMetrics(registry: Registry, now: () => number): AgentMetrics {
  let look: (() => AgentView) | undefined;
  const gauge = (
    name: string,
    help: string,
    labelNames: readonly string[],
    fill: (view: AgentView, set: Set) => void,
  ) =>
    new Gauge({
      name: `${prefix}_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        if (look !== undefined) fill(look(), (labels, value) => this.set(labels, value));
      },
    });
  const path = ['cluster', 'transit_switch', 'path'];
  gauge('hub_connected', '1 while the session with the hub is open', [], ({ link }, set) =>
    set({}, link.isConnected ? 1 : 0),
  );
  gauge('remote_clusters', 'Other clusters that the hub knows', [], ({ remotes }, set) => set({}, remotes.size));
  gauge('routes', 'Prefixes that other clusters offer', ['state', 'reason'], fillRoutes);
  gauge('conflicts', 'Names, addresses and prefixes that are claimed more than once', [], (view, set) =>
    set({}, conflictsOf(view)),
  );
  gauge('path_up', '1 while the path carries traffic', path, (view, set) =>
    eachPath(view, (labels, { state }) => set(labels, state === 'Up' ? 1 : 0)),
  );
  gauge('path_rtt_seconds', 'Between the gateways of a path, outside the tunnel', path, (view, set) =>
    eachPath(view, (labels, verdict) => {
      const rtt = probeOf(view, verdict)?.rttMs;
      if (rtt !== undefined) set(labels, rtt.avg / 1000);
    }),
  );
  gauge('path_loss_ratio', 'Probes between the gateways of a path that were not answered', path, (view, set) =>
    eachPath(view, (labels, verdict) => {
      const probe = probeOf(view, verdict);
      if (probe !== undefined) set(labels, probe.lossPercent / 100);
    }),
  );
  gauge('bfd_flaps_total', 'Times the tunnel of a path went up or down, as Open vSwitch counts', path, (view, set) =>
    eachPath(view, (labels, { localGateway, remoteGateway }) => {
      const tunnels = view.tunnels.gateway(localGateway)?.tunnels ?? [];
      const flaps = tunnels.find(({ chassis }) => chassis === remoteGateway)?.flaps;
      if (flaps !== undefined) set(labels, flaps);
    }),
  );
  gauge(
    'peer_lease_age_seconds',
    'Since the hub last heard of the cluster; 0 while it has a session',
    ['cluster'],
    ({ remotes }, set) => {
      for (const [cluster, { member }] of remotes.entries())
        if (!member.foreign)
          set({ cluster }, member.lastSeenMs === 0 ? 0 : Math.max(0, now() - member.lastSeenMs) / 1000);
    },
  );
  gauge(
    'certificate_expiry_seconds',
    'Unix time at which the certificate of this cluster expires',
    [],
    ({ link }, set) => {
      if (link.notAfterMs !== undefined) set({}, link.notAfterMs / 1000);
    },
  );
  return {
    watch: (next) => {
      look = next;
    },
    reaction: reactions(registry),
  };
}

function reactions(registry: Registry): AgentMetrics['reaction'] {
  const make = (name: string, help: string) =>
    new Histogram({ name: `${prefix}_${name}`, help, buckets: seconds, registers: [registry] });
  const histograms = {
    tunnel: make('failover_seconds', 'From a change of a tunnel to the routes in the northbound database'),
    hub: make('route_convergence_seconds', 'From an update of the hub to the northbound database'),
  };
  return (kind, duration) => histograms[kind].observe(duration);
}

function conflictsOf({ remotes, rejections }: AgentView): number {
  return countRefused(rejections) + remotes.conflicts.values().reduce((sum, list) => sum + list.length, 0);
}

function fillRoutes({ remotes }: AgentView, set: Set): void {
  const { active, reasons } = remotes.totals;
  set({ state: 'Active', reason: '' }, active);
  for (const [kind, count] of reasons) {
    const [state = '', reason = ''] = kind.split('/');
    set({ state, reason }, count);
  }
}

type Verdict = RemoteState['verdicts'][number];

function eachPath(
  { remotes }: AgentView,
  visit: (labels: Readonly<Record<string, string>>, verdict: Verdict) => void,
): void {
  for (const [cluster, { verdicts }] of remotes.entries())
    for (const verdict of verdicts)
      visit({ cluster, transit_switch: verdict.network, path: String(verdict.index) }, verdict);
}

function probeOf({ tunnels }: AgentView, { localGateway, remoteGateway }: Verdict) {
  return tunnels.gateway(localGateway)?.probes.find(({ chassis }) => chassis === remoteGateway);
}
