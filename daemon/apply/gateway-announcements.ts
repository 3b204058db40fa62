/**
 * The announcements of routers' ports that this node holds: OVN itself sends its first one a second after a port has moved. The southbound database is read only on a node that
 * may hold such a port: one with a bridge to a network outside that watches other nodes.
 */
import type { OvsdbClient } from 'ovsdb-client';
import type { Logger } from '../../lib/run/logger.ts';
import { realTimers } from '../../lib/rounds/timers.ts';
import type { GatewayPort } from '../model/gateway-port.ts';
import { announcementFrame } from '../host/solicitation.ts';
import { FrameSender } from '../ovs/frame-sender.ts';
import { systemId } from '../ovs/local.ts';
import { hasWatchedTunnels, liveTunnels, localnetPorts } from '../ovs/localnet-ports.ts';
import { Announcements, type ReachablePort } from '../settle/announcements.ts';
import { WatchedTunnels } from '../settle/watched-tunnels.ts';

interface PortsSource {
  /** Undefined while the database does not answer. */
  ports(chassis: string | undefined): readonly GatewayPort[] | undefined;
  close(): Promise<void>;
}

export interface GatewayAnnouncementsOptions {
  readonly ovs: OvsdbClient;
  /** OpenFlow socket of the integration bridge. */
  readonly bridgeSocket: string;
  /** Opens the southbound database; called once, and never on a node without need. */
  readonly openPorts: (onChange: () => void) => PortsSource;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

export class GatewayAnnouncements {
  /** Announcements that were sent, by protocol. */
  readonly sent = { arp: 0, nd: 0 };
  readonly #options: GatewayAnnouncementsOptions;
  readonly #announcements: Announcements;
  readonly #tunnels = new WatchedTunnels();
  readonly #unsubscribe: () => void;
  #parts: { readonly ports: PortsSource; readonly sender: FrameSender } | undefined;

  constructor(options: GatewayAnnouncementsOptions) {
    const { ovs, log } = options;
    this.#options = options;
    this.#announcements = new Announcements({
      timers: realTimers,
      ports: () => this.#reachable(),
      isStarting: () => this.#tunnels.isStarting(realTimers.nowMs()),
      send: ({ outPort, mac, vlan }, addresses) => {
        const frames = addresses.map((one) => announcementFrame({ mac, vlan, ...one }));
        this.#parts?.sender.send(outPort, frames);
        for (const { address } of addresses) this.sent[address.includes(':') ? 'nd' : 'arp'] += 1;
      },
      onMoved: ({ name, addresses }) =>
        log.info({ port: name, addresses: addresses.length }, 'this node has the gateway port now: announced'),
    });
    this.#unsubscribe = ovs.subscribe(() => this.#look());
    this.#look();
  }

  /** Gateway ports that this node has; undefined while that is not known. */
  get held(): number | undefined {
    return this.#parts?.ports.ports(systemId(this.#options.ovs))?.filter(({ isHere }) => isHere).length;
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    this.#announcements.close();
    this.#parts?.sender.close();
    await this.#parts?.ports.close();
  }

  #look(): void {
    const { ovs } = this.#options;
    this.#tunnels.set(liveTunnels(ovs), realTimers.nowMs());
    if (this.#parts === undefined && hasWatchedTunnels(ovs) && localnetPorts(ovs).size > 0) this.#open();
    this.#announcements.look();
  }

  #open(): void {
    const { bridgeSocket: path, openPorts, log } = this.#options;
    const look = (): void => this.#announcements.look();
    this.#parts = {
      ports: openPorts(look),
      sender: new FrameSender({ path, log, onUp: look }),
    };
  }

  #reachable(): readonly ReachablePort[] | undefined {
    const { ovs } = this.#options;
    if (this.#parts?.sender.isUp !== true || ovs.state !== 'synced') return undefined;
    const bridgePorts = localnetPorts(ovs);
    return this.#parts.ports.ports(systemId(ovs))?.flatMap((port) => {
      const outPort = bridgePorts.get(port.localnet ?? '');
      return port.isHere && outPort !== undefined ? [{ ...port, outPort }] : [];
    });
  }
}
