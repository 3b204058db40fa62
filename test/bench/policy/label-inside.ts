/**
 * One pod's label among ten thousand pods under a thousand policies, with OVN and one node, on which a pod of each application of one Namespace is: in a network namespace of
 * its own, which this process enters for good. Prints the rows as JSON.
 */
import { join } from 'node:path';
import { nodes, pods } from '../../../lib/kube/resources.ts';
import { median, quantile } from '../row.ts';
import { quantileOfHistogram } from '../scale-changes.ts';
import { createNetworks, portOf, type PodAt } from '../scale-pods.ts';
import { apiWrites } from '../api-writes.ts';
import { nodeName, ServiceScaleBed, untilIdle } from '../services/scale-bed.ts';
import { FlowWatch } from './flow-watch.ts';
import { LabelChanges, type LabelChange, type Times } from './label-changes.ts';
import { numbers, type PolicyRow } from './measurement.ts';
import {
  applicationCount,
  createPolicies,
  createPolicyPod,
  createPolicyPods,
  placedPod,
  rowsOfChange,
} from './objects.ts';
import { sizes } from './sizes.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

/** The pods of this Namespace have addresses of IPv4 alone. */
const own = 'team-1';
const applications = applicationCount(sizes.policies);
const histogram = 'isthmus_controller_event_to_transaction_seconds';

const printProgress = (what: string): void => console.error(`           ${what}`);

const localPod = (at: number): PodAt => ({ name: `local-${String(at)}`, namespace: own, node: nodeName });

/** A bridge and an interface for each pod of the node, in place of the daemon. */
async function plugPods({ node }: ServiceScaleBed): Promise<void> {
  const ids = { 'ovn-remote': node.remote('sb'), 'ovn-encap-type': 'geneve', 'ovn-encap-ip': '172.30.9.11' };
  node.vsctl('set', 'open', '.', ...Object.entries(ids).map(([key, value]) => `external_ids:${key}="${value}"`));
  // ovn-controller may have made it.
  node.vsctl(
    '--may-exist',
    'add-br',
    'br-int',
    '--',
    'set',
    'bridge',
    'br-int',
    'datapath_type=netdev',
    'fail_mode=secure',
  );
  for (const at of numbers(applications)) {
    const [device, id] = [`l${String(at)}`, `external_ids:iface-id=${portOf(localPod(at))}`];
    node.vsctl('add-port', 'br-int', device, '--', 'set', 'interface', device, 'type=internal', id);
  }
  await eventually(
    'the pods of the node are up',
    () => {
      const ups = node.sbctl('--columns=logical_port', '--bare', 'find', 'Port_Binding', 'up=true');
      const count = ups.split('\n').filter((line) => line.startsWith('local-')).length;
      return count === applications || notYet(`${String(count)} are`);
    },
    300_000,
  );
}

async function prepare(bed: ServiceScaleBed): Promise<void> {
  const { scale } = bed;
  const { kube } = scale.bed;
  const controller = await scale.start();
  await createNetworks(kube);
  await scale.bed.createNode(nodeName, '172.30.9.11');
  await scale.bed.kube.patch(nodes, { name: nodeName }, 'merge', {
    metadata: { annotations: { 'ovn.kubernetes.io/chassis': 'chassis-1' } },
  });
  await scale.quiet();
  const before = await apiWrites(kube);
  printProgress('pods');
  for (const at of numbers(applications)) await createPolicyPod(kube, localPod(at), at);
  await createPolicyPods(kube, sizes.pods - applications, applications);
  await scale.untilReported(sizes.pods, before);
  printProgress('policies');
  await createPolicies(kube, sizes.policies);
  await scale.quiet();
  await controller.stop();
}

/** Of pods on other nodes: each becomes one of the application that is farthest from its own. */
async function changesOf({ scale }: ServiceScaleBed): Promise<readonly LabelChange[]> {
  const all = numbers(sizes.pods - applications)
    .map((at) => placedPod(at, applications))
    .filter(({ namespace }) => namespace === own)
    .slice(0, sizes.labels);
  return Promise.all(
    all.map(async ({ application: from, ...pod }) => {
      const annotations = await scale.bed.annotations(pods, pod.name, pod.namespace);
      const address = annotations['ovn.kubernetes.io/ip_address'] ?? '';
      return { pod, address, from, to: (from + Math.ceil(applications / 2)) % applications };
    }),
  );
}

async function measure(bed: ServiceScaleBed): Promise<readonly PolicyRow[]> {
  const { scale, node } = bed;
  await prepare(bed);
  printProgress('OVN');
  await bed.startOvn();
  await plugPods(bed);
  const controller = await scale.start();
  await scale.quiet();
  for (const name of ['northd', 'ovn-controller']) await untilIdle(node.pid(name));
  const watch = await FlowWatch.open(`unix:${join(node.dir, 'br-int.mgmt')}`);
  const changes = await LabelChanges.open(scale.bed, watch);
  const all = await changesOf(bed);
  printProgress(`labels of ${String(all.length)} pods`);
  const before = await controller.metrics();
  const ours = await changes.measure(all);
  const after = await controller.metrics();
  await controller.stop();
  const bare = await changes.measureBare(all);
  await changes.close();
  await watch.close();
  return rowsOf(ours, bare, quantileOfHistogram(histogram, 0.99, { before, after }) * 1000);
}

function rowsOf(ours: Times, bare: Times, sentMs: number): readonly PolicyRow[] {
  const changed = ours.rowMs.length;
  const what = `One pod's label, ${sizes.pods.toLocaleString('en')} pods, ${sizes.policies.toLocaleString('en')} policies`;
  const p99 = (list: readonly number[]): number => quantile(list, 0.99);
  const program = 'a bare program that writes the same rows when it sees the pod';
  const ms = (text: string, of: (times: Times) => number, target: number | undefined): PolicyRow => ({
    what: `${what}: ${text} of ${String(changed)}`,
    unit: 'ms',
    ours: of(ours),
    floor: of(bare),
    floorIs: program,
    target,
  });
  return [
    {
      what: `${what}, controller: event received → transaction sent, as the controller reports, 99th percentile of ${String(changed)}`,
      unit: 'ms',
      ours: sentMs,
      floor: p99(bare.rowMs),
      floorIs: `${program}, until it sees the rows`,
      target: 5,
    },
    ms('pod seen → rows seen, 99th percentile', ({ rowMs }) => p99(rowMs), undefined),
    {
      what: `${what}, controller: rows changed by each`,
      unit: 'rows',
      ours: ours.rows / changed,
      floor: rowsOfChange,
      floorIs: 'the sets and groups that the pod enters and leaves',
      target: rowsOfChange,
    },
    ms('pod seen → flows of a node, median', ({ flowMs }) => median(flowMs), undefined),
    ms('pod seen → flows of a node, 99th percentile', ({ flowMs }) => p99(flowMs), 200),
  ];
}

const bed = await ServiceScaleBed.open();
try {
  console.log(JSON.stringify(await measure(bed)));
} catch (error) {
  console.error(error, ...bed.node.ended());
  process.exitCode = 1;
} finally {
  await bed.close();
}
// A connection that waits has no end of its own.
process.exit();
