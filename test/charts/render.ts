/** The chart as Helm renders it: values in, parsed objects out. Callers: the tests of the chart. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { toolsFolder } from '../../lib/kube/testing.ts';

export const chart = join(import.meta.dirname, '../../charts/isthmus');

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** `a.b=c` pairs as of `--set`. */
export type Values = readonly string[];

/** Every part switched on. */
export const everything: Values = [
  'clusterName=east',
  'interconnect.enabled=true',
  'interconnect.hub=192.0.2.10:6650',
  'interconnect.token=secret',
  'hub.enabled=true',
  'hub.address=192.0.2.10',
  'networking.datapathType=netdev',
  'dns.servers={192.0.2.53,[2001:db8::53]:5353}',
];

/** Runs helm. @throws with helm's own words on standard error */
export function helm(command: readonly string[], values: Values, env: NodeJS.ProcessEnv = process.env): string {
  const sets = values.flatMap((value) => ['--set', value]);
  return execFileSync(join(toolsFolder(), 'helm'), [...command, ...sets], { encoding: 'utf8', env, stdio: 'pipe' });
}

/** The text `helm template` prints for the release Isthmus is meant to be. `served`: kinds that the API server has already, as `group/version/Kind`. */
export function renderChart(values: Values, served: readonly string[] = []): string {
  // A helm that was built without a version of Kubernetes takes itself for 1.20.
  const command = ['template', 'isthmus', chart, '--namespace', 'kube-system', '--kube-version', '1.34.0'];
  return helm([...command, ...served.map((kind) => `--api-versions=${kind}`)], values);
}

/** @throws when a document is no YAML or repeats a key */
export function parseManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text, { uniqueKeys: true })
    .map((document) => {
      if (document.errors[0] !== undefined) throw document.errors[0];
      return document.toJSON() as Manifest | null;
    })
    .filter((manifest) => manifest !== null);
}
