/**
 * ADD, CHECK, DEL and GC: the order of their steps, and how a failed step is undone. In: parsed requests. Out: attachments, or CniErrors.
 * ADD waits for the pod's addresses (`pod-address.ts`), plans the veth pair and the record of the sandbox (`plan/pod-interface.ts`), makes
 * the pair (`host/pod-links.ts`), and has its port added to the switch (`apply/sandbox-ports.ts`).
 *
 * Requests for one container run one after the other, and so do the steps of all sandboxes of one logical port. A failed or abandoned
 * ADD leaves nothing behind. If the daemon was killed during an ADD, then DEL, GC or the next start removes the rest. DEL only removes
 * interfaces of its own container; GC does not touch what an ADD is making.
 */
import type { Reflector } from '../../lib/kube/types.ts';
import { hasNetns, type Netns } from '../host/netns.ts';
import type { PodLinks } from '../host/pod-links.ts';
import type { SandboxPorts } from '../apply/sandbox-ports.ts';
import { isGarbage } from '../plan/garbage.ts';
import { hostInterfaceNames, type PodInterface } from '../model/pod-interface.ts';
import { planPodInterface } from '../plan/pod-interface.ts';
import type { PortOptions } from '../plan/sandbox.ts';
import type { Pod } from '../model/pod.ts';
import type { Sandbox } from '../model/sandbox.ts';
import type { Subnet } from '../model/subnet.ts';
import type { PendingPorts } from '../ovs/pending-ports.ts';
import { attachmentKey, type Sandboxes } from '../state/sandboxes.ts';
import { PendingAdds } from './pending-adds.ts';
import { checkAttachment } from './check.ts';
import { CniError, errorCode } from './error.ts';
import { explainFailure, explainTimeout, isTimeout, openSandboxNetns, refuseOwnNetns } from './failure.ts';
import { removeAll } from './garbage.ts';
import { KeyedLock } from './keyed-lock.ts';
import { addressedNow, untilAddressed, type AddressedPod } from './pod-address.ts';
import type { AddRequest, CheckRequest, DelRequest, GcRequest } from './request.ts';
import type { Attachment } from './result.ts';
import type { UnderlayPods } from './underlay.ts';
import { familyOf } from '../../lib/net/ip.ts';

export interface AttachmentsOptions {
  readonly pods: Pick<Reflector<Pod>, 'get' | 'subscribe'>;
  readonly subnetOf: (name: string) => Subnet | undefined;
  readonly links: PodLinks;
  readonly ports: SandboxPorts;
  readonly sandboxes: Sandboxes;
  /** Resolves when the port has the flows that guard it. @throws the signal's reason */
  readonly untilGuarded: (sandbox: Sandbox, signal: AbortSignal) => Promise<void>;
  /** The options that the pod's annotations ask for now; later changes go to `ports` directly. */
  readonly optionsOf: (sandbox: Sandbox) => PortOptions;
  readonly underlay: UnderlayPods;
  /** Counts the ADDs whose ports are about to be set, so that one transaction takes them all. */
  readonly pendingPorts: PendingPorts;
  readonly nodeMtu: number;
  readonly isUserspaceDatapath: boolean;
  /** Folder of ovn-controller's control socket, for error messages. */
  readonly controllerSockets: string;
  readonly addressTimeoutMs?: number;
  readonly portTimeoutMs?: number;
}

/** Together less than the 90 s that the shim waits. */
const defaultAddressTimeoutMs = 25_000;
const defaultPortTimeoutMs = 20_000;
const neverAborted = new AbortController().signal;

