/** Checks that no packet is lost within a cluster and between clusters, at a steady rate, during an action. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { expiredSessions, undisturbed } from '../system/bfd-sessions.ts';
import { sendFlows, startEcho, type FlowResult } from '../system/udp-flows.ts';
import type { User } from './user.ts';

const port = 7000;
const flows = 10;
const intervalMs = 10;
/** Time before and after the action. */
const calmMs = 2000;

/**
 * A thousand packets a second, each answered, from east's web-1 to web-3 of east and of west, while `act` runs. It is repeated, twice at
 * most, if BFD sessions expired meanwhile: on a busy machine BFD declares live gateways dead, and their paths are down until the
 * sessions are up. @throws AssertionError when a packet was lost
 */
export async function loseNothing(context: TestContext, user: User, act: () => Promise<unknown>): Promise<void> {
  const { clusters } = user.lab.layout;
  const expired = (sinceMs: number): readonly string[] => {
    const nodes = clusters.flatMap((cluster) =>
      cluster.nodes.map(({ name, dir }) => ({
        name: `${cluster.name} ${name}`,
        logs: globSync(join(dir, 'pods/*isthmus-ovs-*/ovs-vswitchd/*.log')),
      })),
    );
    return expiredSessions(nodes, sinceMs);
  };
  await undisturbed(context, { expired, restore: () => user.untilWell() }, () => tryOnce(context, user, act));
}

async function tryOnce(context: TestContext, user: User, act: () => Promise<unknown>): Promise<void> {
  const results = await flowDuring(context, user, act);
  assert.ok(
    results.every(({ sent, received }) => sent === received),
    'packets were lost',
  );
}

/** The same packets, but loss is allowed. @returns their results, within the cluster and to the other one */
export async function flowDuring(
  context: TestContext,
  user: User,
  act: () => Promise<unknown>,
): Promise<readonly FlowResult[]> {
  const ways = ['east', 'west'];
  const stops: (() => Promise<FlowResult>)[] = [];
  try {
    for (const to of ways) stops.push(await startFlow(user, to));
    await sleep(calmMs);
    await act();
    await sleep(calmMs);
  } catch (error) {
    await Promise.all(stops.map((stop) => stop()));
    throw error;
  }
  const results = await Promise.all(stops.map((stop) => stop()));
  for (const [at, result] of results.entries()) context.diagnostic(`east to ${ways[at] ?? ''}: ${say(result)}`);
  return results;
}

/** @returns a function that stops the packets and returns their results */
async function startFlow({ lab }: User, to: string): Promise<() => Promise<FlowResult>> {
  const address = await lab.addressOf(to, 'demo/web-3');
  const echo = await startEcho(lab.ns(to, 'demo/web-3'), port);
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
