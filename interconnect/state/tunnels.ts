/** Reports of daemons about the tunnels to other gateways, and which clusters a change concerns. */
import type { GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { Member } from '../model/messages.ts';
import type { GatewayObject } from '../model/objects.ts';
import type { TunnelReport, CutReport } from '../model/tunnels.ts';

export class Tunnels {
  /** By chassis of this cluster: the node's gateway object. */
  readonly #gateways = new Map<string, { readonly node: string; readonly object: GatewayObject }>();
  readonly #states = new Map<string, ReadonlyMap<string, string>>();
  /** Chassis of other clusters → cluster. */
  readonly #clusters = new Map<string, string>();
  readonly #chassis = new Map<string, readonly string[]>();

  /** Stores a gateway object; returns the clusters whose path states may have changed. */
  set(node: string, before: GatewayObject | undefined, after: GatewayObject | undefined): ReadonlySet<string> {
    const old = before?.status.chassis;
    const chassis = after?.status.chassis;
    if (old !== undefined && old !== chassis && this.#gateways.get(old)?.node === node) {
      this.#gateways.delete(old);
      this.#states.delete(old);
    }
    const states = new Map((after?.tunnels ?? []).map((tunnel) => [tunnel.chassis, tunnel.state]));
    const known = new Map((before?.tunnels ?? []).map((tunnel) => [tunnel.chassis, tunnel.state as string]));
    if (chassis !== undefined && after !== undefined) {
      this.#gateways.set(chassis, { node, object: after });
      this.#states.set(chassis, states);
    }
    const isSame = (other: string): boolean => old === chassis && known.get(other) === states.get(other);
    const changed = [...new Set([...known.keys(), ...states.keys()])].filter((other) => !isSame(other));
    return new Set(changed.flatMap((other) => this.#clusters.get(other) ?? []));
  }

  /** Clusters with gateways of which there are new measurements. */
  measured(before: GatewayObject | undefined, after: GatewayObject | undefined): ReadonlySet<string> {
    const known = new Map((before?.probes ?? []).map((probe) => [probe.chassis, JSON.stringify(probe)]));
    const flaps = new Map((before?.tunnels ?? []).map((tunnel) => [tunnel.chassis, tunnel.flaps]));
    const probed = (after?.probes ?? []).filter((probe) => known.get(probe.chassis) !== JSON.stringify(probe));
    const flapped = (after?.tunnels ?? []).filter((tunnel) => flaps.get(tunnel.chassis) !== tunnel.flaps);
    return new Set([...probed, ...flapped].flatMap(({ chassis }) => this.#clusters.get(chassis) ?? []));
  }

  /** Sets the chassis of another cluster. */
  learn(name: string, member: Member | undefined): void {
    for (const chassis of this.#chassis.get(name) ?? [])
      if (this.#clusters.get(chassis) === name) this.#clusters.delete(chassis);
    const now = (member?.gateways ?? []).map(({ chassis }) => chassis);
    for (const chassis of now) this.#clusters.set(chassis, name);
    if (now.length === 0) this.#chassis.delete(name);
    else this.#chassis.set(name, now);
  }

  /** BFD state of a tunnel; undefined if nothing is reported. */
  state(own: string, other: string): string | undefined {
    return this.#states.get(own)?.get(other);
  }

  gateway(chassis: string): GatewayObject | undefined {
    return this.#gateways.get(chassis)?.object;
  }

  /** The report of the daemon of a gateway of this cluster; an empty one while there is none. */
  report(chassis: string): CutReport {
    const { tunnels = [], siblingTunnels = [], checkedAt } = this.gateway(chassis) ?? {};
    return {
      chassis,
      tunnels: tunnels.map(reportOf),
      siblings: siblingTunnels.map(reportOf),
      checkedAt,
    };
  }

  /**
   * Unix milliseconds since when some tunnel of this chassis has been up; undefined while none is. The reports of the
   * other gateways count, too: a daemon that died with its node never reported its tunnels down, and reports none that
   * comes up.
   */
  upSinceMs(chassis: string): number | undefined {
    const toIt = this.#gateways.values().flatMap(({ object }) => object.siblingTunnels);
    const all = [...(this.gateway(chassis)?.tunnels ?? []), ...toIt.filter((tunnel) => tunnel.chassis === chassis)];
    const up = all.filter(({ state }) => state === 'up');
    const times = up.map(({ since }) => (since === undefined ? Number.NaN : Date.parse(since)));
    const known = times.filter((time) => !Number.isNaN(time));
    return known.length === 0 ? undefined : Math.max(...known);
  }
}

function reportOf({ chassis, state, since }: GatewayTunnel): TunnelReport {
  return { chassis, state, sinceMs: since === undefined ? Number.NaN : Date.parse(since) };
}
