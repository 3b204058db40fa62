/**
 * An egress gateway of three nodes, of which one is killed: how long flows are cut whose port was on that node, and how long the others. UDP, from a pod
 * on a node that stays. With OVN before 24.09 all flows take one port, so that only one of the two is measured.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fieldsOf } from '../../../lib/kube/fields.ts';
import { vpcEgressGateways } from '../../../lib/kube/resources.ts';
import { eventually } from '../../../lib/testing-eventually.ts';
import { addOutside, joinOutside, outside, removeOutside } from '../../system/external-bed.ts';
import { ServiceBed } from '../../system/service-bed.ts';
import { sendFlows, startEcho } from '../../system/udp-flows.ts';
import type { EdgeRow, Measurement } from './measurement.ts';

const team = { team: 'a' };
const [flowCount, intervalMs] = [90, 50];
/** Until tunnels have BFD, each flow its place in the datapath, and the killed node a successor. */
const settleMs = 5000;
/** BFD on tunnels: 100 ms × 3. */
const detectionMs = 300;
const what = 'egress gateway of three nodes, one killed';

async function measure(): Promise<readonly EdgeRow[]> {
  const bed = await ServiceBed.open();
  try {
    await addOutside(bed);
    await bed.addWitness();
    await joinOutside(bed, 'n3');
    const { controller } = bed;
    await controller.createNamespace('one', team);
    await bed.plugPod('t1', 'n1', { namespace: 'one' });
    const spec = { externalSubnet: 'external', replicas: 3, selectors: [{ namespaceSelector: { matchLabels: team } }] };
    await controller.create(vpcEgressGateways, 'out', spec, 'one');
    const { nodes, addresses } = await eventually('the gateway', async () => {
      const { status } = await controller.kube.get(vpcEgressGateways, { namespace: 'one', name: 'out' });
      const { ready, externalIPs, workload } = fieldsOf(status);
      if (ready !== true) throw new Error(JSON.stringify(status));
      const firsts = (externalIPs as readonly string[]).map((pair) => pair.split(',')[0] ?? '');
      return { nodes: fieldsOf(workload)['nodes'] as readonly string[], addresses: firsts };
    });
    await bed.until('t1', outside.server[0], /lan/);
    bed.favourSwitches();
    const echo = await startEcho(bed.space(outside.name), 7000, outside.server[0]);
    try {
      const target = { address: outside.server[0], port: 7000, flows: flowCount, intervalMs };
      const stop = sendFlows(bed.space('t1'), target);
      await sleep(settleMs);
      const killedMs = Date.now();
      bed.killSwitch('n2');
      await sleep(settleMs);
      const { flows } = await stop();
      const lost = addresses[nodes.indexOf('n2')] ?? '';
      return rowsOf(
        flows.map(({ gapMs, gapAtMs, seenAs }) => ({
          gapMs: gapAtMs < killedMs - intervalMs ? 0 : gapMs,
          isLost: seenAs === lost,
        })),
      );
    } finally {
      echo.kill('SIGKILL');
    }
  } finally {
    removeOutside(bed);
    await bed.close();
  }
}

function rowsOf(flows: readonly { readonly gapMs: number; readonly isLost: boolean }[]): readonly EdgeRow[] {
  return [true, false].flatMap((isLost): readonly EdgeRow[] => {
    const gaps = flows.filter((flow) => flow.isLost === isLost).map(({ gapMs }) => gapMs);
    if (gaps.length === 0) return [];
    const of = isLost ? 'flows of its port are cut for at most' : 'flows of the other ports are cut for at most';
    return [
      {
        what: `${what}: ${gaps.length} of ${flows.length} ${of}`,
        unit: 'ms',
        ours: Math.max(...gaps),
        target: isLost ? 500 : 2 * intervalMs,
        floor: isLost ? detectionMs : 0,
        floorIs: isLost ? 'BFD finds the node dead' : 'nothing is cut',
      },
    ];
  });
}

export const measurements: readonly Measurement[] = [{ name: what, measure }];
