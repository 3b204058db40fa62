/**
 * Measurements with many Services: in a network namespace of its own, which this process enters for good. Prints the rows as JSON.
 * Arguments: number of Services.
 */
import { nodes } from '../../../lib/kube/resources.ts';
import { measureController } from './controller-rows.ts';
import { KubeProxy } from './kube-proxy.ts';
import type { ServiceRow } from './measurement.ts';
import { measureNode } from './node-rows.ts';
import { forAll } from '../scale-pods.ts';
import { changedServices, measureChanges } from './change-rows.ts';
import { createServices, setWidth } from './objects.ts';
import { nodeName, ServiceScaleBed } from './scale-bed.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const count = Number(process.argv[2]);

function printProgress(what: string): void {
  console.error(`           ${what}`);
}

async function prepare(bed: ServiceScaleBed): Promise<readonly string[]> {
  const { scale } = bed;
  const controller = await scale.start();
  await scale.bed.createNode(nodeName, '172.30.9.11');
  await eventually('an address for the node', async () => {
    const annotations = await scale.bed.annotations(nodes, nodeName);
    return annotations['isthmus.network/service-address'] !== undefined || notYet('not annotated');
  });
  await scale.quiet();
  await controller.stop();
  printProgress('Services are created');
  return createServices(scale.bed.kube, count, 1, changedServices);
}

async function measure(bed: ServiceScaleBed): Promise<readonly ServiceRow[]> {
  const { scale, node } = bed;
  const addresses = await prepare(bed);
  printProgress('controller');
  const rows: ServiceRow[] = [...(await measureController(scale, count))];
  printProgress('OVN');
  await bed.startOvn();
  const startProxy = (): Promise<KubeProxy> =>
    KubeProxy.start({ dir: node.dir, kubeconfig: scale.bed.api.kubeconfig, node: nodeName });
  printProgress('node');
  const measured = await measureNode(bed, addresses, startProxy);
  rows.push(...measured.rows);
  printProgress('one endpoint more');
  rows.push(...(await measureChanges(bed, { addresses, width: 1, peerMs: measured.peerChangeMs })));
  printProgress('one endpoint more of ten');
  await forAll(addresses, (_, at) => setWidth(scale.bed.kube, at, 10));
  rows.push(...(await measureChanges(bed, { addresses, width: 10, peerMs: undefined })));
  return rows;
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
