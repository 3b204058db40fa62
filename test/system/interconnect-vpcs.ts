/** Tests of interconnect.test.ts for VPCs other than the default VPC. Both clusters are members. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { subnets, transitSwitches } from '../../lib/kube/resources.ts';
import { type Bed } from './interconnect-bed.ts';
import { lookAt } from './interconnect-view.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

export async function joinsAnotherVpc(bed: Bed): Promise<void> {
  for (const [cluster, prefix] of [
    ['east', '10.50.0.0/16'],
    ['west', '10.51.0.0/16'],
  ] as const) {
    bed.nb(cluster, 'lr-add', 'blue-vpc');
    await bed.subnet(cluster, 'blue-pods', prefix, 'blue-vpc');
    await bed.kube(cluster).create(transitSwitches, {
      apiVersion: 'isthmus.network/v1alpha1',
      kind: 'TransitSwitch',
      metadata: { name: 'blue' },
      spec: { vpc: 'blue-vpc' },
    });
  }
  await eventually('east has routes to the blue VPC of west', () =>
    bed.nb('east', 'lr-route-list', 'blue-vpc').includes('10.51.0.0/16'),
  );
  assert.ok(!bed.nb('east', 'lr-route-list', 'ovn-cluster').includes('10.51.0.0/16'), 'and no other VPC has');
  for (const cluster of ['west', 'east'])
    await eventually(`it is ready in ${cluster}`, () => bed.isReady(cluster, transitSwitches, 'blue'));
  for (const cluster of ['west', 'east']) {
    await bed.kube(cluster).delete(transitSwitches, { name: 'blue' });
    await eventually(`${cluster} lets it go`, async () =>
      (await bed.kube(cluster).list(transitSwitches)).every(({ metadata }) => metadata.name !== 'blue'),
    );
    await eventually(`${cluster} has no switch of it`, () => !bed.nb(cluster, 'ls-list').includes('blue'));
    await eventually(`${cluster} has no route of it`, () => bed.nb(cluster, 'lr-route-list', 'blue-vpc').trim() === '');
    await bed.kube(cluster).delete(subnets, { name: 'blue-pods' });
    bed.nb(cluster, 'lr-del', 'blue-vpc');
  }
}

export async function leavesPeering(bed: Bed): Promise<void> {
  const { condition } = lookAt(bed);
  const [client, name] = [bed.kube('east'), 'late'];
  const ready = () => condition('east', 'Ready', transitSwitches, name);
  bed.nb('east', 'lr-add', 'red-vpc');
  bed.nb('east', 'lrp-add', 'red-vpc', 'red-vpc-blue', '00:00:00:00:52:01', '10.52.0.1/30', 'peer=blue-red-vpc');
  await bed.subnet('east', 'red-pods', '10.53.0.0/16', 'red-vpc');
  await client.create(transitSwitches, {
    apiVersion: 'isthmus.network/v1alpha1',
    kind: 'TransitSwitch',
    metadata: { name },
    spec: { vpc: 'red-vpc', cidr: '10.52.0.0/24' },
  });
  await eventually('it is refused', async () => {
    const found = await ready();
    return found?.reason === 'TransitOverlap' && found.message?.includes('10.52.0.0/30 (peering red-vpc-blue)');
  });
  const ports = () => bed.nb('east', 'lrp-list', 'red-vpc').trim();
  assert.match(ports(), /^\S+ \(red-vpc-blue\)$/);
  bed.nb('east', 'lrp-del', 'red-vpc-blue');
  await eventually('it has its port', () => bed.isReady('east', transitSwitches, name));
  bed.nb('east', 'lrp-add', 'red-vpc', 'red-vpc-blue', '00:00:00:00:52:01', '10.52.0.1/30', 'peer=blue-red-vpc');
  await sleep(1000);
  assert.equal((await ready())?.status, 'True', 'what comes later takes no port away');
  await client.delete(transitSwitches, { name });
  await eventually('east lets it go', async () =>
    (await client.list(transitSwitches)).every(({ metadata }) => metadata.name !== name),
  );
  await eventuallyPasses(() => assert.match(ports(), /^\S+ \(red-vpc-blue\)$/));
  await client.delete(subnets, { name: 'red-pods' });
  bed.nb('east', 'lr-del', 'red-vpc');
}
