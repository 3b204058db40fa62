/** Which flags and rights the daemon has where nodes serve Services. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Manifest, parseManifests, renderChart } from './render.ts';

interface DaemonSetSpec {
  readonly template: { readonly spec: { readonly containers: readonly { readonly args?: readonly string[] }[] } };
}

interface Rule {
  readonly resources?: readonly string[];
}

function daemonOf(manifests: readonly Manifest[], kind: string): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === 'isthmus-daemon');
  assert.ok(found !== undefined, kind);
  return found;
}

function flagsOf(manifests: readonly Manifest[]): readonly string[] {
  const { template } = daemonOf(manifests, 'DaemonSet')['spec'] as DaemonSetSpec;
  const args = template.spec.containers.flatMap(({ args: own = [] }) => own);
  return args.filter((arg) => /^--(services|external-ips|nodeport-addresses|services-healthz-port)=/.test(arg));
}

function resourcesOf(manifests: readonly Manifest[]): ReadonlySet<string> {
  const rules = daemonOf(manifests, 'ClusterRole')['rules'] as readonly Rule[];
  return new Set(rules.flatMap(({ resources = [] }) => resources));
}

test('only daemons of nodes that serve Services read them', () => {
  const served = parseManifests(
    renderChart([
      'services.nodes=on',
      'apiServer.host=192.0.2.1',
      'services.nodePortAddresses={192.0.2.0/24,fd00::/8}',
    ]),
  );
  assert.deepEqual(flagsOf(served), [
    '--services=on',
    '--external-ips=Deny',
    '--services-healthz-port=10256',
    '--nodeport-addresses=192.0.2.0/24,fd00::/8',
  ]);
  const defaults = parseManifests(renderChart([]));
  assert.deepEqual(flagsOf(defaults), []);
  for (const kind of ['services', 'endpointslices', 'servicecidrs']) {
    assert.ok(resourcesOf(served).has(kind), kind);
    assert.ok(!resourcesOf(defaults).has(kind), kind);
  }
});

test('a dry run reads Services, and needs no apiServer.host', () => {
  const dryRun = parseManifests(renderChart(['services.nodes=dry-run', 'services.externalIPs=Allow']));
  assert.deepEqual(flagsOf(dryRun), ['--services=dry-run', '--external-ips=Allow']);
  for (const kind of ['services', 'endpointslices', 'servicecidrs']) assert.ok(resourcesOf(dryRun).has(kind), kind);
});
