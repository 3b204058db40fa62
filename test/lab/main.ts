/**
 * The lab's command line: `up`, `down`, `status`, `heal`. LAB names the lab, TOPOLOGY is a file, LAB_WITHOUT a comma
 * list of rooms that the user runs by hand, ISTHMUS_OVN the OVN of clusters whose topology names none. Called by the Makefile, by tests, and by the demo.
 */
import { takeDown } from './down.ts';
import { healLab } from './heal.ts';
import { interruptible } from './interrupt.ts';
import { labName, openLayout, type Room, rooms } from './layout.ts';
import { waitUntilReady } from './ready.ts';
import { renderStatus, statusOf } from './status.ts';
import { bringUp } from './up.ts';

const usage = 'usage: main.ts up|down|status|heal   (environment: LAB, TOPOLOGY, LAB_WITHOUT, ISTHMUS_OVN)';

/** Starts the lab that the environment describes and waits until it is ready. */
export async function upFromEnvironment(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const started = Date.now();
  const say = (step: string): void =>
    console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${step}`);
  const lab = await bringUp({
    name: labName(env),
    topology: env['TOPOLOGY'] || undefined,
    ovn: env['ISTHMUS_OVN'] || undefined,
    without: roomsFrom(env['LAB_WITHOUT'] ?? ''),
    say,
  });
  await waitUntilReady(lab, say);
  say(`lab ${lab.name} is ready`);
}

function roomsFrom(list: string): Room[] {
  return list
    .split(',')
    .filter((word) => word !== '')
    .map((word) => {
      const room = rooms.find((known) => known === word);
      if (room === undefined) throw new Error(`LAB_WITHOUT: ${word} is not a room; rooms are ${rooms.join(', ')}`);
      return room;
    });
}

async function main(command: string): Promise<number> {
  switch (command) {
    case 'up':
      await interruptible(labName(), () => upFromEnvironment());
      return 0;
    case 'down':
      await takeDown(labName());
      return 0;
    case 'heal': {
      const healed = await healLab(openLayout(labName()));
      console.log(healed.length === 0 ? 'nothing was dead or stopped' : `healed: ${healed.join(', ')}`);
      return 0;
    }
    case 'status': {
      const places = statusOf(openLayout(labName()));
      console.log(renderStatus(places));
      return places.some(({ notRunning }) => notRunning.length > 0) ? 1 : 0;
    }
    default:
      console.error(usage);
      return 2;
  }
}

if (import.meta.main) {
  if (process.getuid?.() !== 0) {
    console.error('the lab makes network namespaces: run it as root');
    process.exit(1);
  }
  main(process.argv[2] ?? '').then(
    (code) => process.exit(code),
    (error: unknown) => {
      console.error(error instanceof Error ? error.message : error);
      process.exit(1);
    },
  );
}
