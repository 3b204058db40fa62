/** A thousand pods created at once until each has its port, annotations and IP object; the floor makes the same writes in a bare loop. */
import { annotation } from '../../lib/api/names.ts';
import { openKube } from '../../lib/kube/client.ts';
import { apiVersionOf, ips, pods } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { node24 } from '../lab/rooms.ts';
import { run } from '../lab/run.ts';
import { apiWrites, perPod, writesBetween } from './api-writes.ts';
import { clear, createPod, namespace, Observer, phantomNode, prepare } from './burst.ts';
import { median, type Row } from './row.ts';

const count = 1000;
const rounds = 3;

/** One transaction at a time takes all ports that wait: the batches the controller makes of a burst. */
class Batch {
  readonly #seen: Observer;
  #waiting: string[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(seen: Observer) {
    this.#seen = seen;
  }

  add(name: string): Promise<void> {
    this.#waiting.push(name);
    if (this.#waiting.length === 1) {
      this.#last = this.#last.then(() => this.#seen.ports(this.#waiting.splice(0), 'insert'));
    }
    return this.#last;
  }
}

async function writeBare(kube: KubeClient, name: string, batch: Batch): Promise<void> {
  await createPod(kube, name, phantomNode, true);
  await batch.add(name);
  const address = { ipAddress: '10.16.255.1', macAddress: '0a:00:00:00:00:01' };
  const annotations = {
    [annotation.allocated]: 'true',
    [annotation.routed]: 'true',
    [annotation.ipAddress]: address.ipAddress,
    [annotation.macAddress]: address.macAddress,
    [annotation.cidr]: '10.16.0.0/16',
    [annotation.gateway]: '10.16.0.1',
    [annotation.logicalSwitch]: 'ovn-default',
    [annotation.logicalRouter]: 'ovn-cluster',
    [annotation.podNicType]: 'veth-pair',
  };
  await Promise.all([
    kube.patch(pods, { namespace, name }, 'merge', { metadata: { annotations } }),
    kube.create(ips, {
      apiVersion: apiVersionOf(ips),
      kind: ips.kind,
      metadata: { name: `${name}.${namespace}` },
      spec: { podName: `${name}-bare`, namespace, nodeName: phantomNode, subnet: '', ...address },
    }),
  ]);
}

async function secondsFor(
  seen: Observer,
  names: readonly string[],
  work: (name: string) => Promise<unknown>,
): Promise<number> {
  const started = performance.now();
  await Promise.all([...names.map(work), seen.untilAddressed(names)]);
  return (performance.now() - started) / 1000;
}

/** Runs in the control plane's namespace, beside the API server, as the controller does. */
async function inside(dir: string, controller: number): Promise<{ ours: number[]; floor: number[]; wrote: string }> {
  const kube = openKube({ kubeconfig: `${dir}/internal.kubeconfig`, userAgent: 'bench' });
  await prepare(kube, { withNode: true });
  const seen = await Observer.open(kube, `${dir}/nb.sock`);
  const ours: number[] = [];
  const floor: number[] = [];
  let wrote = '';
  for (let round = 0; round < rounds; round += 1) {
    const names = (kind: string): string[] => Array.from({ length: count }, (_, at) => `${kind}-${round}-${at}`);
    process.kill(controller, 'SIGSTOP');
    try {
      const bare = names('bare');
      const batch = new Batch(seen);
      floor.push(await secondsFor(seen, bare, (name) => writeBare(kube, name, batch)));
      await seen.ports(bare, 'delete');
      await Promise.all(bare.map((name) => kube.delete(ips, { name: `${name}.${namespace}` })));
    } finally {
      process.kill(controller, 'SIGCONT');
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const before = await apiWrites(kube);
    ours.push(await secondsFor(seen, names('pod'), (name) => createPod(kube, name, phantomNode)));
    wrote = perPod(writesBetween(before, await apiWrites(kube)), count);
  }
  await seen.close();
  await clear(kube);
  await kube.close();
  return { ours, floor, wrote };
}

export async function measure(lab: LabHandle): Promise<Row[]> {
  const argv = [node24, import.meta.filename, lab.cluster('east').dir, String(lab.pid('east', 'controller'))];
  const result = JSON.parse(await run(argv, { netns: lab.ns('east'), timeoutMs: 400_000 })) as Awaited<
    ReturnType<typeof inside>
  >;
  const rate = (seconds: readonly number[]): number => count / median(seconds);
  return [
    {
      what: `${count.toLocaleString('en')} pods created at once, until the last has port, annotations and IP object; ${result.wrote}`,
      unit: 'pods/s',
      ours: rate(result.ours),
      floor: rate(result.floor),
      floorIs: 'the same creations, patches and inserts from a bare loop, the controller frozen',
    },
  ];
}

if (import.meta.main) {
  console.log(JSON.stringify(await inside(process.argv[2] ?? '', Number(process.argv[3]))));
}
