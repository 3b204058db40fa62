/** What runs in a lab, one line per place. */
import { componentsIn, stateOf } from './component.ts';
import { directoriesOf } from './heal.ts';
import type { Lab } from './layout.ts';

export interface PlaceStatus {
  readonly place: string;
  readonly running: readonly string[];
  readonly notRunning: readonly string[];
}

export function statusOf(lab: Lab): PlaceStatus[] {
  return directoriesOf(lab).map((dir) => {
    const states = componentsIn(dir).map((component) => ({ name: component.name, state: stateOf(component) }));
    return {
      place: dir === lab.dir ? lab.name : dir.slice(lab.dir.length + 1),
      running: states.filter(({ state }) => state === 'running').map(({ name }) => name),
      notRunning: states.filter(({ state }) => state !== 'running').map(({ name, state }) => `${name} (${state})`),
    };
  });
}

export function renderStatus(places: readonly PlaceStatus[]): string {
  const width = Math.max(...places.map(({ place }) => place.length));
  return places
    .map(
      ({ place, running, notRunning }) =>
        `${place.padEnd(width)}  ${running.join(' ')}${notRunning.length > 0 ? `  NOT RUNNING: ${notRunning.join(', ')}` : ''}`,
    )
    .join('\n');
}
