/** The address of the API server that the chart gives its programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everything, type Manifest, parseManifests, renderChart } from './render.ts';

interface Container {
  readonly command?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

interface PodSpec {
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

/** Copies files, and talks to no server. */
const without = '/opt/isthmus/install-cni.mjs';

function programsOf({ kind, metadata, spec }: Manifest): readonly (readonly [string, ReadonlyMap<string, unknown>])[] {
  if (!['Deployment', 'DaemonSet', 'StatefulSet', 'Job'].includes(kind)) return [];
  const pod = (spec as { template: { spec: PodSpec } }).template.spec;
  return [...(pod.initContainers ?? []), ...pod.containers]
    .filter(({ command = [] }) => command.includes('node') && !command.includes(without))
    .map(({ env = [] }) => [`${kind} ${metadata.name}`, new Map(env.map(({ name, value }) => [name, value]))]);
}

test('all programs of Isthmus, those of the uninstallation among them, use the API server at apiServer.host', () => {
  const programs = parseManifests(
    renderChart([...everything, 'apiServer.host=192.0.2.10', 'apiServer.port=7443']),
  ).flatMap(programsOf);
  assert.ok(programs.some(([name]) => name === 'Job isthmus-leave'));
  assert.ok(programs.some(([name]) => name === 'DaemonSet isthmus-daemon'));
  for (const [name, env] of programs)
    assert.deepEqual(
      [env.get('KUBERNETES_SERVICE_HOST'), env.get('KUBERNETES_SERVICE_PORT')],
      ['192.0.2.10', '7443'],
      name,
    );
});

test('without apiServer.host they use what kubelet sets, the Service kubernetes', () => {
  for (const [name, env] of parseManifests(renderChart(everything)).flatMap(programsOf))
    assert.equal(env.has('KUBERNETES_SERVICE_HOST'), false, name);
});