export class Attachments {
  readonly #options: AttachmentsOptions;
  readonly #locks = new KeyedLock();
  readonly #adding = new PendingAdds();

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** @throws CniError. If `gone` aborts or a DEL arrives, everything is undone before this rejects. */
  async add(request: AddRequest, gone: AbortSignal): Promise<Attachment> {
    const key = attachmentKey(request.containerId, request.ifname);
    return this.#locks.run(`container ${request.containerId}`, async () => {
      if (this.#options.sandboxes.get(key) !== undefined) {
        throw new CniError(
          errorCode.interfaceExists,
          `container ${request.containerId} has interface ${request.ifname} already`,
          'a runtime must send DEL before it sends ADD again',
        );
      }
      const netns = openSandboxNetns(request.netns);
      const hostInterface = this.#freeNameFor(request.containerId, request.ifname);
      const delArrived = this.#adding.begin(key, hostInterface);
      const signal = AbortSignal.any([gone, delArrived]);
      try {
        const { pods, addressTimeoutMs = defaultAddressTimeoutMs } = this.#options;
        const deadline = AbortSignal.any([signal, AbortSignal.timeout(addressTimeoutMs)]);
        const addressed = await untilAddressed(pods, request, deadline);
        return await this.#attach({ ...request, hostInterface }, addressed, netns, signal);
      } finally {
        this.#adding.end(key);
        netns.close();
      }
    });
  }

  /** Checks that the attachment is still as ADD made it. @throws CniError */
  async check({ containerId, ifname, netns: path, prevResult }: CheckRequest): Promise<void> {
    await this.#locks.run(`container ${containerId}`, async () => {
      const sandbox = this.#options.sandboxes.get(attachmentKey(containerId, ifname));
      if (sandbox === undefined)
        throw new CniError(
          errorCode.unknownContainer,
          `container ${containerId} has no interface ${ifname} of Isthmus`,
        );
      const netns = openSandboxNetns(path);
      try {
        await checkAttachment(this.#options, sandbox, prevResult, netns);
      } catch (error) {
        throw explainFailure(error, sandbox, neverAborted);
      } finally {
        netns.close();
      }
    });
  }

  /** It is no error if there is nothing to remove. @throws CniError */
  async del(request: DelRequest): Promise<void> {
    this.#adding.giveUp(attachmentKey(request.containerId, request.ifname));
    await this.#locks.run(`container ${request.containerId}`, async () => {
      const sandbox = this.#options.sandboxes.get(attachmentKey(request.containerId, request.ifname));
      if (sandbox !== undefined) return this.#remove(sandbox);
      for (const name of hostInterfaceNames(request.containerId, request.ifname)) await this.#removeOrphan(name);
    });
    if (request.netns !== undefined && !request.allowsOwnNetns) refuseOwnNetns(request.netns);
  }

  /**
   * Removes the attachments of the network that are not valid, and what a killed daemon left. If the runtime sends no list of valid
   * attachments, only those without a network namespace are removed. @throws CniError after everything was tried
   */
  async gc(request: GcRequest): Promise<void> {
    const { sandboxes } = this.#options;
    const stale = [...sandboxes.all()].filter(
      (sandbox) =>
        !this.#adding.has(attachmentKey(sandbox.containerId, sandbox.ifname)) &&
        isGarbage(sandbox, request, () => hasNetns(sandbox.netns)),
    );
    const orphans = await this.#orphans();
    await removeAll([
      ...stale.map((sandbox) => ({
        what: `interface ${sandbox.ifname} of container ${sandbox.containerId}`,
        remove: () => this.#removeUnlessReplaced(sandbox),
      })),
      ...orphans.map((name) => ({ what: `interface ${name} of the node`, remove: () => this.#removeOrphan(name) })),
    ]);
  }

  /** Removes interfaces that a killed daemon made but did not record; to be called before the first request. @throws CniError */
  async removeOrphans(): Promise<void> {
    const orphans = await this.#orphans();
    await removeAll(
      orphans.map((name) => ({ what: `interface ${name} of the node`, remove: () => this.#removeOrphan(name) })),
    );
  }

  /**
   * Restores the deleted veth pair of a living sandbox, as ADD made it and with the same record. Changes by later plugins of
   * the chain are not restored. Returns the sandbox, or undefined if there was nothing to do. @throws CniError
   */
  async restore(hostInterface: string): Promise<Sandbox | undefined> {
    const sandbox = this.#options.sandboxes.byHostInterface(hostInterface);
    if (sandbox === undefined) return undefined;
    const key = attachmentKey(sandbox.containerId, sandbox.ifname);
    const isOurs = (): boolean => this.#options.sandboxes.get(key) === sandbox;
    return this.#locks.run(`container ${sandbox.containerId}`, async () => {
      const { links, ports } = this.#options;
      const isThere = !ports.isAside(sandbox) && (await links.inspectHost(hostInterface)) !== undefined;
      if (!isOurs() || isThere) return undefined;
      if (!hasNetns(sandbox.netns)) return undefined;
      return this.#locks.run(`port ${sandbox.port}`, async () => {
        // Another sandbox of the pod may have taken the port meanwhile, which removes this interface.
        if (!isOurs()) return undefined;
        await this.#rebuild(sandbox);
        return sandbox;
      });
    });
  }

  async #rebuild(sandbox: Sandbox): Promise<void> {
    const { nodeMtu, isUserspaceDatapath, subnetOf, pods, ports, underlay, optionsOf } = this.#options;
    const { portTimeoutMs = defaultPortTimeoutMs } = this.#options;
    const netns = openSandboxNetns(sandbox.netns);
    try {
      const addressed = addressedNow(pods, sandbox);
      const subnet = subnetOf(addressed.network.subnet);
      const nicMtu = await underlay.untilReady(subnet, neverAborted);
      const { link } = planPodInterface({
        request: sandbox,
        ...addressed,
        subnet,
        nodeMtu,
        nicMtu,
        isUserspaceDatapath,
      });
      const setAside = (): Promise<void> => this.#setAside(sandbox);
      await setAside();
      await untilSwitchForgets(ports, sandbox, AbortSignal.timeout(portTimeoutMs));
      // After a failure the sandbox keeps its record, so that the restoration can be tried again.
      await this.#connect({ link, sandbox, subnet }, netns, neverAborted, setAside);
      ports.confirm(sandbox, optionsOf(sandbox));
    } catch (error) {
      throw explainFailure(error, sandbox, neverAborted);
    } finally {
      netns.close();
    }
  }

  async #removeUnlessReplaced(sandbox: Sandbox): Promise<void> {
    const key = attachmentKey(sandbox.containerId, sandbox.ifname);
    await this.#locks.run(`container ${sandbox.containerId}`, async () => {
      if (this.#options.sandboxes.get(key) === sandbox) await this.#remove(sandbox);
    });
  }

  async #remove(sandbox: Sandbox): Promise<void> {
    try {
      await this.#locks.run(`port ${sandbox.port}`, () => this.#detach(sandbox));
    } catch (error) {
      throw explainFailure(error, sandbox, neverAborted);
    }
  }

  /** Host interfaces named by this daemon that belong to no sandbox and no port, and that no ADD is creating. */
  async #orphans(): Promise<readonly string[]> {
    const names = await this.#options.links.hostNames();
    return names.filter((name) => this.#isOrphan(name));
  }

  #isOrphan(name: string): boolean {
    return !this.#isHeld(name) && !this.#options.ports.hasInterface(name);
  }

  /** Whether a sandbox has the name, or an ADD is about to give it to one. */
  #isHeld(name: string): boolean {
    return this.#adding.isMaking(name) || this.#options.sandboxes.byHostInterface(name) !== undefined;
  }

  /** A daemon that was killed after making an interface and before recording it leaves an orphan. */
  async #removeOrphan(name: string): Promise<void> {
    if (this.#isOrphan(name)) await this.#options.links.remove(name);
  }

  /** If all names are held, ADD refuses the first one. */
  #freeNameFor(containerId: string, ifname: string): string {
    const names = hostInterfaceNames(containerId, ifname);
    return names.find((name) => !this.#isHeld(name)) ?? names[0];
  }

  async #attach(
    request: AddRequest & { readonly hostInterface: string },
    addressed: AddressedPod,
    netns: Netns,
    signal: AbortSignal,
  ): Promise<Attachment> {
    const { nodeMtu, isUserspaceDatapath, subnetOf, underlay } = this.#options;
    const subnet = subnetOf(addressed.network.subnet);
    const nicMtu = await underlay.untilReady(subnet, signal);
    const { link, sandbox } = planPodInterface({ request, ...addressed, subnet, nodeMtu, nicMtu, isUserspaceDatapath });
    return this.#locks.run(`port ${sandbox.port}`, async () => {
      try {
        // While this waited for the lock, a newer sandbox of the pod may have been made; an abandoned request must not replace it.
        signal.throwIfAborted();
        await this.#release(sandbox, netns);
        await underlay.refuseConflict(subnet, link);
        return await this.#connect({ link, sandbox, subnet }, netns, signal, () => this.#detach(sandbox));
      } catch (error) {
        throw explainFailure(error, sandbox, signal);
      }
    });
  }

  /** Frees the names and the logical port that a new sandbox needs. @throws CniError, LinkExists if a living sandbox has them */
  async #release({ containerId, ifname, hostInterface, port }: Sandbox, netns: Netns): Promise<void> {
    const { sandboxes, links } = this.#options;
    const holder = sandboxes.byHostInterface(hostInterface);
    if (holder !== undefined)
      throw new CniError(
        errorCode.interfaceExists,
        `interface ${hostInterface} of the node belongs to container ${holder.containerId}`,
      );
    const rivals = sandboxes.ofPort(port);
    for (const rival of rivals) {
      if (rival.containerId === containerId) {
        throw new CniError(
          errorCode.interfaceExists,
          `interface ${rival.ifname} of container ${containerId} has logical port ${port} already`,
          "one interface of a network is attached once; a network that is attached more than once is listed so in the pod's annotation k8s.v1.cni.cncf.io/networks",
        );
      }
    }
    // Checked first: if the new sandbox cannot be attached, the pod keeps the one that it has.
    if (rivals.length > 0) await links.refuseExisting(ifname, netns);
    // The runtime made a new sandbox for the pod, so the old one is dead; two ports with one iface-id would take the binding from each other.
    for (const rival of rivals) await this.#detach(rival);
  }

  async #connect(
    { link, sandbox, subnet }: { link: PodInterface; sandbox: Sandbox; subnet: Subnet | undefined },
    netns: Netns,
    signal: AbortSignal,
    undo: () => Promise<void>,
  ): Promise<Attachment> {
    const { links, ports, pendingPorts, sandboxes, underlay, optionsOf, controllerSockets } = this.#options;
    const { untilGuarded, portTimeoutMs = defaultPortTimeoutMs } = this.#options;
    const host = await pendingPorts.run(async () => {
      const made = await links.create(link, netns);
      sandboxes.add(sandbox);
      ports.add(sandbox, optionsOf(sandbox));
      return made;
    });
    try {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(portTimeoutMs)]);
      const installed = ports.untilInstalled(sandbox, deadline);
      if (subnet?.underlay !== undefined) {
        await installed;
        await underlay.untilConnected(subnet, deadline);
      }
      // Both must have ended before anything is undone.
      const [configured, ready] = await Promise.allSettled([links.configure(link, netns), installed]);
      if (configured.status === 'rejected') throw configured.reason;
      if (ready.status === 'rejected') throw ready.reason;
      await untilGuarded(sandbox, deadline);
      signal.throwIfAborted();
    } catch (error) {
      const cause = isTimeout(error) ? explainTimeout(ports.stageOf(sandbox), sandbox, controllerSockets) : error;
      await undo();
      throw cause;
    }
    return {
      hostInterface: { name: link.hostName, mac: host.mac },
      podInterface: { name: link.name, mac: link.mac, netns: sandbox.netns },
      mtu: link.mtu,
      addresses: link.addresses.map((address) => ({
        address,
        gateway: link.routes.find(
          ({ destination, gateway }) => destination.endsWith('/0') && familyOf(gateway) === familyOf(address),
        )?.gateway,
      })),
      routes: link.routes,
    };
  }

  /** Removes the port first, because Open vSwitch complains about ports whose device is gone. */
  async #detach(sandbox: Sandbox): Promise<void> {
    const { links, ports, sandboxes } = this.#options;
    ports.remove(sandbox);
    await this.#untilOut(sandbox, (deadline) => ports.untilGone(sandbox, deadline));
    await links.remove(sandbox.hostInterface);
    sandboxes.remove(sandbox);
  }

  /** Like `#detach`, for a sandbox that is being restored: its record stays, even if the daemon is killed at any point. */
  async #setAside(sandbox: Sandbox): Promise<void> {
    const { links, ports } = this.#options;
    ports.setAside(sandbox);
    await this.#untilOut(sandbox, (deadline) => ports.untilAside(sandbox, deadline));
    await links.remove(sandbox.hostInterface);
  }

  async #untilOut({ hostInterface }: Sandbox, wait: (deadline: AbortSignal) => Promise<void>): Promise<void> {
    const { portTimeoutMs = defaultPortTimeoutMs } = this.#options;
    try {
      await wait(AbortSignal.timeout(portTimeoutMs));
    } catch (error) {
      if (!isTimeout(error)) throw error;
      throw new CniError(
        errorCode.tryAgainLater,
        `the local Open vSwitch database did not remove port ${hostInterface} within ${portTimeoutMs / 1000} s`,
        'look at ovsdb-server on this node',
      );
    }
  }
}

async function untilSwitchForgets(
  ports: SandboxPorts,
  { hostInterface }: Sandbox,
  deadline: AbortSignal,
): Promise<void> {
  try {
    await ports.untilTakenUp(deadline);
  } catch (error) {
    if (!isTimeout(error)) throw error;
    throw new CniError(
      errorCode.tryAgainLater,
      `ovs-vswitchd did not remove port ${hostInterface} from the bridge in time`,
      'look at ovs-vswitchd on this node',
    );
  }
}
