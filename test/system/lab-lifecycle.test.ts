/** New subnets and pods have connectivity in both clusters, and leave nothing behind when they are deleted. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { openLab } from '../lab/lib/lab.ts';
import { run } from '../lab/run.ts';
import { addWorkload, removeWorkload, waitForPods, outsideOf } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('a namespace with its own subnet', () => {
  const lab = openLab();
  const namespace = 'orchard';
  const cidr = '10.40.0.0/24';
  const workload = {
    namespace,
    cidr,
    pods: [
      { name: 'apple', node: 'n1' },
      { name: 'pear', node: 'n2' },
    ],
  };

  after(() => Promise.all(['east', 'west'].map((cluster) => removeWorkload(lab, cluster, namespace))));

  for (const round of ['created', 'created again after it was deleted']) {
    it(`has connectivity in both clusters when ${round}`, async (context) => {
      await addWorkload(lab, 'west', { namespace, pods: [{ name: 'plum', node: 'n3' }] });
      const start = performance.now();
      await addWorkload(lab, 'east', workload);
      await waitForPods(lab, 'east', namespace, 2);
      await waitForPods(lab, 'west', namespace, 1);
      const apple = lab.ns('east', `${namespace}/apple`);
      const pear = await lab.addressOf('east', `${namespace}/pear`);
      assert.match(pear, /^10\.40\.0\./);
      await lab.ping(apple, pear);
      await lab.ping(lab.ns('west', `${namespace}/plum`), pear);
      await lab.ping(apple, await lab.addressOf('west', `${namespace}/plum`));
      await lab.ping(apple, outsideOf(lab));
      await lab.ping(lab.router('tor').netns, pear);
      const seconds = (performance.now() - start) / 1000;
      context.diagnostic(`everything answered after ${seconds.toFixed(1)} s`);
    });

    it('leaves nothing behind when deleted', async () => {
      await Promise.all(['east', 'west'].map((cluster) => removeWorkload(lab, cluster, namespace)));
      await eventually('the northbound database to hold nothing of it', async () => {
        const dump = await lab.nbctl('east', ['show']);
        const policies = await lab.nbctl('east', ['lr-policy-list', 'ovn-cluster']);
        const groups = await lab.nbctl('east', ['--bare', '--columns=name', 'list', 'Port_Group']);
        return (
          (!`${dump}${policies}${groups}`.includes(namespace) && !policies.includes(cidr)) ||
          notYet(`${dump}\n${policies}\n${groups}`)
        );
      });
      for (const node of lab.cluster('east').nodes) {
        await eventually(`Open vSwitch of ${node.name} to hold nothing of it`, async () => {
          const ports = await lab.vsctl('east', node.name, ['--bare', '--columns=external_ids', 'list', 'Interface']);
          return !ports.includes(namespace) || notYet(ports);
        });
      }
      await eventually('no IP objects of it', async () => {
        const ips = await lab.kubectl('east', ['get', 'ips']);
        return !ips.includes(namespace) || notYet(ips);
      });
      await eventually('the other cluster to forget the route', async () => {
        const routes = await lab.nbctl('west', ['lr-route-list', 'ovn-cluster']);
        return !routes.includes('10.40.0.0') || notYet(routes);
      });
      await eventually('the router to forget the route', async () => {
        const routes = await lab.vtysh('tor', 'show ip route bgp');
        return !routes.includes('10.40.0.0') || notYet(routes);
      });
      await eventually('no network namespaces of its pods', async () => {
        const spaces = await run(['ip', 'netns', 'list']);
        return !spaces.includes(`${lab.layout.name}-east-${namespace}`) || notYet(spaces);
      });
    });
  }
});
