/** The Multi-Cluster Services API: its CRDs, which others may have brought before, and its values. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { chart, everything, parseManifests, renderChart } from './render.ts';

const made = (...served: readonly string[]): readonly string[] => {
  const kinds = served.map((kind) => `multicluster.x-k8s.io/${kind}`);
  const names = renderChart([], kinds).matchAll(/^ {2}name: (service[a-z]+)\.multicluster/gm);
  return [...names].map(([, plural = '']) => plural);
};

test('a kind that is served in any version is left alone', () => {
  for (const version of ['v1alpha1', 'v1beta1']) {
    assert.deepEqual(made(`${version}/ServiceExport`), ['serviceimports'], version);
    assert.deepEqual(made(`${version}/ServiceImport`), ['serviceexports'], version);
    assert.deepEqual(made(`${version}/ServiceExport`, `${version}/ServiceImport`), [], version);
  }
});

test('Helm makes both where none is served, and keeps them when an upgrade does not render them', () => {
  assert.deepEqual(made(), ['serviceexports', 'serviceimports']);
  for (const plural of made()) {
    const text = readFileSync(join(chart, `mcs-crds/multicluster.x-k8s.io_${plural}.yaml`), 'utf8');
    assert.match(text, /^ {4}helm\.sh\/resource-policy: keep$/m, plural);
  }
});

test('annotations of Cilium are read unless the values say otherwise, and the agent knows whether there are load balancers', () => {
  const specOf = (...values: readonly string[]): object => {
    const manifests = parseManifests(renderChart([...everything, ...values]));
    return manifests.find(({ kind }) => kind === 'Interconnect')?.['spec'] as object;
  };
  assert.ok(!('ciliumAnnotations' in specOf()), 'the default of the kind');
  assert.partialDeepStrictEqual(specOf('interconnect.ciliumAnnotations=false'), { ciliumAnnotations: false });
  const manifests = renderChart([...everything, 'networking.enableLb=false']);
  assert.equal(manifests.match(/--enable-lb=false/g)?.length, 2, 'of the controller and of the agent');
});
