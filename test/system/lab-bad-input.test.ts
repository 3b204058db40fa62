/** Invalid objects of users: the API refuses them if a rule can express it; otherwise a condition and an event report the cause. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openLab } from '../lab/lib/lab.ts';
import {
  addWorkload,
  applyObjects,
  conditionsOf,
  eventsWith,
  removeWorkload,
  subnetManifest,
  waitForPods,
} from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('invalid input', () => {
  const lab = openLab();
  const made = ['bad-overlap', 'bad-overlap-default', 'bad-vpc', 'bad-field', 'bad-transit', 'ts', 'ovn-cluster'];

  before(async () => {
    await addWorkload(lab, 'east', {
      namespace: 'bystander',
      cidr: '10.50.0.0/24',
      pods: [{ name: 'calm', node: 'n1' }],
    });
    await waitForPods(lab, 'east', 'bystander', 1);
  });
  after(async () => {
    await lab.kubectl('east', ['delete', 'subnet', ...made, '--ignore-not-found', '--timeout=60s']);
    await Promise.all(['cramped', 'bystander'].map((namespace) => removeWorkload(lab, 'east', namespace)));
  });

  for (const [what, cidrBlock] of [
    ['letters', 'ten.sixteen'],
    ['an address above 255', '10.300.0.0/16'],
    ['no mask', '10.60.0.0'],
    ['a mask of 33', '10.60.0.0/33'],
    ['two IPv4 blocks', '10.60.0.0/24,10.61.0.0/24'],
    ['a single address', '10.60.0.1/32'],
  ]) {
    it(`the API refuses a CIDR with ${what ?? ''}`, async () => {
      const answer = await lab.tryKubectl(
        'east',
        ['apply', '-f', '-'],
        JSON.stringify(subnetManifest('bad-cidr', { cidrBlock })),
      );
      assert.notEqual(answer.code, 0, answer.stdout);
      assert.match(answer.stderr, /cidrBlock/);
    });
  }

  const late = [
    ['bad-overlap', { cidrBlock: '10.50.0.128/25' }, /bystander/],
    ['bad-overlap-default', { cidrBlock: '10.16.4.0/24' }, /ovn-default/],
    ['bad-vpc', { cidrBlock: '10.61.0.0/24', vpc: 'nowhere' }, /nowhere/],
    ['bad-transit', { cidrBlock: '100.100.7.0/24' }, /transit switch ts/],
    ['ts', { cidrBlock: '10.65.0.0/24' }, /transit switch/],
    ['ovn-cluster', { cidrBlock: '10.66.0.0/24' }, /name of the Vpc/],
    ['bad-field', { cidrBlock: '10.62.0.0/24', vlan: 'trunk' }, /spec\.vlan names Vlan trunk, which does not exist/],
  ] as const;
  for (const [name, spec, cause] of late) {
    it(`condition and event of ${name} name the cause`, async () => {
      await applyObjects(lab, 'east', [subnetManifest(name, spec)]);
      await eventually(`a condition on ${name}`, async () => {
        const conditions = await conditionsOf(lab, 'east', 'subnet', name);
        const ready = conditions.find(({ type }) => type === 'Ready');
        return (ready?.status === 'False' && cause.test(ready.message ?? '')) || notYet(JSON.stringify(conditions));
      });
      await eventually(`an event on ${name}`, async () => {
        const events = await eventsWith(lab, 'east', `involvedObject.name=${name},type=Warning`);
        return cause.test(events) || notYet(events);
      });
      const subnets = await lab.nbctl('east', [
        '--bare',
        '--columns=name',
        'find',
        'Logical_Switch',
        `external_ids:isthmus-owner=controller/subnet/${name}`,
      ]);
      assert.equal(subnets.trim(), '');
    });
  }

  it('a refused subnet becomes ready when its cause is removed', async () => {
    await lab.kubectl('east', [
      'patch',
      'subnet',
      'bad-overlap',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { cidrBlock: '10.63.0.0/24', gateway: '', excludeIps: [] } }),
    ]);
    await eventually('bad-overlap to be ready', async () => {
      const conditions = await conditionsOf(lab, 'east', 'subnet', 'bad-overlap');
      return (
        conditions.some(({ type, status }) => type === 'Ready' && status === 'True') ||
        notYet(JSON.stringify(conditions))
      );
    });
  });

  it('other subnets and pods are not affected', async () => {
    const address = await lab.addressOf('east', 'bystander/calm');
    await lab.ping(lab.router('tor').netns, address);
    const conditions = await conditionsOf(lab, 'east', 'subnet', 'bystander');
    assert.ok(conditions.some(({ type, status }) => type === 'Ready' && status === 'True'));
  });

  it('refused subnets can be deleted', async () => {
    await lab.kubectl('east', ['delete', 'subnet', 'ts', 'ovn-cluster', 'bad-transit', '--timeout=60s']);
  });

  it('a deleted default Vpc is created again, and a subnet that waits for its deletion keeps its pods connected', async () => {
    await lab.kubectl('east', ['delete', 'vpc', 'ovn-cluster', '--timeout=60s']);
    await eventually(
      'the Vpc ovn-cluster',
      async () => (await lab.tryKubectl('east', ['get', 'vpc', 'ovn-cluster'])).code === 0 || notYet('is not there'),
    );
    await lab.kubectl('east', ['delete', 'subnet', 'bystander', '--wait=false']);
    await eventually('bystander to be deleted once its pod is', async () => {
      const conditions = await conditionsOf(lab, 'east', 'subnet', 'bystander');
      return (
        conditions.some(({ reason, message }) => reason === 'Deleting' && message?.includes('calm') === true) ||
        notYet(JSON.stringify(conditions))
      );
    });
    await lab.ping(lab.router('tor').netns, await lab.addressOf('east', 'bystander/calm'));
    assert.match(await lab.nbctl('west', ['lr-route-list', 'ovn-cluster']), /10\.50\.0\.0\/24/);
  });

  it('a pod without an address has an event with the reason, and starts when an address is free', async () => {
    await addWorkload(lab, 'east', {
      namespace: 'cramped',
      cidr: '10.64.0.0/30',
      pods: [{ name: 'first', node: 'n1' }],
    });
    await waitForPods(lab, 'east', 'cramped', 1);
    await addWorkload(lab, 'east', {
      namespace: 'cramped',
      cidr: '10.64.0.0/30',
      pods: [{ name: 'second', node: 'n2' }],
    });
    await eventually('an event on cramped/second', async () => {
      const fields = 'involvedObject.namespace=cramped,involvedObject.name=second,reason=AcquireAddressFailed';
      const events = await eventsWith(lab, 'east', fields);
      return /NoAvailableAddress/.test(events) || notYet(events);
    });
    await lab.kubectl('east', ['delete', 'pod', '-n', 'cramped', 'first', '--timeout=60s']);
    await waitForPods(lab, 'east', 'cramped', 1);
    await lab.ping(lab.router('tor').netns, await lab.addressOf('east', 'cramped/second'));
  });
});
