import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planKey, reportKey } from '../../plan/plan.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { allApplied } from '../../testing-reports.ts';
import { basic, created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseNode } from '../../watch/workloads.ts';
import { recordOfRow, serviceRecordOfRow } from '../address/records.ts';
import { serviceAllocation } from './join.ts';

/** Writes a Node, which names the service address that it had. */
function node(cluster: TestCluster, name: string, former?: string): void {
  const annotations = former === undefined ? {} : { 'isthmus.network/service-address': former };
  cluster.change('nodes', name, parseNode({ metadata: meta(name, { ...created(2), annotations }) }));
  cluster.settle();
}

const addressOf = (cluster: TestCluster, name: string): string | undefined => serviceAllocation(cluster, name)?.v4;

describe('the service address of a node', () => {
  test('is a second address of its port, and an annotation', () => {
    const cluster = basic();
    node(cluster, 'n1');
    const port = planKey(cluster, 'node/n1').rows.find(({ table }) => table === 'Logical_Switch_Port');
    assert.match(JSON.stringify(port?.columns['addresses']), /^\["0a:\S+ 100\.64\.0\.2 100\.64\.0\.3"\]$/);
    const [report] = reportKey(cluster, 'node/n1', allApplied);
    assert.equal(report?.annotations?.['isthmus.network/service-address'], '100.64.0.3');
    subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16,fd00:64::/64' }, created(1));
    assert.ok(cluster.settle().has('node/n1'));
    const rows = JSON.stringify(planKey(cluster, 'node/n1').rows);
    assert.match(rows, / 100\.64\.0\.2 fd00:64::2 100\.64\.0\.3 fd00:64::3"/);
  });

  test('is read from the database after a restart', () => {
    const row = '0a:00:00:00:00:01 100.64.0.9 fd00:64::9 100.64.0.7 fd00:64::7';
    const [own, service] = [recordOfRow(row, 'join'), serviceRecordOfRow(row)];
    assert.ok(own !== undefined && service !== undefined);
    assert.equal(serviceRecordOfRow('0a:00:00:00:00:01 100.64.0.9'), undefined);
    const cluster = new TestCluster();
    vpc(cluster, 'ovn-cluster', {}, created(1));
    subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16,fd00:64::/64' }, created(1));
    for (const name of ['n0', 'n1']) cluster.change('nodes', name, parseNode({ metadata: meta(name, created(2)) }));
    cluster.restore(
      new Map([
        ['node-n1', own],
        ['node-service/n1', service],
      ]),
    );
    cluster.settle();
    const port = planKey(cluster, 'node/n1').rows.find(({ table }) => table === 'Logical_Switch_Port');
    assert.deepEqual(port?.columns['addresses'], [row]);
  });

  test('stays the same when the node is registered again, unless another node has it', () => {
    const cluster = basic();
    node(cluster, 'n1');
    node(cluster, 'n2', '100.64.0.50');
    node(cluster, 'n3', addressOf(cluster, 'n1'));
    assert.equal(addressOf(cluster, 'n2'), '100.64.0.50');
    assert.notEqual(addressOf(cluster, 'n3'), addressOf(cluster, 'n1'));
    node(cluster, 'n2', '100.64.0.99');
    assert.equal(addressOf(cluster, 'n2'), '100.64.0.50', 'an edit of the annotation changes nothing');
    cluster.change('nodes', 'n2', undefined);
    cluster.settle();
    assert.equal(addressOf(cluster, 'n2'), undefined);
  });
});
