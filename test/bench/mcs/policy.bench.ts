/** Policies that name pods of another cluster: from a pod's label to the verdict, and a selector of ten thousand pods for the first time. */
import { defaultSubnet } from '../../../lib/api/names.ts';
import { apiVersionOf, ips, namespaces, networkPolicies, pods } from '../../../lib/kube/resources.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';
import { forAll } from '../scale-pods.ts';
import { quantile, whileFrozen } from '../row.ts';
import { namespace, type McsBed } from './bed.ts';
import { nowMs, type McsRow, type Measurement } from './measurement.ts';

const [there, here] = ['east', 'west'] as const;
const port = 9000;
const changes = 50;
const bareChanges = 10;
const many = Number(process.env['MCS_PODS'] ?? 10_000);
const crowd = 'bench-crowd';
const clusterLabel = 'isthmus.network/cluster';
const policy = { namespace, name: 'bench' };

const labelOf = (bed: McsBed, cluster: 'east' | 'west', name: string, app: string | null): Promise<unknown> =>
  bed.kube(cluster).patch(pods, { namespace, name }, 'merge', { metadata: { labels: { app } } });

function allow(bed: McsBed, from: object): Promise<unknown> {
  return bed.kube(here).create(networkPolicies, {
    apiVersion: apiVersionOf(networkPolicies),
    kind: networkPolicies.kind,
    metadata: policy,
    spec: { podSelector: { matchLabels: { app: 'server' } }, policyTypes: ['Ingress'], ingress: [{ from: [from] }] },
  });
}

const addressesIn = (row: Readonly<Record<string, unknown>>): readonly string[] =>
  row['addresses'] as readonly string[];

async function labelToVerdict(bed: McsBed): Promise<McsRow[]> {
  const server = bed.addressOf(here, 'b1');
  const client = await bed.lab.addressOf(there, `${namespace}/client`);
  await labelOf(bed, here, 'b1', 'server');
  await allow(bed, { podSelector: { matchLabels: { app: 'client', [clusterLabel]: there } } });
  const database = bed.northbound(here);
  try {
    await bed.untilSilent(there, server, port);
    const timed = async (
      rounds: number,
      open: () => Promise<unknown>,
      close: () => Promise<unknown>,
    ): Promise<readonly number[]> => {
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const startMs = nowMs();
        const answered = bed.untilAnswers(there, server, port, [here, 'b1']);
        await open();
        times.push((await answered) - startMs);
        await close();
        await bed.untilSilent(there, server, port);
      }
      return times;
    };
    let sets: readonly string[] = [];
    const ours = await timed(
      changes,
      () => labelOf(bed, there, 'client', 'client'),
      async () => {
        const rows = [...database.cache.table('Address_Set').rows.values()];
        sets = rows.filter((row) => addressesIn(row).includes(client)).map((row) => row['name'] as string);
        await labelOf(bed, there, 'client', null);
      },
    );
    const change = (how: 'insert' | 'delete') => () =>
      database.transact(
        sets.map((name) => ({
          op: 'mutate' as const,
          table: 'Address_Set',
          where: [['name', '==', name]] as const,
          mutations: [['addresses', how, [client]]] as const,
        })),
      );
    // The controller takes out what it did not put in; it is away for less time than its lease lasts.
    const floor = await whileFrozen(bed.lab, here, 'controller', () =>
      timed(bareChanges, change('insert'), change('delete')),
    );
    return ([0.5, 0.99] as const).map((share) => ({
      what: `Label of a pod in one cluster → a policy of the other lets it through, ${share === 0.5 ? 'median' : '99th percentile'} of ${changes}`,
      unit: 'ms',
      ours: quantile(ours, share),
      target: share === 0.5 ? undefined : 1000,
      floor: quantile(floor, share),
      floorIs: 'its address written to the address set of the policy',
    }));
  } finally {
    await bed.kube(here).delete(networkPolicies, policy);
  }
}

