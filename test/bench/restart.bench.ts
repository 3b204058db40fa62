/** The controller killed and started at once with pods in the cluster, until its first round is done; it must write nothing. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { componentsIn, startComponent } from '../lab/component.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { checkout } from '../lab/layout.ts';
import { node24 } from '../lab/rooms.ts';
import { run, waitFor } from '../lab/run.ts';
import { clear, createPod, Observer, phantomNode, prepare } from './burst.ts';
import { median, type Row, whileFrozen } from './row.ts';

const count = 200;
const runs = 5;

async function restartMs(lab: LabHandle): Promise<number> {
  const component = componentsIn(lab.cluster('east').dir).find(({ name }) => name === 'controller');
  if (component === undefined) throw new Error('the lab runs no controller');
  const seen = lab.log('east', 'controller').length;
  await lab.kill('east', 'controller');
  const started = Date.now();
  await startComponent(component);
  let readyAt = 0;
  await waitFor('the first round', () => {
    const line = /^.*first round done.*$/m.exec(lab.log('east', 'controller').slice(seen))?.[0];
    if (line === undefined) return 'not done';
    readyAt = new Date((JSON.parse(line) as { time: string | number }).time).getTime();
    return true;
  });
  return readyAt - started;
}

/** Node with a program that imports lib/kube and does nothing, with the lab's compile cache as the controller has it. */
async function emptyStartMs(lab: LabHandle): Promise<number> {
  const env = componentsIn(lab.cluster('east').dir).find(({ name }) => name === 'controller')?.env ?? {};
  const program = `await import(${JSON.stringify(join(checkout, 'lib/kube/client.ts'))}); console.log(Date.now())`;
  const started = Date.now();
  return Number(await run([node24, '--input-type=module', '--eval', program], { env })) - started;
}

export async function measure(lab: LabHandle): Promise<Row[]> {
  const kube = lab.kube('east');
  const dir = lab.cluster('east').dir;
  const size = (): number => statSync(join(dir, 'nb.db')).size;
  await prepare(kube, { withNode: true });
  const names = Array.from({ length: count }, (_, at) => `pod-${at}`);
  const observer = await Observer.open(kube, join(dir, 'nb.sock'));
  await Promise.all(names.map((name) => createPod(kube, name, phantomNode)));
  await observer.untilAddressed(names);
  await observer.close();
  await pause(3000);
  const before = size();
  const ours: number[] = [];
  const floor: number[] = [];
  await whileFrozen(lab, '', 'labd', async () => {
    for (let at = 0; at < runs; at += 1) {
      ours.push(await restartMs(lab));
      floor.push(await emptyStartMs(lab));
      await pause(2000);
    }
  });
  const written = size() - before;
  await clear(kube);
  await kube.close();
  return [
    {
      what: `Controller killed and started, ${String(count)} pods, until its first round is done, median of ${String(runs)}; it wrote ${String(written)} bytes to the northbound database`,
      unit: 'ms',
      ours: median(ours),
      floor: median(floor),
      floorIs: 'Node.js starting a program that only imports lib/kube',
    },
  ];
}
