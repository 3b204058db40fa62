/**
 * Services under random changes, compared with a model by packets, in a lab of its own with a real API server, OVN and Open vSwitch on two nodes.
 * After every few changes, during which one of controller, daemon, northd and ovn-controller may have been killed, clients ask Services: what
 * answers, and the source that it sees, must be what test/model/services.ts says. ISTHMUS_MODEL_SEED and ISTHMUS_MODEL_STEPS select another
 * sequence of changes.
 *
 * The matrix of Services, and where each part is tested:
 * - A pod on each node, a process of each node (as a pod with hostNetwork), a router before each node, and a pod of another VPC; with endpoints in pods
 *   and on nodes, here and there, and the client itself; at ClusterIPs, NodePorts, addresses of load balancers, externalIPs, unknown ports and
 *   unallocated addresses; over TCP and UDP, IPv4 and IPv6; with the source that the endpoint sees: here. Kubernetes says nothing about clients outside
 *   at ClusterIPs, and no program answers them here.
 * - Traffic policies, terminating endpoints, hints, publishNotReadyAddresses, affinity, several slices, named ports, single and dual stack, source
 *   ranges, ipMode, health checks: here. Timeouts of affinity are not waited for.
 * - The first connection of a client: the second sample of each comparison here.
 * - No packet leaves by the uplink: here at the default router, on `ovn0` in services.test.ts.
 * - Sockets of UDP whose endpoint is gone: here, services.test.ts, services-node.test.ts.
 * - Connections that stay open while other endpoints change and programs are killed: here, 5,000 of them from 125 changes on.
 * - Rows and elements after random changes are those of a cold start: controller/settle/service, daemon/apply/services.test.ts.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../lib/testing-eventually.ts';
import { randomOf } from '../../lib/testing-random.ts';
import { ServiceChanges } from './service-changes.ts';
import { keptPort, ServiceModelBed, victims } from './service-model-bed.ts';
import { type Probe, ServiceProbes } from './service-probes.ts';
import { sendFlows, startEcho } from './udp-flows.ts';

const seed = Number(process.env['ISTHMUS_MODEL_SEED'] ?? 1);
const steps = Number(process.env['ISTHMUS_MODEL_STEPS'] ?? 16);
/** Of the whole test, with as many changes as one likes. */
const longestMs = 3_600_000;
/** So long sockets send before a change; after the end of their endpoint, twice as long. */
const flowMs = 1500;
/** The daemon deletes connections of UDP that OVN left after one and five seconds. */
const flushedMs = 8000;
/** Changes between two comparisons, at most. */
const longestRound = 8;
/** Clients and addresses of a comparison. */
const sampleSize = 60;
/** Of the connections of a comparison. */
const mostLost = 2;
/** From the last change, and the last restart, to the state that the model describes; a daemon starts slowly on a busy machine. */
const settleMs = 90_000;

