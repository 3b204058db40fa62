/** A zone of stock OVN with plain `ovn-ic` shares the lab's interconnect databases with Isthmus clusters. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openOvsdb } from 'ovsdb-client';
import { installation, ovnProgram } from 'ovsdb-client/testing';
import { nexthopOf } from '../bench/ic/foreign-rows.ts';
import { removeZones } from '../bench/ic/zones.ts';
import { type ForeignZone, startForeignZone } from '../lab/foreign.ts';
import { hubRemotes } from '../lab/layout.ts';
import { openLab } from '../lab/lib/lab.ts';
import { run } from '../lab/run.ts';
import { addWorkload, removeWorkload, waitForPods } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('a zone with plain ovn-ic', () => {
  const lab = openLab();
  const namespace = 'beside';
  const clusters = ['east', 'west'] as const;
  const { hub } = lab.layout;
  if (hub === undefined) throw new Error('the lab has no hub');
  let zone: ForeignZone;

  /** Removes the zone's rows like the administrator of a zone whose ovn-ic is gone. */
  const removeRows = async (): Promise<void> => {
    const southbound = await openOvsdb({
      remotes: hubRemotes(hub, 'icsb').split(','),
      database: 'OVN_IC_Southbound',
      monitor: { Availability_Zone: ['name'] },
    });
    await removeZones(southbound, (name) => name === zone.name);
    await southbound.close();
  };

  before(async () => {
    for (const cluster of clusters) await addWorkload(lab, cluster, { namespace, pods: [{ name: 'one', node: 'n3' }] });
    for (const cluster of clusters) await waitForPods(lab, cluster, namespace, 1);
    zone = await startForeignZone(lab.layout, { name: 'plain', podCidr: '10.30.0.0/16', octet: 200 });
    const find = ['--bare', '--columns=external_ids', 'find', 'Transit_Switch', 'name=ts'];
    const ids = await run([
      ovnProgram('ovn-ic-nbctl', installation(hub.ovn)),
      `--db=${hubRemotes(hub, 'icnb')}`,
      ...find,
    ]);
    const network = /subnet=([\d./]+)/.exec(ids)?.[1] ?? '';
    const address = nexthopOf({ transitSwitch: 'ts', network, clusters: 0, routesEach: 0 }, 0);
    await zone.attach('ts', `${address}/${network.split('/')[1] ?? ''}`);
  });
  after(async () => {
    await zone.stop();
    await removeRows();
    await Promise.all(clusters.map((cluster) => removeWorkload(lab, cluster, namespace)));
  });

  for (const cluster of clusters) {
    it(`reaches ${cluster} and is reached from it`, async () => {
      await lab.ping(zone.netns, await lab.addressOf(cluster, `${namespace}/one`));
      await lab.ping(lab.ns(cluster, `${namespace}/one`), zone.address);
    });
  }

  it('has a RemoteCluster', async () => {
    const phase = ['get', 'remotecluster', zone.name, '-o', 'jsonpath={.status.phase}'];
    await eventually('its phase to be Ready', async () => {
      const { stdout, stderr } = await lab.tryKubectl('east', phase);
      return stdout === 'Ready' || notYet(stdout || stderr);
    });
  });

  it('keeps the rows that ovn-ic wrote', async () => {
    const show = ['--bare', '--columns=external_ids', 'find', 'Port_Binding', `logical_port=ts-${zone.name}`];
    const ids = await run([
      ovnProgram('ovn-ic-sbctl', installation(hub.ovn)),
      `--db=${hubRemotes(hub, 'icsb')}`,
      ...show,
    ]);
    assert.ok(!ids.includes('isthmus'), ids);
  });

  it('loses its routes when its rows are removed from the databases', async () => {
    await zone.stopSync();
    await removeRows();
    for (const cluster of clusters)
      await eventually(`${cluster} to have no route to it`, async () => {
        const routes = await lab.nbctl(cluster, ['lr-route-list', 'ovn-cluster']);
        return !routes.includes('10.30.0.0/16') || notYet(routes);
      });
  });
});
