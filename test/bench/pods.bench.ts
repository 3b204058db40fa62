/** A thousand pods created at once, until each has its port, annotations and IP object; the floor performs the same writes in a loop. */
import { setTimeout as pause } from 'node:timers/promises';
import { openKube } from '../../lib/kube/client.ts';
import { ips } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { componentsIn, startComponent } from '../lab/component.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { node24 } from '../lab/rooms.ts';
import { run } from '../lab/run.ts';
import { apiWrites, perPod, writesBetween } from './api-writes.ts';
import { clear, createPod, namespace, Observer, phantomNode, prepare } from './burst.ts';
import { median, type Row, whileFrozen } from './row.ts';
import { writeAddress } from './scale-pods.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const count = 1000;
const rounds = 3;

/** One transaction at a time with all pending ports, like the controller's batches in a burst. */
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
  await writeAddress(kube, { name, namespace, node: phantomNode }, 'ovn-default');
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
async function measureInside(dir: string, kind: 'ours' | 'floor', round: string): Promise<Burst> {
  const kube = openKube({ kubeconfig: `${dir}/internal.kubeconfig`, userAgent: 'bench' });
  const seen = await Observer.open(kube, `${dir}/nb.sock`);
  const names = Array.from({ length: count }, (_, at) => `${kind}-${round}-${at}`);
  const before = await apiWrites(kube);
  let seconds: number;
  if (kind === 'ours') seconds = await secondsFor(seen, names, (name) => createPod(kube, name, phantomNode));
  else {
    const batch = new Batch(seen);
    seconds = await secondsFor(seen, names, (name) => writeBare(kube, name, batch));
    await seen.ports(names, 'delete');
    await Promise.all(names.map((name) => kube.delete(ips, { name: `${name}.${namespace}` })));
  }
  const wrote = perPod(writesBetween(before, await apiWrites(kube)), count);
  await seen.close();
  await kube.close();
  return { seconds, wrote };
}

interface Burst {
  readonly seconds: number;
  readonly wrote: string;
}

async function burst(lab: LabHandle, kind: 'ours' | 'floor', round: number): Promise<Burst> {
  const argv = [node24, import.meta.filename, lab.cluster('east').dir, kind, String(round)];
  return JSON.parse(await run(argv, { netns: lab.ns('east'), timeoutMs: 180_000 })) as Burst;
}

/** Starts the controller that was killed; on a lease of its own name it leads at once. */
async function startController(lab: LabHandle): Promise<void> {
  const component = componentsIn(lab.cluster('east').dir).find(({ name }) => name === 'controller');
  if (component === undefined) throw new Error('the lab runs no controller');
  const seen = lab.log('east', 'controller').length;
  await startComponent(component);
  const isDone = (): boolean => lab.log('east', 'controller').slice(seen).includes('first round done');
  await eventually('the first round', () => isDone() || notYet('not done'), 60_000);
  // A cluster that is ready has nothing left to do.
  await pause(2000);
}

export async function measure(lab: LabHandle): Promise<Row[]> {
  const kube = lab.kube('east');
  await prepare(kube, { withNode: true });
  const [ours, floor]: [Burst[], Burst[]] = [[], []];
  // Killed instead of frozen as elsewhere, because its lease would expire meanwhile. Its supervisor is frozen, so that it is not restarted.
  await whileFrozen(lab, '', 'labd', async () => {
    for (let round = 0; round < rounds; round += 1) {
      await lab.kill('east', 'controller');
      floor.push(await burst(lab, 'floor', round));
      await startController(lab);
      ours.push(await burst(lab, 'ours', round));
    }
  });
  await clear(kube);
  await kube.close();
  const rate = (bursts: readonly Burst[]): number => count / median(bursts.map(({ seconds }) => seconds));
  return [
    {
      what: `${count.toLocaleString('en')} pods created at once, until the last has port, annotations and IP object, median of ${String(rounds)}; ${ours.at(-1)?.wrote ?? ''}`,
      unit: 'pods/s',
      ours: rate(ours),
      floor: rate(floor),
      floorIs: 'the same creations, patches and inserts from a bare loop, without a controller',
    },
  ];
}

if (import.meta.main) {
  const [dir = '', kind = '', round = ''] = process.argv.slice(2);
  console.log(JSON.stringify(await measureInside(dir, kind === 'ours' ? 'ours' : 'floor', round)));
}
