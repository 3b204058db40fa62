/** `helm install` on a real API server: the effects of the first installation, an upgrade and an uninstallation on CRDs and objects. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openKube } from '../../lib/kube/client.ts';
import { interconnects } from '../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { chart, helm, type Values } from '../charts/render.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const release = ['isthmus', '--namespace', 'kube-system'];
const member: Values = [
  'clusterName=east',
  'interconnect.enabled=true',
  'interconnect.hub=192.0.2.10:6650',
  'interconnect.token=secret',
];

let server: TestApiServer;
let kube: KubeClient;

before(async () => {
  server = await startApiServer();
  kube = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
});
after(async () => {
  await kube.close();
  await server.stop();
});

function run(command: string, values: Values = []): string {
  // The Jobs that make daemons leave their nodes need kubelets, which this API server does not have.
  const source = command === 'uninstall' ? ['--no-hooks'] : [chart];
  const env = { ...process.env, KUBECONFIG: server.kubeconfig, HELM_CACHE_HOME: server.dir };
  return helm([command, ...release, ...source], values, env);
}

interface Crd {
  readonly metadata: RawObject['metadata'];
  readonly spec: { readonly versions: readonly { readonly additionalPrinterColumns: readonly object[] }[] };
}

async function subnetColumns(): Promise<number> {
  const crd = (await kube.request('GET', `${crds}/subnets.kubeovn.io`)) as Crd;
  return crd.spec.versions[0]?.additionalPrinterColumns.length ?? 0;
}

async function specOfInterconnect(): Promise<Record<string, unknown>> {
  return (await kube.get(interconnects, { name: 'default' }))['spec'] as Record<string, unknown>;
}

test('the first installation may create an Interconnect, and an upgrade changes it', async () => {
  run('install', member);
  assert.equal((await specOfInterconnect())['hub'], '192.0.2.10:6650');
  run('upgrade', [...member, 'interconnect.hub=192.0.2.11:6650']);
  assert.equal((await specOfInterconnect())['hub'], '192.0.2.11:6650');
});

test('an upgrade that changes nothing writes nothing', async () => {
  const values = [...member, 'interconnect.hub=192.0.2.11:6650'];
  const version = async () => (await kube.get(interconnects, { name: 'default' })).metadata.resourceVersion;
  const crdVersion = async () =>
    ((await kube.request('GET', `${crds}/subnets.kubeovn.io`)) as Crd).metadata.resourceVersion;
  const before_ = [await version(), await crdVersion()];
  run('upgrade', values);
  assert.deepEqual([await version(), await crdVersion()], before_);
});

test('the type of tunnels changes in steps, each once all nodes have the one before', async () => {
  const withType = (type: string): Values => [`networking.encapType=${type.replace(',', '\\,')}`];
  const path = '/apis/apps/v1/namespaces/kube-system/daemonsets/isthmus-daemon';
  const roll = async (updatedNumberScheduled: number): Promise<void> => {
    const { metadata } = (await kube.request('GET', path)) as RawObject & { metadata: { generation: number } };
    const status = {
      observedGeneration: metadata.generation,
      currentNumberScheduled: 3,
      numberMisscheduled: 0,
      desiredNumberScheduled: 3,
      updatedNumberScheduled,
      numberReady: 3,
    };
    await kube.request('PATCH', `${path}/status`, { status }, { contentType: 'application/merge-patch+json' });
  };
  await roll(3);
  assert.throws(
    () => run('upgrade', withType('vxlan')),
    /from geneve to vxlan, nodes with the new type would have no tunnels/,
  );
  run('upgrade', withType('geneve,vxlan'));
  await roll(2);
  assert.throws(() => run('upgrade', withType('vxlan')), /not all nodes have the type geneve,vxlan yet/);
  await roll(3);
  run('upgrade', withType('vxlan'));
});

test('an uninstallation keeps CRDs and membership, and a later installation updates the kept CRDs', async () => {
  const columns = await subnetColumns();
  run('uninstall');
  assert.equal((await specOfInterconnect())['clusterName'], 'east');
  const patch = [{ op: 'remove', path: '/spec/versions/0/additionalPrinterColumns/0' }];
  await kube.request('PATCH', `${crds}/subnets.kubeovn.io`, patch, { contentType: 'application/json-patch+json' });
  assert.equal(await subnetColumns(), columns - 1);
  run('install');
  assert.equal(await subnetColumns(), columns);
});
