/** An endpoint becomes ready in one cluster, and a Service is exported there: the time until a client of the other cluster reaches it. */
import { apiVersionOf, serviceExports, serviceImports } from '../../../lib/kube/resources.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';
import { quantile } from '../row.ts';
import { BareBalancer, bareAddress } from './bare-balancer.ts';
import { backendOf, namespace, type Backend, type McsBed } from './bed.ts';
import { nowMs, type McsRow, type Measurement } from './measurement.ts';
import { Names } from './names.ts';

const [there, here] = ['east', 'west'] as const;
const changes = 100;
const exportCount = Number(process.env['MCS_EXPORTS'] ?? 50);

/** The pod that serves in each round: another one than in the round before. */
const backendIn = (round: number): Backend => (round % 2 === 0 ? 'b2' : 'b1');

/** Milliseconds of each change from `change`, which makes another pod the only one, to the answer of that pod. */
async function changeEach(
  bed: McsBed,
  address: string,
  change: (backend: Backend) => Promise<void>,
): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < changes; round += 1) {
    const startMs = nowMs();
    const answered = bed.untilAnswers(here, address, 80, [there, backendIn(round)]);
    await change(backendIn(round));
    times.push((await answered) - startMs);
  }
  return times;
}

async function endpointReady(bed: McsBed): Promise<McsRow[]> {
  const name = 'endpoint';
  await bed.makeService(there, name, { b1: true, b2: false });
  await bed.export(there, name);
  const address = await bed.addressOfImport(here, name);
  await bed.untilAnswers(here, address, 80, [there, 'b1']);
  const ours = await changeEach(bed, address, (backend) =>
    bed.setReady(there, name, { b1: backend === 'b1', b2: backend === 'b2' }),
  );
  const bare = await BareBalancer.open(bed, here);
  try {
    await bare.set(backendOf(bed, there, 'b1'));
    await bed.untilAnswers(here, bareAddress, 80, [there, 'b1']);
    const floor = await changeEach(bed, bareAddress, (backend) => bare.set(backendOf(bed, there, backend)));
    return ([0.5, 0.99] as const).map((share) => ({
      what: `Endpoint ready in one cluster → its first packet from a pod of the other, ${share === 0.5 ? 'median' : '99th percentile'} of ${changes}`,
      unit: 'ms',
      ours: quantile(ours, share),
      target: share === 0.5 ? undefined : 300,
      floor: quantile(floor, share),
      floorIs: 'a row of a load balancer written to the database of the other cluster',
    }));
  } finally {
    await bare.close();
  }
}

/** Milliseconds of each export from its creation until its name is resolved and answers. @param prefix of the names of its Services */
export async function exportEach(bed: McsBed, names: Names, prefix: string, count: number): Promise<readonly number[]> {
  const all = Array.from({ length: count }, (_, at) => `${prefix}${at}`);
  for (const name of all) await bed.makeService(there, name, { b1: true });
  const times: number[] = [];
  for (const name of all) {
    const startMs = nowMs();
    await bed.export(there, name);
    const address = await names.untilAddress(name);
    times.push((await bed.untilAnswers(here, address, 80, [there, 'b1'])) - startMs);
  }
  for (const name of all) await bed.kube(there).delete(serviceExports, { namespace, name });
  await eventually('the imports to go', async () => {
    const left = (await bed.kube(here).list(serviceImports, { namespace })).filter((raw) =>
      all.includes(raw.metadata.name),
    );
    return left.length === 0 || notYet(`${left.length} are left`);
  });
  return times;
}

/** The floor: an import and its row, written by the benchmark to the other cluster. */
export async function writeEach(bed: McsBed, names: Names, prefix: string, count: number): Promise<readonly number[]> {
  const bare = await BareBalancer.open(bed, here);
  const client = bed.kube(here);
  const times: number[] = [];
  try {
    for (let at = 0; at < count; at += 1) {
      const name = `${prefix}${at}`;
      const address = `100.127.255.${at + 1}`;
      const metadata = { namespace, name };
      const spec = { type: 'ClusterSetIP', ips: [address], ports: [{ name: 'tcp', protocol: 'TCP', port: 80 }] };
      const startMs = nowMs();
      await Promise.all([
        client.create(serviceImports, {
          apiVersion: apiVersionOf(serviceImports),
          kind: serviceImports.kind,
          metadata,
          spec,
        }),
        bare.set(backendOf(bed, there, 'b1'), address),
      ]);
      await names.untilAddress(name);
      times.push((await bed.untilAnswers(here, address, 80, [there, 'b1'])) - startMs);
      await client.delete(serviceImports, metadata);
    }
  } finally {
    await bare.close();
  }
  return times;
}

async function exportReachable(bed: McsBed): Promise<McsRow[]> {
  const names = await Names.open(bed, here);
  try {
    const ours = await exportEach(bed, names, 'exported', exportCount);
    const floor = await writeEach(bed, names, 'bare', exportCount);
    return [exportRow('', ours, floor)];
  } finally {
    await names.close();
  }
}

export function exportRow(among: string, ours: readonly number[], floor: readonly number[]): McsRow {
  return {
    what: `Service exported → its name is resolved in the other cluster and its address answers${among}, 99th percentile of ${ours.length}`,
    unit: 'ms',
    ours: quantile(ours, 0.99),
    target: 1000,
    floor: quantile(floor, 0.99),
    floorIs:
      'a ServiceImport and a row of a load balancer written to the other cluster, until CoreDNS and the address answer',
  };
}

export const measurements: readonly Measurement[] = [
  { name: 'endpoint ready', measure: endpointReady },
  { name: 'export reachable', measure: exportReachable },
];
