/** Which flags and rights follow from policies.counters and policies.drops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseManifests, renderChart } from './render.ts';

interface Workload {
  readonly template: { readonly spec: { readonly containers: readonly { readonly args?: readonly string[] }[] } };
}

function rendered(...values: readonly string[]) {
  const manifests = parseManifests(renderChart(values));
  const flagsOf = (kind: string, name: string) => {
    const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
    assert.ok(found !== undefined, name);
    const args = (found['spec'] as Workload).template.spec.containers.flatMap(({ args: own = [] }) => own);
    return args.filter((arg) => arg.startsWith('--policy-') || arg.startsWith('--southbound-tls'));
  };
  const role = manifests.find((one) => one.kind === 'ClusterRole' && one.metadata.name === 'isthmus-daemon');
  const rules = role?.['rules'] as readonly { readonly resources: readonly string[] }[];
  const resources = rules
    .flatMap((rule) => rule.resources)
    .filter((one) => /^(?:namespaces|networkpolicies)$/.test(one));
  return [...flagsOf('Deployment', 'isthmus-controller'), ...flagsOf('DaemonSet', 'isthmus-daemon'), ...resources];
}

test('drops are off by default', () => {
  assert.deepEqual(rendered(), ['--policy-counters', 'networkpolicies']);
  assert.deepEqual(rendered('policies.counters=false'), []);
  // As `helm upgrade --reuse-values` has them from a release without this value.
  assert.deepEqual(rendered('policies.drops=null'), ['--policy-counters', 'networkpolicies']);
});

test('drops of labelled Namespaces need the right to list Namespaces, those of all do not', () => {
  const labelled = ['--policy-drops', '--policy-drops=labelled', 'namespaces', 'networkpolicies'];
  assert.deepEqual(rendered('policies.counters=false', 'policies.drops=labelled'), labelled);
  const all = ['--policy-drops', '--policy-counters', '--policy-drops=all', 'networkpolicies'];
  assert.deepEqual(rendered('policies.drops=all'), all);
  const tls = rendered(
    'policies.counters=false',
    'policies.drops=all',
    'ovn.tls.secretName=ovn',
    'ovn.central.deploy=false',
    'ovn.remotes.nb=ssl:192.0.2.1:6641',
    'ovn.remotes.sb=ssl:192.0.2.1:6642',
  );
  assert.ok(tls.includes('--southbound-tls=/etc/isthmus/ovn-tls'));
});
