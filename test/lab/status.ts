/** Running processes of a lab, one line per place. */
import { execFileSync } from 'node:child_process';
import { installation, ovnProgram, versionIn } from 'ovsdb-client/testing';
import { componentsIn, stateOf } from './component.ts';
import { directoriesOf } from './heal.ts';
import type { Lab } from './layout.ts';

export interface PlaceStatus {
  readonly place: string;
  readonly running: readonly string[];
  readonly notRunning: readonly string[];
  /** Of a place with OVN databases: the versions its servers were started in. */
  readonly versions?: string;
}

export function statusOf(lab: Lab): PlaceStatus[] {
  const places = [...lab.clusters, ...(lab.hub ? [lab.hub] : [])];
  const texts = new Map([...new Set(places.map(({ ovn }) => ovn))].map((ovn) => [ovn, versionsOf(ovn)]));
  return directoriesOf(lab).map((dir) => {
    const states = componentsIn(dir).map((component) => ({ name: component.name, state: stateOf(component) }));
    const versions = texts.get(places.find((place) => place.dir === dir)?.ovn ?? 'none');
    return {
      place: dir === lab.dir ? lab.name : dir.slice(lab.dir.length + 1),
      running: states.filter(({ state }) => state === 'running').map(({ name }) => name),
      notRunning: states.filter(({ state }) => state !== 'running').map(({ name, state }) => `${name} (${state})`),
      ...(versions === undefined ? {} : { versions }),
    };
  });
}

function versionsOf(ovn: string): string {
  const from = installation(ovn);
  const version = (program: string): string =>
    versionIn(execFileSync(ovnProgram(program, from), ['--version'], { encoding: 'utf8' }));
  return `OVN ${version('ovn-nbctl')}, Open vSwitch ${version('ovs-vsctl')}`;
}

export function renderStatus(places: readonly PlaceStatus[]): string {
  const width = Math.max(...places.map(({ place }) => place.length));
  return places
    .map(({ place, running, notRunning, versions }) => {
      const missing = notRunning.length > 0 ? `  NOT RUNNING: ${notRunning.join(', ')}` : '';
      return `${place.padEnd(width)}  ${running.join(' ')}${versions ? `  (${versions})` : ''}${missing}`;
    })
    .join('\n');
}
