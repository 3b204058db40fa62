/**
 * Opens the gates of VPCs with DNS (ADR 42): their plan, the kernel, and their ports on the integration bridge. Which VpcDns of a VPC is in force is
 * the controller's decision: without its logical port, nothing comes to a gate.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import { runAtMost } from '../../lib/run/wait-until.ts';
import { gateTargets } from '../../lib/services/gate.ts';
import { KernelGates } from '../host/gates.ts';
import { HostLoop } from '../host/loop.ts';
import { hasIpv6 } from '../host/sysctl.ts';
import { watchGoneLinks } from '../host/watch-host.ts';
import { gateLinkNames, mostGates, type Gate, type GatePlan } from '../model/gate.ts';
import { untilTakenUp } from '../ovs/local.ts';
import { assignSlots, gateOwner, planGate, planGateRows } from '../plan/gates.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Local } from './open-local.ts';

export interface OpenGatesOptions {
  readonly local: Pick<Local, 'netlink' | 'kernelEvents' | 'ovs' | 'target'>;
  readonly cluster: Cluster;
  /** Folder of their namespaces. */
  readonly folder: string;
  readonly mtu: number;
  readonly isUserspaceDatapath: boolean;
}

export interface OpenedGates {
  readonly problems: readonly Problem[];
  /** Called after each application to the kernel. */
  onResult(listener: () => void): void;
  close(): void;
}

/** Time for a busy ovs-vswitchd to remove a port. One that hangs is reported elsewhere. */
const removalMs = 10_000;

export function openGates({ local, cluster, folder, ...node }: OpenGatesOptions): OpenedGates {
  const { netlink, kernelEvents, ovs, target } = local;
  /** Owners of gates with a port on the bridge. */
  const plugged = new Set<string>();
  const kernel = new KernelGates(netlink, folder, async (gate) => {
    plugged.delete(gateOwner(gate));
    target.drop(gateOwner(gate));
    await target.untilApplied();
    await runAtMost((late) => untilTakenUp(ovs, late), removalMs);
  });
  let wanted: readonly Gate[] = [];
  let unserved: readonly Problem[] = [];
  const loop = new HostLoop<readonly GatePlan[]>({
    host: kernel,
    watch: (onChange) =>
      watchGoneLinks(kernelEvents, (name) => {
        if (wanted.some((gate) => Object.values(gateLinkNames(gate)).includes(name))) onChange();
      }),
  });
  const plug = (ready: readonly Gate[]): void => {
    for (const gate of ready) {
      if (plugged.has(gateOwner(gate))) continue;
      plugged.add(gateOwner(gate));
      target.set(gateOwner(gate), planGateRows(gate));
    }
  };
  const refresh = (): void => {
    const { vpcs, dns, api } = cluster.gateFacts;
    const settings = { ...node, targets: gateTargets(dns, api), hasIpv6: hasIpv6() };
    wanted = assignSlots(vpcs, kernel.existing);
    const count = new Set(vpcs).size - wanted.length;
    const message = `${count} Vpcs with a VpcDns have no gate on this node, which has ${mostGates} already: delete VpcDnses that are not needed`;
    unserved = count === 0 ? [] : [{ code: 'GatesExhausted', message }];
    loop.set(wanted.map((gate) => planGate(gate, settings)));
  };
  loop.onResult(() => plug(kernel.ready));
  // Gates of an earlier run keep their ports until it is known that they must go.
  plug(kernel.existing);
  refresh();
  const { vpcDnses, dnsServices, apiServices } = cluster.objects;
  for (const mirror of [vpcDnses, dnsServices, apiServices]) mirror.subscribe(refresh);
  return {
    get problems() {
      return [...unserved, ...(loop.problems ?? [])];
    },
    onResult: (listener) => loop.onResult(listener),
    close: () => loop.close(),
  };
}
