/** Packets at a steady rate between two pods while something is done. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lab } from '../lab/layout.ts';
import { sendFlows, startEcho, type FlowResult } from '../system/udp-flows.ts';

const port = 7000;
const flows = 10;
const intervalMs = 10;

/** A thousand packets a second, each answered, from one network namespace to another, from now on. @returns ends them, and what came of them */
export async function startFlow(
  from: string,
  to: { readonly netns: string; readonly address: string },
): Promise<() => Promise<FlowResult>> {
  const echo = await startEcho(to.netns, port);
  const stop = sendFlows(from, { address: to.address, port, flows, intervalMs });
  return async () => {
    try {
      return await stop();
    } finally {
      echo.kill('SIGKILL');
    }
  };
}

export function say({ sent, received, gapsMs, stallMs }: FlowResult): string {
  return `${sent - received} of ${sent} packets lost, longest gap ${gapsMs[0] ?? 0} ms, sender held up ${stallMs} ms`;
}

/** BFD sessions between gateways that expired since then, as `east n1 ovn-fe511f-0`, by the logs of the pods of Open vSwitch. */
export function expiredSessions({ clusters }: Lab, sinceMs: number): readonly string[] {
  return clusters.flatMap((cluster) =>
    cluster.nodes.flatMap((node) =>
      globSync(join(node.dir, 'pods/*isthmus-ovs-*/ovs-vswitchd/*.log'))
        .flatMap((log) => readFileSync(log, 'utf8').split('\n'))
        .flatMap((line) => {
          const [, at = '', tunnel] =
            /^(\S+) .*\|(\S+): BFD state change: .*State: up,.* -> .*State: down,.*Detection Time Expired/.exec(line) ??
            [];
          return Date.parse(at) >= sinceMs ? [`${cluster.name} ${node.name} ${tunnel}`] : [];
        }),
    ),
  );
}
