/** How the cost of a plan grows with what it does not touch. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { growthOf } from '../../lib/testing-growth.ts';
import { clusterOf, group, planAll, pod, type Planned } from '../testing-groups.ts';
import { clusterOfPolicies, policyPod } from '../testing-policies.ts';
import { planKey } from './plan.ts';

const [pods, few, many] = [10_000, 10, 1000];
const fewPods = 1000;
const edits = 200;

describe('growth of security groups', () => {
  test('the cost of one pod does not grow with the number of groups', async (context) => {
    const [ten, thousand] = [clusterOf(few, fewPods), clusterOf(many, fewPods)];
    let rate = 1;
    const edit =
      ({ cluster }: Planned, groups: number) =>
      () => {
        rate += 1;
        for (let i = 0; i < edits; i += 1) {
          pod(cluster, i, groups, rate);
          for (const key of cluster.settle()) planKey(cluster, key);
        }
      };
    const growth = await growthOf({ small: edit(ten, few), large: edit(thousand, many) });
    context.diagnostic(`an edit with ${many} groups takes ${growth.toFixed(2)} times one with ${few}`);
    // A look at all groups would be a hundred times as much.
    assert.ok(growth < 5, `${growth} times`);
  });

  test('the cost of a group that is created or deleted grows with the objects that name it only', async (context) => {
    const [ten, thousand] = [clusterOf(few, fewPods), clusterOf(many, fewPods)];
    const comeAndGo =
      ({ cluster }: Planned) =>
      () => {
        for (let i = 0; i < edits; i += 1) {
          group(cluster, 'new', 'sg1');
          for (const key of cluster.settle()) planKey(cluster, key);
          cluster.change('securityGroups', 'new', undefined);
          for (const key of cluster.settle()) planKey(cluster, key);
        }
      };
    const growth = await growthOf({ small: comeAndGo(ten), large: comeAndGo(thousand) });
    context.diagnostic(
      `a group among ${many} comes and goes in ${growth.toFixed(2)} times the time of one among ${few}`,
    );
    assert.ok(growth < 5, `${growth} times`);
  });

  test('groups raise the cost of a full plan by about half', async (context) => {
    const [none, thousand] = [clusterOf(0, pods), clusterOf(many, pods)];
    const growth = await growthOf({ small: () => planAll(none), large: () => planAll(thousand) });
    context.diagnostic(`${pods} pods in ${many} groups take ${growth.toFixed(2)} times those in none`);
    // Rows and memberships of groups add 0.3 to 0.5; a look at all groups for each pod would be thirty times as much.
    assert.ok(growth < 1.75, `${growth} times`);
  });
});

describe('growth of network policies', () => {
  test('the cost of a changed label does not grow with the number of policies', async (context) => {
    const [ten, thousand] = [clusterOfPolicies(few, fewPods), clusterOfPolicies(many, fewPods)];
    let application = 0;
    const edit =
      ({ cluster }: Planned) =>
      () => {
        application += 1;
        for (let i = 0; i < edits; i += 1) {
          policyPod(cluster, i, i + application);
          for (const key of cluster.settle()) planKey(cluster, key);
        }
      };
    const growth = await growthOf({ small: edit(ten), large: edit(thousand) });
    context.diagnostic(`a label under ${many} policies takes ${growth.toFixed(2)} times one under ${few}`);
    // A look at all policies would be fifty times as much.
    assert.ok(growth < 5, `${growth} times`);
  });

  test('a full plan grows with what pods are in', async (context) => {
    const [ten, thousand] = [clusterOfPolicies(few, pods), clusterOfPolicies(many, pods)];
    const growth = await growthOf({ small: () => planAll(ten), large: () => planAll(thousand) });
    context.diagnostic(`${pods} pods under ${many} policies take ${growth.toFixed(2)} times those under ${few}`);
    assert.ok(growth < 3, `${growth} times`);
  });
});
