/**
 * Releases the node when Isthmus is uninstalled: the runtime starts no new pods, interfaces leave their bridges with
 * their addresses and routes, and everything of ours is removed from the kernel and the Open_vSwitch database. Each step looks at what an
 * earlier attempt left, so the work may stop anywhere and start again. The condition of the node says when it is done, or what is in
 * the way.
 */
import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { annotation, leftReason } from '../lib/api/names.ts';
import { openKube } from '../lib/kube/client.ts';
import { nodes } from '../lib/kube/resources.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { CredentialFiles } from '../lib/ovn/credential-files.ts';
import type { Logger } from '../lib/run/logger.ts';
import { removePlugins } from './cni/plugin-folder.ts';
import { KernelGates } from './host/gates.ts';
import { KernelLearnedRoutes } from './host/learned-routes.ts';
import { KernelHost } from './host/network.ts';
import { NftTable } from './host/nft.ts';
import { PodLinks } from './host/pod-links.ts';
import { removeTunnels } from './host/tunnels.ts';
import { setLeftMark } from './ovs/left-mark.ts';
import { switchConfig, untilTakenUp } from './ovs/local.ts';
import { callAll } from '../lib/ovn/unixctl.ts';
import { planLeft } from './plan/local-ovs.ts';
import { gateFolder, keyFile, tunnelNamespace, type Settings } from './settings.ts';
import { runAtMost } from '../lib/run/wait-until.ts';
import { networkUnavailable } from './model/node.ts';
import { openLocal } from './apply/open-local.ts';
import { newServiceTable } from './apply/open-services.ts';
import { openUnderlay } from './apply/open-underlay.ts';
import { askApi } from './watch/api-server.ts';

export interface LeaveOptions {
  readonly settings: Settings;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

const retryMs = 2000;
/** Time that one attempt waits for ovs-vswitchd. */
const switchTimeoutMs = 5000;
/** Time that one attempt waits for the answer of ovn-controller. */
const answerMs = 2000;

/** Resolves after `signal`. */
export async function leaveNode({ settings, signal, log }: LeaveOptions): Promise<void> {
  const kube = openKube({ kubeconfig: settings.kubeconfig, userAgent: 'isthmus-daemon' });
  try {
    removeConfiguration(settings);
    await report(kube, settings.node, 'it is in progress, and waits for Open vSwitch if that does not answer', log);
    for (;;) {
      const obstacle = await tryToLeave({ settings, signal, log });
      if (signal.aborted) return;
      await report(kube, settings.node, obstacle, log);
      if (obstacle === undefined) break;
      log.warn({ reason: obstacle }, 'the node could not be released yet');
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

/** Returns the obstacle; undefined if everything is done. */
async function tryToLeave({ settings, signal, log }: LeaveOptions): Promise<string | undefined> {
  const local = await openLocal({ remote: settings.ovs, signal, log });
  const { netlink, ovs, target } = local;
  try {
    const underlay = await openUnderlay({ local, settings, askApi: (deadline) => askApi(settings, deadline), log });
    try {
      const held = await underlay.giveBack({ name: settings.node, labels: {} }, signal);
      if (held !== undefined) return held;
    } finally {
      await underlay.close();
    }
    const problems = [
      ...(await new KernelHost(netlink).set({
        frame: { sysctls: {}, ruleset: '', links: [], tableRoutes: [], rules: [] },
        parts: new Map(),
      })),
      ...(await new KernelLearnedRoutes(netlink).set([])),
      ...(await new KernelGates(netlink, gateFolder(settings), () => Promise.resolve()).set([])),
    ];
    for (const family of ['inet', 'netdev'] as const) await new NftTable(family).remove();
    await newServiceTable().remove();
    const links = new PodLinks(netlink);
    for (const name of await links.hostNames()) await links.remove(name);
    target.set('node/chassis', planLeft());
    target.seal();
    await target.untilApplied();
    await restartController(settings, log);
    await new CredentialFiles(settings.chassisTls).remove();
    // ovs-vswitchd removes the devices of its ports when it has taken up the new configuration.
    await runAtMost((late) => untilTakenUp(ovs, AbortSignal.any([signal, late])), switchTimeoutMs);
    const { asked, done } = switchConfig(ovs);
    if (done < asked) return 'ovs-vswitchd has not released the ports of Isthmus';
    // Not before: without them tunnels to other clusters would leave in the clear.
    await removeTunnels(netlink, { namespace: tunnelNamespace(settings), key: keyFile(settings) });
    if (problems[0] !== undefined) return problems[0].message;
    setLeftMark(settings);
    return undefined;
  } catch (error) {
    if (signal.aborted || !(error instanceof Error)) return String(error);
    log.warn({ err: error }, 'a step of releasing the node failed');
    return error.message;
  } finally {
    netlink.close();
    await local.close();
  }
}

/**
 * An ovn-controller that loses its settings keeps a core busy: in OVN 25.03 it wakes up for routes of the kernel, but does not read them
 * before it is a chassis. An ovn-controller that starts without settings waits for them.
 */
async function restartController({ ovsRundir }: Settings, log: Pick<Logger, 'info'>): Promise<void> {
  try {
    await callAll('ovn-controller', ovsRundir, 'exit', ['--restart'], answerMs);
  } catch (error) {
    // It may be dead and have left its socket, or run where its sockets cannot be seen.
    log.info({ err: error }, 'ovn-controller could not be stopped');
  }
}

/** The first step: from now on the runtime does not start pods that would get no network. */
function removeConfiguration({ cniConflist, cniConfDir, cniBinDir, socket }: Settings): void {
  if (cniConflist !== undefined) rmSync(join(cniConfDir, basename(cniConflist)), { force: true });
  if (cniBinDir !== undefined) removePlugins(cniBinDir);
  rmSync(socket, { force: true });
}

async function report(
  kube: KubeClient,
  node: string,
  obstacle: string | undefined,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const outcome =
    obstacle === undefined
      ? {
          reason: leftReason,
          message:
            'Isthmus was uninstalled and has released this node, which has no network until another one is installed',
        }
      : {
          reason: 'IsthmusLeaving',
          message: `Isthmus is being uninstalled and has not released this node yet: ${obstacle}`,
        };
  const conditions = [
    { type: networkUnavailable, status: 'True', ...outcome, lastHeartbeatTime: time, lastTransitionTime: time },
  ];
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: node }, status: { conditions } };
  const options = { subresource: 'status', fieldManager: 'isthmus-daemon' } as const;
  try {
    await kube.patch(nodes, { name: node }, 'merge', { metadata: { annotations: { [annotation.chassis]: null } } });
    await kube.patch(nodes, { name: node }, 'apply', body, options);
  } catch (error) {
    // The API server may be out of reach while the interface that leads to it moves; the next attempt reports again.
    log.warn({ err: error }, 'the condition of the Node could not be written');
  }
}
