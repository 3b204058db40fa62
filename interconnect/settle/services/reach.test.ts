import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { local } from '../../model/testing.ts';
import { noEdges } from '../../model/edges.ts';
import { Reach } from './reach.ts';
import { routeTo } from './testing.ts';

const vpc = 'ovn-cluster';

describe('the addresses that a VPC reaches in another cluster', () => {
  it('are those of routes in use', () => {
    const reach = new Reach();
    assert.equal(reach.setCluster('west', [routeTo('10.17.0.0/16')]), true);
    assert.equal(reach.setCluster('west', [routeTo('10.17.0.0/16')]), false, 'nothing changed');
    assert.equal(reach.reaches(vpc, 'west', '10.17.0.11'), true);
    assert.equal(reach.reaches(vpc, 'west', '10.18.0.11'), false);
    assert.equal(reach.reaches('blue', 'west', '10.17.0.11'), false);
    assert.equal(reach.reaches(vpc, 'east', '10.17.0.11'), false);
    assert.equal(reach.setCluster('west', [routeTo('10.17.0.0/16', false)]), true, 'the last path is down');
    assert.equal(reach.reaches(vpc, 'west', '10.17.0.11'), false);
  });

  it('are not those of a more specific prefix that another cluster has', () => {
    const reach = new Reach();
    reach.setCluster('west', [routeTo('10.0.0.0/8'), routeTo('fd00:17::/64')]);
    reach.setCluster('north', [routeTo('10.18.0.0/16')]);
    assert.equal(reach.reaches(vpc, 'west', '10.18.0.11'), false);
    assert.equal(reach.reaches(vpc, 'north', '10.18.0.11'), true);
    assert.equal(reach.reaches(vpc, 'west', 'fd00:17::1'), true);
    reach.setCluster('north', undefined);
    assert.equal(reach.reaches(vpc, 'west', '10.18.0.11'), true);
    assert.equal(reach.reaches(vpc, 'west', 'no address'), false);
  });

  it('are never addresses of this cluster', () => {
    const reach = new Reach();
    reach.setCluster('west', [routeTo('10.0.0.0/8')]);
    reach.setOwn(local, noEdges);
    assert.equal(reach.reaches(vpc, 'west', '10.16.0.11'), false);
    assert.equal(reach.reaches(vpc, 'west', '10.17.0.11'), true);
  });
});
