/** Helpers of interconnect.test.ts: statuses, paths and routes of its clusters, and pings and flows between their pods. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stallAllowedMs } from '../bench/ic/faults.ts';
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { TransitSwitchStatus } from '../../lib/api/kinds/transit-switch.ts';
import { interconnectGateways, interconnects, remoteClusters, transitSwitches } from '../../lib/kube/resources.ts';
import type { RawObject, Resource } from '../../lib/kube/types.ts';
import { undisturbed as tryUndisturbed } from './bfd-sessions.ts';
import { type Bed } from './interconnect-bed.ts';
import { sendFlows, type FlowResult } from './udp-flows.ts';
import { eventually } from '../../lib/testing-eventually.ts';

/** Packets of all flows that one change may lose: 140 ms of traffic. */
const lossesAllowed = 280;

const run = promisify(execFile);
export const pods = { east: '10.16.0.11', west: '10.17.0.11', outside: '10.18.0.11' };
export type Cluster = keyof typeof pods;
export const flowPort = 7000;

export function lookAt(bed: Bed) {
  const status = async <S = { conditions?: Condition[] }>(cluster: string, resource: Resource, name: string) =>
    ((await bed.kube(cluster).get(resource, { name }))['status'] ?? {}) as S;
  const condition = async (cluster: string, type: string, resource = interconnects, name = 'default') =>
    (await status(cluster, resource, name)).conditions?.find((one) => one.type === type);
  const isTrue = (cluster: string, type: string) => () =>
    condition(cluster, type).then((one) => one?.status === 'True');
  const remote = (cluster: string, name: string) => status<RemoteClusterStatus>(cluster, remoteClusters, name);
  const paths = async (cluster: string) =>
    (await status<TransitSwitchStatus>(cluster, transitSwitches, 'ts')).paths ?? [];
  const holders = async (cluster: string) => (await paths(cluster)).map(({ holder }) => holder ?? '');
  const settled = (cluster: string, other: string, count = 2) =>
    eventually(`${count} paths from ${cluster} to ${other} are up`, async () => {
      const found = await remote(cluster, other);
      return found.pathsUp === `${count}/${count}`;
    });
  const allSettled = () => Promise.all([settled('east', 'west'), settled('west', 'east')]);
  const nextHops = (cluster: string, prefix: string) =>
    bed
      .nb(cluster, '--bare', '--columns=nexthop', 'find', 'Logical_Router_Static_Route', `ip_prefix="${prefix}"`)
      .split('\n')
      .filter((line) => line !== '')
      .sort();
  const pings = async (from: Cluster, to: Cluster, count = 3): Promise<number> => {
    const argv = [
      'netns',
      'exec',
      bed.netns(`p${from}`),
      'ping',
      '-i',
      '0.05',
      '-W',
      '5',
      '-c',
      String(count),
      pods[to],
    ];
    const { stdout } = await run('ip', argv).catch((error: { stdout: string }) => error);
    return Number(/(\d+) received/.exec(stdout)?.[1] ?? 0);
  };
  const reach = async (): Promise<void> => {
    await eventually('west reaches east', async () => (await pings('west', 'east', 1)) === 1);
    await eventually('east reaches west', async () => (await pings('east', 'west', 1)) === 1);
  };
  /** Starts forty flows from west to east and back. @returns a function that stops them some time after a change */
  const flows = (): ((afterMs?: number) => Promise<FlowResult>) => {
    const stop = sendFlows(bed.netns('pwest'), { address: pods.east, port: flowPort, flows: 40, intervalMs: 20 });
    return async (afterMs = 3000) => {
      await sleep(afterMs);
      return stop();
    };
  };
  /** Limits the losses of a planned change to the time that ovn-controller needs to update its flows one after another. */
  const judge = (
    context: TestContext,
    what: string,
    { sent, received, gapsMs, stallMs, lostAtMs }: FlowResult,
    longestMs = 600,
  ): void => {
    const lost = sent - received;
    const when = lostAtMs.map((atMs) => new Date(atMs).toISOString()).join(' to ');
    context.diagnostic(
      `${what}: ${lost} of ${sent} lost ${when}, longest gaps ${gapsMs.slice(0, 5).join(', ')} ms, sender held up ${stallMs} ms`,
    );
    if (stallMs > stallAllowedMs) {
      context.diagnostic(
        `${what}: on a machine as busy as that BFD loses gateways that live, so losses are not reported`,
      );
      return;
    }
    assert.ok(longestMs > 600 || lost <= lossesAllowed, `${what}: ${lost} of ${sent} lost`);
    assert.ok((gapsMs[0] ?? Infinity) < longestMs + stallMs, `${what}: a flow heard nothing for ${gapsMs[0]} ms`);
  };
  /**
   * Retries a planned change at most twice if BFD sessions expired meanwhile: on a busy machine, sessions of live gateways
   * expire, and all paths are down until the sessions are up again. `restore` cleans up after a failed attempt.
   */
  const undisturbed = (
    context: TestContext,
    restore: () => Promise<unknown>,
    change: () => Promise<void>,
  ): Promise<void> =>
    tryUndisturbed(
      context,
      {
        expired: (sinceMs) => bed.expiredSessions(sinceMs),
        restore: async () => {
          await restore();
          await allSettled();
        },
      },
      change,
    );
  const versions = async (): Promise<string> => {
    const objects: RawObject[] = [];
    for (const cluster of ['east', 'west'])
      for (const resource of [interconnects, remoteClusters, transitSwitches, interconnectGateways])
        objects.push(...(await bed.kube(cluster).list(resource)));
    return objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).join('\n');
  };
  return {
    status,
    condition,
    isTrue,
    remote,
    paths,
    holders,
    settled,
    allSettled,
    nextHops,
    pings,
    reach,
    flows,
    judge,
    undisturbed,
    versions,
  };
}
