/**
 * The gates of the kernel: makes namespaces, links and rules agree with the plans, and removes gates that have none. A gate with links other than
 * planned is made anew as a whole: nothing in it is changed by anybody else, and its links change only with the addresses of two Services.
 */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Address } from './rtnetlink-codec.ts';
import { gateFile, gateLinkNames, parseGateFile, type Gate, type GatePlan } from '../model/gate.ts';
import type { PodInterface, SeenPodLink } from '../model/pod-interface.ts';
import { createNetns, hasNetns, openNetns, removeNetns, type Netns } from './netns.ts';
import { NftTable } from './nft.ts';
import { PodLinks } from './pod-links.ts';
import { isRefusal } from './refusal.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import { hasIpv6, setSysctl } from './sysctl.ts';
import type { HostProblem, HostTarget } from './target.ts';

export class KernelGates implements HostTarget<readonly GatePlan[]> {
  readonly #netlink: Rtnetlink;
  readonly #links: PodLinks;
  readonly #folder: string;
  readonly #unplug: (gate: Gate) => Promise<void>;
  #ready: readonly Gate[] = [];

  /**
   * `folder`: that of the namespaces; what is mounted in it must reach the node, so that gates outlive the daemon. `unplug` resolves when Open vSwitch
   * has no port of the gate any more: it would keep a socket to a removed link.
   */
  constructor(netlink: Rtnetlink, folder: string, unplug: (gate: Gate) => Promise<void>) {
    this.#netlink = netlink;
    this.#unplug = unplug;
    this.#links = new PodLinks(netlink);
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Gates of this or an earlier process, complete or not. */
  get existing(): readonly Gate[] {
    return readdirSync(this.#folder).flatMap((name) => parseGateFile(name) ?? []);
  }

  /** Gates of the last application that are complete. */
  get ready(): readonly Gate[] {
    return this.#ready;
  }

  async set(plans: readonly GatePlan[]): Promise<readonly HostProblem[]> {
    const problems: HostProblem[] = [];
    const ready: Gate[] = [];
    const attempt = async ({ vpc }: Gate, work: () => Promise<void>): Promise<boolean> => {
      try {
        await work();
        return true;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const message = `pods of Vpc ${vpc} on this node reach neither DNS nor the API server: ${error.message}; the daemon will retry`;
        problems.push({ code: 'VpcDnsRefused', message });
        return false;
      }
    };
    const wanted = new Set(plans.map(({ gate }) => gateFile(gate)));
    for (const gate of this.existing) if (!wanted.has(gateFile(gate))) await attempt(gate, () => this.#remove(gate));
    for (const plan of plans) if (await attempt(plan.gate, () => this.#keep(plan))) ready.push(plan.gate);
    this.#ready = ready;
    return problems;
  }

  async #keep(plan: GatePlan): Promise<void> {
    if (!(await this.#isAsPlanned(plan))) {
      await this.#remove(plan.gate);
      createNetns(this.#pathOf(plan.gate));
    }
    const netns = openNetns(this.#pathOf(plan.gate));
    try {
      // Before there is a way in.
      await new NftTable('inet', { netns }).set(plan.ruleset);
      netns.run(setRouter);
      await this.#link(plan.nodeLink, netns);
      await this.#setNodeEnd(plan);
      await this.#link(plan.vpcLink, netns);
    } finally {
      netns.close();
    }
  }

  async #isAsPlanned({ gate, vpcLink, nodeLink }: GatePlan): Promise<boolean> {
    if (!hasNetns(this.#pathOf(gate))) return false;
    const netns = openNetns(this.#pathOf(gate));
    try {
      for (const link of [vpcLink, nodeLink]) {
        const host = await this.#links.inspectHost(link.hostName);
        const seen = await this.#links.inspect(link.name, netns);
        if (host?.isUp !== true || seen === undefined || !isLike(link, seen)) return false;
      }
      return true;
    } finally {
      netns.close();
    }
  }

  async #link(link: PodInterface, netns: Netns): Promise<void> {
    if ((await this.#links.inspectHost(link.hostName)) !== undefined) return;
    await this.#links.create(link, netns);
    await this.#links.configure(link, netns);
  }

  /** Addresses that the node's end lacks. */
  async #setNodeEnd({ nodeLink: { hostName }, nodeAddresses }: GatePlan): Promise<void> {
    setSysctl(`net/ipv4/conf/${hostName}/forwarding`, '1');
    if (hasIpv6()) {
      setSysctl(`net/ipv6/conf/${hostName}/disable_ipv6`, '0');
      setSysctl(`net/ipv6/conf/${hostName}/accept_ra`, '0');
      setSysctl(`net/ipv6/conf/${hostName}/forwarding`, '1');
    }
    const { index } = await this.#netlink.link(hostName);
    const present = new Set((await this.#netlink.addresses()).filter((one) => one.index === index).map(textOf));
    for (const text of nodeAddresses.filter((one) => !present.has(one))) {
      const [address = '', prefix] = text.split('/');
      await this.#netlink.addAddress({ index, address, prefix: Number(prefix) });
    }
  }

  async #remove(gate: Gate): Promise<void> {
    // A new gate has no port.
    if (existsSync(this.#pathOf(gate))) await this.#unplug(gate);
    for (const name of Object.values(gateLinkNames(gate))) await this.#links.remove(name);
    removeNetns(this.#pathOf(gate));
  }

  #pathOf(gate: Gate): string {
    return join(this.#folder, gateFile(gate));
  }
}

function textOf({ address, prefix }: Pick<Address, 'address' | 'prefix'>): string {
  return `${address}/${prefix}`;
}

function isLike(wanted: PodInterface, seen: SeenPodLink): boolean {
  const sorted = (texts: Iterable<string>): string => [...texts].sort().join();
  const routes = seen.routes.filter(({ index, gateway }) => index === seen.index && gateway !== undefined);
  return (
    seen.isUp &&
    seen.mtu === wanted.mtu &&
    seen.mac === wanted.mac &&
    sorted(seen.addresses.map(textOf)) === sorted(wanted.addresses) &&
    sorted(routes.map(({ destination, gateway }) => `${destination} ${gateway}`)) ===
      sorted(wanted.routes.map(({ destination, gateway }) => `${destination} ${gateway}`))
  );
}

/** To be called in the namespace. Whatever a VPC sends with an address of the other side as its source is dropped. */
function setRouter(): void {
  for (const place of ['all', 'default']) setSysctl(`net/ipv4/conf/${place}/rp_filter`, '1');
  setSysctl('net/ipv4/conf/all/send_redirects', '0');
  setSysctl('net/ipv4/ip_forward', '1');
  if (hasIpv6()) setSysctl('net/ipv6/conf/all/forwarding', '1');
}