/** Pods with addresses and no machines, as the agent reads them: the controller of their cluster is stopped. */
async function createCrowd(bed: McsBed): Promise<void> {
  const kube = bed.kube(there);
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: crowd } });
  await forAll(Array.from({ length: many }), async (_, at) => {
    const name = `p${at}`;
    const ipAddress = `10.16.${64 + (at >> 8)}.${at & 255}`;
    const pod = kube.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: crowd, labels: { app: 'crowd', 'pod-template-hash': '7d4b9c6f5d' } },
      spec: { nodeName: 'phantom', containers: [{ name: 'main', image: 'none' }] },
    });
    const ip = kube.create(ips, {
      apiVersion: apiVersionOf(ips),
      kind: ips.kind,
      metadata: { name: `${name}.${crowd}` },
      spec: {
        podName: name,
        namespace: crowd,
        nodeName: 'phantom',
        subnet: defaultSubnet,
        ipAddress,
        macAddress: '0a:00:00:00:00:01',
      },
    });
    await Promise.all([pod, ip]);
  });
}

/** Everything that has to be read and written, without deciding anything: the objects read, and the addresses as ConfigMaps and as one row. */
async function bareCopy(bed: McsBed): Promise<number> {
  const started = performance.now();
  const held = await Promise.all([pods, ips].map((resource) => bed.kube(there).list(resource)));
  const all = (held[1] ?? []).map((raw) => String((raw['spec'] as { ipAddress?: string }).ipAddress));
  const parts = Array.from({ length: Math.ceil(all.length / 500) }, (_, at) => all.slice(at * 500, at * 500 + 500));
  await forAll(parts, (part, at) =>
    bed.kube(here).request('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `bare-${at}` },
      data: {
        pods: JSON.stringify(part.map((address) => ({ set: 'bench-crowd-selector', vpc: 'ovn-cluster', address }))),
      },
    }),
  );
  const row = { name: 'bench_crowd', addresses: all };
  await bed.northbound(here).transact([{ op: 'insert', table: 'Address_Set', row }]);
  const ms = performance.now() - started;
  await bed.northbound(here).transact([{ op: 'delete', table: 'Address_Set', where: [['name', '==', 'bench_crowd']] }]);
  return ms;
}

async function largeSelector(bed: McsBed): Promise<McsRow[]> {
  return await whileFrozen(bed.lab, there, 'controller', async () => {
    await createCrowd(bed);
    const bareMs = await bareCopy(bed);
    const database = bed.northbound(here);
    // An agent that nobody has asked for pods yet.
    const sessions = (): number => bed.lab.log(there, 'interconnect').split('"msg":"connected"').length;
    const [agent, before] = [bed.lab.pid(there, 'interconnect'), sessions()];
    await bed.lab.kill(there, 'interconnect');
    await bed.lab.waitForRestart(there, 'interconnect', agent);
    await bed.ic.untilPathsAreUp();
    await eventually('the agent to have a session', () => sessions() > before || notYet('none'));
    const size = (): number => {
      const rows = [...database.cache.table('Address_Set').rows.values()];
      return Math.max(0, ...rows.map((row) => addressesIn(row).length));
    };
    const started = performance.now();
    const selectors = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': crowd } },
      podSelector: { matchLabels: { app: 'crowd', [clusterLabel]: there } },
    };
    const there10k = new Promise<number>((resolve) => {
      const stop = database.subscribe(() => {
        if (size() < many) return;
        stop();
        resolve(performance.now());
      });
    });
    await allow(bed, selectors);
    const ended = await Promise.race([
      there10k,
      eventually('all addresses', () => size() >= many || notYet(`${size()}`), 60_000).then(() => performance.now()),
    ]);
    await bed.kube(here).delete(networkPolicies, policy);
    return [
      {
        what: `Selector of ${many.toLocaleString('en')} pods of another cluster, for the first time: all addresses in the database`,
        unit: 's',
        ours: (ended - started) / 1000,
        target: 3,
        floor: bareMs / 1000,
        floorIs: 'the pods and IP objects read, as many addresses written as ConfigMaps of 500 and as one row',
      },
    ];
  });
}

export const measurements: readonly Measurement[] = [{ name: 'policy label', measure: labelToVerdict }];
/** Leaves its pods behind: nothing may be measured in the lab after it. */
export const last: readonly Measurement[] = [{ name: 'policy of many pods', measure: largeSelector }];
