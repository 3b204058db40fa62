/**
 * Gives the node back, when the release of this daemon is uninstalled: no new pods, interfaces out of bridges with their addresses and
 * routes, nothing of ours in the kernel and in the Open_vSwitch database. Each step finds what an earlier try left, so it may end anywhere
 * and be begun again. In: settings. Out: the node's condition, which says that it is done, or what is in the way.
 */
import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { annotation, leftReason } from '../lib/api/names.ts';
import { openOvsdbTarget } from '../lib/desired/ovsdb-target.ts';
import { openKube } from '../lib/kube/client.ts';
import { nodes } from '../lib/kube/resources.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { CredentialFiles } from '../lib/ovn/credential-files.ts';
import { connectionLog } from '../lib/run/connection-log.ts';
import type { Logger } from '../lib/run/logger.ts';
import { removePlugins } from './cni/plugin-folder.ts';
import { KernelEvents } from './host/kernel-events.ts';
import { KernelLearnedRoutes } from './host/learned-routes.ts';
import { KernelHost } from './host/network.ts';
import { NftTable } from './host/nft.ts';
import { PodLinks } from './host/pod-links.ts';
import { Rtnetlink } from './host/rtnetlink.ts';
import { setLeftMark } from './ovs/left-mark.ts';
import { openLocalOvs, switchConfig, untilTakenUp } from './ovs/local.ts';
import { TransactionPacer } from './ovs/transaction-pacer.ts';
import { callAll } from '../lib/ovn/unixctl.ts';
import { planLeft } from './plan/local-ovs.ts';
import type { Settings } from './settings.ts';
import { PendingPorts } from './ovs/pending-ports.ts';
import { runAtMost } from '../lib/run/wait-until.ts';
import { networkUnavailable } from './model/node.ts';
import { openUnderlay } from './apply/open-underlay.ts';

export interface LeaveOptions {
  readonly settings: Settings;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

const retryMs = 2000;
/** How long one try waits for ovs-vswitchd. */
const letGoMs = 5000;
/** How long one try waits for the answer of ovn-controller. */
const answerMs = 2000;

/** Resolves after `signal`. */
export async function leaveNode({ settings, signal, log }: LeaveOptions): Promise<void> {
  const kube = openKube({ kubeconfig: settings.kubeconfig, userAgent: 'isthmus-daemon' });
  try {
    takeConfigurationAway(settings);
    await tell(kube, settings.node, 'it is under way, and waits for Open vSwitch where that does not answer', log);
    for (;;) {
      const obstacle = await tryToLeave({ settings, signal, log });
      if (signal.aborted) return;
      await tell(kube, settings.node, obstacle, log);
      if (obstacle === undefined) break;
      log.warn({ reason: obstacle }, 'the node could not be given back yet');
      await pause(retryMs, undefined, { signal }).catch(() => undefined);
    }
    log.info({}, 'nothing of Isthmus is left on this node');
    await new Promise((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener('abort', resolve, { once: true });
    });
  } finally {
    await kube.close();
  }
}

/** What is in the way; undefined when all is done. */
async function tryToLeave({ settings, signal, log }: LeaveOptions): Promise<string | undefined> {
  const netlink = new Rtnetlink();
  const kernelEvents = new KernelEvents();
  const onState = connectionLog({ log, signal, database: 'Open_vSwitch', remotes: [settings.ovs] });
  const ovs = await openLocalOvs(settings.ovs, signal, onState);
  const reader = new TransactionPacer(ovs, new PendingPorts());
  const target = openOvsdbTarget({ client: ovs, room: 'daemon', logger: log, reader });
  try {
    const underlay = await openUnderlay({ client: ovs, target, netlink, kernelEvents, settings, log });
    try {
      const held = await underlay.giveBack({ name: settings.node, labels: {} }, signal);
      if (held !== undefined) return held;
    } finally {
      await underlay.close();
    }
    const problems = [
      ...(await new KernelHost(netlink).set({
        sysctls: {},
        ruleset: '',
        links: [],
        routes: [],
        tableRoutes: [],
        rules: [],
      })),
      ...(await new KernelLearnedRoutes(netlink).set([])),
    ];
    for (const family of ['inet', 'netdev'] as const) await new NftTable(family).remove();
    const links = new PodLinks(netlink);
    for (const name of await links.hostNames()) await links.remove(name);
    target.set('node/chassis', planLeft());
    target.seal();
    await target.untilApplied();
    await restartController(settings, log);
    await new CredentialFiles(settings.chassisTls).remove();
    // The devices of its ports go with ovs-vswitchd's next configuration.
    await runAtMost((late) => untilTakenUp(ovs, AbortSignal.any([signal, late])), letGoMs);
    const { asked, done } = switchConfig(ovs);
    if (done < asked) return 'ovs-vswitchd has not let go of the ports of Isthmus';
    if (problems[0] !== undefined) return problems[0].message;
    setLeftMark(settings);
    return undefined;
  } catch (error) {
    if (signal.aborted || !(error instanceof Error)) return String(error);
    log.warn({ err: error }, 'a step of giving the node back failed');
    return error.message;
  } finally {
    target.close();
    kernelEvents.close();
    netlink.close();
    await ovs.close();
  }
}

/**
 * An ovn-controller that loses its settings keeps a core busy: that of OVN 25.03 wakes up for routes of the kernel and reads none before it
 * is a chassis. One that starts without settings waits for them.
 */
async function restartController({ ovsRundir }: Settings, log: Pick<Logger, 'info'>): Promise<void> {
  try {
    await callAll('ovn-controller', ovsRundir, 'exit', ['--restart'], answerMs);
  } catch (error) {
    // It may be dead, and leaves a socket then, or run where its sockets are not to be seen.
    log.info({ err: error }, 'ovn-controller was not ended');
  }
}

/** First of all: from now on the runtime starts no pod that nobody would give a network. */
function takeConfigurationAway({ cniConflist, cniConfDir, cniBinDir, socket }: Settings): void {
  if (cniConflist !== undefined) rmSync(join(cniConfDir, basename(cniConflist)), { force: true });
  if (cniBinDir !== undefined) removePlugins(cniBinDir);
  rmSync(socket, { force: true });
}

async function tell(
  kube: KubeClient,
  node: string,
  obstacle: string | undefined,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const said =
    obstacle === undefined
      ? {
          reason: leftReason,
          message: 'Isthmus was uninstalled and has given this node back; it waits for another network',
        }
      : {
          reason: 'IsthmusLeaving',
          message: `Isthmus is being uninstalled and has not given this node back yet: ${obstacle}`,
        };
  const conditions = [
    { type: networkUnavailable, status: 'True', ...said, lastHeartbeatTime: time, lastTransitionTime: time },
  ];
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: node }, status: { conditions } };
  const options = { subresource: 'status', fieldManager: 'isthmus-daemon' } as const;
  try {
    await kube.patch(nodes, { name: node }, 'merge', { metadata: { annotations: { [annotation.chassis]: null } } });
    await kube.patch(nodes, { name: node }, 'apply', body, options);
  } catch (error) {
    // Kubernetes may be out of reach for as long as the way to it moves; the next try tells it.
    log.warn({ err: error }, 'the Node could not be told');
  }
}
