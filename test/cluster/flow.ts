/** Packets at a steady rate within a cluster and between clusters while something is done, none of which may be lost. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lab } from '../lab/layout.ts';
import { sendFlows, startEcho, type FlowResult } from '../system/udp-flows.ts';
import type { User } from './user.ts';

const port = 7000;
const flows = 10;
const intervalMs = 10;
/** Before something is done and after it. */
const calmMs = 2000;

/**
 * A thousand packets a second, each answered, from east's web-1 to web-3 of east and of west, while `act` runs. It is tried again, twice at
 * most, where BFD sessions expired meanwhile: on a busy machine BFD takes gateways for dead that live, and their paths are away until the
 * sessions are up. @throws AssertionError when a packet was lost
 */
export async function loseNothing(context: TestContext, user: User, act: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    const sinceMs = Date.now();
    try {
      await tryOnce(context, user, act);
      return;
    } catch (error) {
      const expired = expiredSessions(user.lab.layout, sinceMs);
      if (!(error instanceof assert.AssertionError) || expired.length === 0 || tries === 3) throw error;
      context.diagnostic(`tried again: ${error.message}, and BFD sessions expired: ${expired.join('; ')}`);
      await user.untilWell();
    }
  }
}

async function tryOnce(context: TestContext, user: User, act: () => Promise<unknown>): Promise<void> {
  const ways = ['east', 'west'];
  const stops: (() => Promise<FlowResult>)[] = [];
  for (const to of ways) stops.push(await startFlow(user, to));
  await sleep(calmMs);
  const failure = await act().then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  await sleep(calmMs);
  const results = await Promise.all(stops.map((stop) => stop()));
  if (failure !== undefined) throw failure.error;
  const said = results.map((result, at) => `east to ${ways[at] ?? ''}: ${say(result)}`);
  for (const line of said) context.diagnostic(line);
  assert.ok(
    results.every(({ sent, received }) => sent === received),
    said.join('; '),
  );
}

/** @returns ends the packets, and what came of them */
async function startFlow({ lab }: User, to: string): Promise<() => Promise<FlowResult>> {
  const echo = await startEcho(lab.ns(to, 'demo/web-3'), port);
  const address = await lab.addressOf(to, 'demo/web-3');
  const stop = sendFlows(lab.ns('east', 'demo/web-1'), { address, port, flows, intervalMs });
  return async () => {
    try {
      return await stop();
    } finally {
      echo.kill('SIGKILL');
    }
  };
}

function say({ sent, received, gapsMs, stallMs }: FlowResult): string {
  return `${sent - received} of ${sent} packets lost, longest gap ${gapsMs[0] ?? 0} ms, sender held up ${stallMs} ms`;
}

/** BFD sessions between gateways that expired since then, as `east n1 ovn-fe511f-0`, by the logs of the pods of Open vSwitch. */
function expiredSessions({ clusters }: Lab, sinceMs: number): readonly string[] {
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
