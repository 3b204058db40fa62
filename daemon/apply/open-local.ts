/** Opens the targets on this node: the kernel, and the Open_vSwitch database with the reconciler of its rows. */
import type { OvsdbClient } from 'ovsdb-client';
import { openOvsdbTarget, type OvsdbTarget, type OvsdbTargetOptions } from '../../lib/desired/ovsdb-target.ts';
import { connectionLog } from '../../lib/run/connection-log.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { KernelEvents } from '../host/kernel-events.ts';
import { Rtnetlink } from '../host/rtnetlink.ts';
import { openLocalOvs } from '../ovs/local.ts';
import { PendingPorts } from '../ovs/pending-ports.ts';
import { TransactionPacer } from '../ovs/transaction-pacer.ts';

export interface LocalOptions {
  /** Address of the Open_vSwitch database. */
  readonly remote: string;
  readonly target?: Pick<OvsdbTargetOptions, 'batchDelayMs' | 'onTransaction'>;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface Local {
  readonly netlink: Rtnetlink;
  readonly kernelEvents: KernelEvents;
  readonly ovs: OvsdbClient;
  readonly target: OvsdbTarget;
  readonly pendingPorts: PendingPorts;
  /** Leaves `netlink` open, because the kernel may still be read or changed; its sockets end with the process. */
  close(): Promise<void>;
}

export async function openLocal({ remote, target: options, signal, log }: LocalOptions): Promise<Local> {
  const netlink = new Rtnetlink();
  const kernelEvents = new KernelEvents();
  const onState = connectionLog({ log, signal, database: 'Open_vSwitch', remotes: [remote] });
  const ovs = await openLocalOvs(remote, signal, onState);
  const pendingPorts = new PendingPorts();
  const reader = new TransactionPacer(ovs, pendingPorts);
  const target = openOvsdbTarget({ client: ovs, room: 'daemon', logger: log, reader, ...options });
  return {
    netlink,
    kernelEvents,
    ovs,
    target,
    pendingPorts,
    async close() {
      target.close();
      kernelEvents.close();
      await ovs.close();
    },
  };
}
