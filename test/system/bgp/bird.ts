import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { Daemon } from './namespace.ts';
import { type Family, type Link, type NeighborCounters, Peer, type PeerSetup, type SeenPath } from './peer.ts';

/** BIRD 2 with a BGP protocol for each of the node's addresses. */
export class BirdPeer extends Peer {
  #daemon: Daemon | undefined;
  #session: readonly string[] | undefined;

  override get daemon(): Daemon {
    if (!this.#daemon) throw new Error(`${this.name} was not started`);
    return this.#daemon;
  }

  override async start(): Promise<void> {
    this.#write();
    const files = ['-c', join(this.dir, 'bird.conf'), '-s', this.#socket, '-P', join(this.dir, 'bird.pid')];
    this.#daemon = await this.namespace.start(['bird', '-f', ...files], join(this.dir, 'bird.log'));
    await eventuallyPasses(() => this.command('show status'), undefined, 10);
  }

  /** The answer to a birdc command, without the reply codes. */
  async command(line: string): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect(this.#socket);
    const timer = setTimeout(() => reject(new Error(`no answer to '${line}'`)), 60_000);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      // BIRD sends a greeting, then the answer; the last line of each has a space after its code.
      if ((text.match(/^\d{4} .*\n/gm)?.length ?? 0) > 1) socket.end();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
    socket.write(`${line}\n`);
    try {
      const answer = await promise;
      const failed = /^[89]\d{3} (.*)$/m.exec(answer);
      if (failed) throw new Error(`bird answered ${failed[1]} to '${line}'`);
      return answer.replace(/^(\d{4}[- ]| )/gm, '');
    } finally {
      clearTimeout(timer);
      socket.destroy();
    }
  }

  /** Replaces the setup's lines of each session. */
  async configureSessions(...lines: readonly string[]): Promise<void> {
    this.#session = lines;
    this.#write();
    await this.command('configure');
  }

  override async routes(family: Family = 4): Promise<Record<string, string[]>> {
    const paths = parseRoutes(await this.command(`show route protocol node_v${family} all`));
    return Object.fromEntries([...paths].map(([prefix, { nextHop }]) => [prefix, [nextHop]]));
  }

  override async path(prefix: string): Promise<SeenPath | undefined> {
    const family = prefix.includes(':') ? 6 : 4;
    const text = await this.command(`show route ${prefix} protocol node_v${family} all`).catch(() => '');
    return parseRoutes(text).get(prefix);
  }

  override async neighbor(address: string): Promise<NeighborCounters> {
    const name = address.includes(':') ? 'node_v6' : 'node_v4';
    const text = await this.command(`show protocols all ${name}`);
    const updates = /Import updates:\s+(\d+)/.exec(text)?.[1];
    const state = /BGP state:\s+(\w+)/.exec(text)?.[1] ?? '';
    const since = /^node_v\d\s+\S+\s+\S+\s+\S+\s+(\S+ \S+)/m.exec(text)?.[1] ?? '';
    return {
      state,
      asn: Number(/Neighbor AS:\s+(\d+)/.exec(text)?.[1] ?? 0),
      updates: Number(updates ?? 0),
      // BIRD does not count sessions; their start times distinguish them.
      established: state === 'Established' ? Date.parse(since) : 0,
      isSettled: /State:\s+UP/.test(text),
    };
  }

  override async reset(): Promise<void> {
    await Promise.all([this.command('restart node_v4'), this.command('restart node_v6')]);
  }

  get #socket(): string {
    return join(this.dir, 'bird.ctl');
  }

  #write(): void {
    writeFileSync(join(this.dir, 'bird.conf'), renderBird(this.setup, this.link, this.#session));
  }
}

function renderBird(setup: PeerSetup, link: Link, session = setup.session ?? []): string {
  const { asn, nodeAsn, holdSeconds = 9, announces = [], routerId, isLongLived } = setup;
  const family = (number: Family): string => {
    const [own, node] = number === 4 ? [link.v4, link.nodeV4] : [link.v6, link.nodeV6];
    const networks = announces.filter((each) => each.includes(':') === (number === 6));
    return `
protocol kernel { ipv${number} { export where source = RTS_BGP; import none; }; }
protocol static { ipv${number}; ${networks.map((each) => `route ${each} blackhole;`).join(' ')} }
protocol bgp node_v${number} {
  local ${own} as ${asn};
  neighbor ${node} ${nodeAsn === undefined ? 'external' : `as ${nodeAsn}`};
  hold time ${holdSeconds};
  keepalive time ${Math.max(1, Math.floor(holdSeconds / 3))};
  connect delay time 1;
  connect retry time 1;
  error wait time 1, 1;
  ipv${number} { import all; export where source = RTS_STATIC; };
  ${isLongLived ? 'graceful restart on; long lived graceful restart on; long lived stale time 60;' : ''}
  ${session.join('\n  ')}
}`;
  };
  const id = `router id ${routerId ?? link.v4};`;
  return [id, 'timeformat protocol iso long ms;', 'protocol device {}', family(4), family(6), ''].join('\n');
}

/** Parses the output of `show route all`: a line that begins with the prefix, then indented attributes. */
function parseRoutes(text: string): Map<string, SeenPath> {
  const paths = new Map<string, SeenPath>();
  for (const block of text.split(/^(?=[0-9a-f:.]+\/\d+\s)/m)) {
    const prefix = /^([0-9a-f:.]+\/\d+)\s/.exec(block)?.[1];
    if (prefix === undefined) continue;
    const value = (name: string) => new RegExp(`BGP\\.${name}: (.*)`).exec(block)?.[1] ?? '';
    const [med, localPref] = [value('med'), value('local_pref')];
    paths.set(prefix, {
      nextHop: value('next_hop').split(' ')[0] ?? '',
      asPath: value('as_path').split(/\D+/).filter(Boolean).map(Number),
      ...(med && { med: Number(med) }),
      ...(localPref && { localPref: Number(localPref) }),
      communities: [...value('community').matchAll(/\((\d+),\s*(\d+)\)/g)].map(([, high, low]) =>
        communityName(Number(high), Number(low)),
      ),
      largeCommunities: [...value('large_community').matchAll(/\((\d+),\s*(\d+),\s*(\d+)\)/g)].map((each) =>
        each.slice(1).join(':'),
      ),
    });
  }
  return paths;
}

const wellKnown: Readonly<Record<string, string>> = {
  '65535:0': 'graceful-shutdown',
  '65535:6': 'llgr-stale',
  '65535:65281': 'no-export',
  '65535:65282': 'no-advertise',
};

export function communityName(high: number, low: number): string {
  return wellKnown[`${high}:${low}`] ?? `${high}:${low}`;
}