describe(`Services, seed ${seed}, ${steps} changes`, () => {
  let bed: ServiceModelBed;
  const random = randomOf(seed);
  const log: string[] = [];
  before(async () => {
    bed = await ServiceModelBed.open();
  });
  after(() => (bed as ServiceModelBed | undefined)?.close());

  it('let sockets of UDP that send all the while move when their endpoint goes', async () => {
    const target = 9191;
    const [old, next] = await Promise.all(['a1', 'b1'].map((pod) => startEcho(bed.netnsOf(pod), target)));
    const port = { name: 'udp', protocol: 'UDP', port: 80, targetPort: target };
    const address = await bed.addSteady('moving', port, ['a1']);
    await eventually('the load balancer', async () => (await bed.lab.nbctl('east', ['lb-list'])).includes(address));
    const end = sendFlows(bed.netnsOf('a2'), { address, port: 80, flows: 10, intervalMs: 20 });
    await sleep(flowMs);
    await bed.setSteady('moving', port, ['b1']);
    await sleep(flushedMs);
    old?.kill('SIGKILL');
    await sleep(2 * flowMs);
    const { received, gapsMs } = await end();
    next?.kill('SIGKILL');
    assert.ok(received > 0);
    // A socket that stays with the former endpoint has no answer until the end.
    assert.ok((gapsMs[0] ?? Infinity) < flowMs, `gaps of ${gapsMs.join(', ')} ms`);
  });

  it('let clients outside reach an endpoint whose gateway is another node, and keep their address', async () => {
    const nodePort = 32_001;
    const [agent, address] = await bed.addBehindGateway('n2', 'n1', nodePort);
    const ask = (): Promise<string> | undefined => bed.places.get('outside n2')?.agent.ask('TCP', node, nodePort);
    const [node = ''] = bed.nodes.get('n2')?.addresses ?? [];
    const expected = `${address} 9080 ${bed.lab.router('tor2').address}`;
    await eventually('an answer', async () => (await ask()) === expected);
    assert.equal(await ask(), expected);
    await agent.stop();
  });

  it(
    'answer as the model says after random changes and crashes, and keep connections',
    { timeout: longestMs },
    async () => {
      const changes = new ServiceChanges(bed, random);
      const probes = new ServiceProbes(bed, random);
      const kept = await keepConnections();
      log.push(...(await changes.fill()));
      await compare(probes);
      for (let step = 1; step <= steps;) {
        const length = Math.min(1 + random(longestRound), steps - step + 1);
        const [crashAt, victim] = [random(2 * longestRound), victims[random(victims.length)]];
        let heal = async (): Promise<void> => undefined;
        for (let at = 0; at < length; at += 1, step += 1) {
          if (at === crashAt && victim !== undefined) {
            log.push(`${step}: kill ${victim.join('/')}`);
            heal = await bed.kill(victim);
          }
          log.push(`${step}: ${await changes.step()}`);
        }
        await heal();
        await compare(probes);
      }
      assert.deepEqual(await bed.keptConnections(), kept, 'connections to other endpoints go on');
      assert.equal(bed.leaked, '', 'packets to addresses of Services left the cluster');
    },
  );

  /** Connections of pods and a node to an own Service. @returns how many each client has */
  async function keepConnections(): Promise<readonly number[]> {
    const port = { name: 'kept', protocol: 'TCP', port: 80, targetPort: keptPort };
    const address = await bed.addSteady('kept', port, ['a1', 'b1', 'n1', 'n2']);
    return bed.keep(address, 80, Math.min(1250, 10 * steps));
  }

  /**
   * Waits until a sample agrees. Then another one is asked, of which connections must not be lost: also the first one of a client counts. A busy
   * machine may lose one.
   */
  async function compare(probes: ServiceProbes): Promise<void> {
    await untilSame(probes, probes.sample(sampleSize));
    const different = await probes.differing(probes.sample(sampleSize));
    const lost = different.filter(({ isLost, probe }) => isLost && probe.frontend.protocol === 'TCP');
    const wrong = different.map(({ probe }) => probe);
    if (lost.length > mostLost)
      fail(
        lost.map(({ text }) => text),
        `${(await probes.differing(wrong)).length} of ${wrong.length} still`,
      );
    await untilSame(probes, wrong);
  }

  async function untilSame(probes: ServiceProbes, sample: readonly Probe[]): Promise<void> {
    const endMs = performance.now() + settleMs;
    for (let left = sample; ;) {
      const different = await probes.differing(left);
      const health = await probes.compareHealth();
      if (different.length === 0 && health.length === 0) return;
      if (performance.now() > endMs)
        fail([...different.map(({ text }) => text), ...health], 'after all this time still');
      left = different.map(({ probe }) => probe);
    }
  }

  function fail(differences: readonly string[], when: string): never {
    const how = `ISTHMUS_MODEL_SEED=${seed} ISTHMUS_MODEL_STEPS=${steps}`;
    const ended = bed.lab.notRunning().map((process) => `ended by itself: ${process}`);
    assert.fail([`${how}: ${when} different:`, ...differences, ...ended, 'after these changes:', ...log].join('\n'));
  }
});
