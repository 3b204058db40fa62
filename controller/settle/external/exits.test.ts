import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { UpstreamState } from '../../model/settled.ts';
import { planKey } from '../../plan/plan.ts';
import type { TestController } from '../../testing-api.ts';
import { controllerOf, made, node, outside, storedIn } from '../../testing-external.ts';

const two = { enableExternal: true, enableBfd: true, extraExternalSubnets: ['second'] };
const routers = { external: '203.0.113.1', second: '198.51.100.1' } as const;
type Name = keyof typeof routers;

async function see(controller: TestController, states: Readonly<Partial<Record<Name, UpstreamState>>>): Promise<void> {
  const entries = Object.entries(states).map(([name, state]): [string, UpstreamState] => [
    `blue-${name}/${routers[name as Name]}`,
    state,
  ]);
  controller.cluster.setUpstreams(new Map(entries));
  await controller.settle();
}

function rowsOf(controller: TestController, key: string, table: string): readonly DesiredRow[] {
  return planKey(controller.cluster, key).rows.filter((row) => row.table === table);
}

/** `prefix by gateway`, with a `!` where the route holds only as long as its session is up. */
function exits(controller: TestController): readonly string[] {
  return rowsOf(controller, 'external-exit/blue', 'Logical_Router_Static_Route').map(({ columns }) => {
    const { ip_prefix: prefix, nexthop, bfd } = columns as Readonly<Record<string, string | null>>;
    return `${String(prefix)} by ${String(nexthop)}${bfd === null ? '' : '!'}`;
  });
}

function condition(controller: TestController, object: string): string {
  const { conditions = [] } = (controller.objects.get(object)?.['status'] ?? {}) as {
    readonly conditions?: readonly Readonly<Record<string, string>>[];
  };
  const { status = '', reason = '', message = '' } = conditions.find(({ type }) => type === 'UpstreamReachable') ?? {};
  return [status, reason, message].join(' ').trim();
}

const byFirst = ['0.0.0.0/1 by 203.0.113.1!', '128.0.0.0/1 by 203.0.113.1!'];
const bySecond = ['0.0.0.0/1 by 198.51.100.1!', '128.0.0.0/1 by 198.51.100.1!'];

describe('the way out of a VPC with two Subnets outside', () => {
  test('is the first one alone without BFD, and while its router has not answered', async () => {
    const plain = await controllerOf(outside({ ...two, enableBfd: false }));
    const expected = ['0.0.0.0/0 by 203.0.113.1'];
    assert.deepEqual(exits(plain), expected);
    assert.deepEqual(rowsOf(plain, 'gateway-port/blue/external', 'BFD'), []);
    assert.equal(condition(plain, 'Vpc/blue'), '');
    plain.close();
    const controller = await controllerOf(outside(two));
    assert.deepEqual(exits(controller), expected);
    await see(controller, { second: 'up' });
    assert.deepEqual(exits(controller), expected);
    assert.match(
      condition(controller, 'Vpc/blue'),
      /^Unknown RouterHasNoBfd router 203\.0\.113\.1 of Subnet external /,
    );
    assert.match(condition(controller, 'OvnEip/blue-second'), /^True UpstreamUp$/);
    controller.close();
  });

  test('is withdrawn by OVN once its router answered, so that the other takes over', async () => {
    const controller = await controllerOf(outside(two));
    await see(controller, { external: 'up' });
    assert.deepEqual(exits(controller), [...byFirst, '0.0.0.0/0 by 198.51.100.1']);
    await see(controller, { external: 'up', second: 'up' });
    assert.deepEqual(exits(controller), [...byFirst, '0.0.0.0/0 by 198.51.100.1!']);
    assert.match(condition(controller, 'Vpc/blue'), /^True UpstreamUp$/);
    controller.close();
  });

  test('is the other one while the router of the first is dead, and no route is withdrawn once both are', async () => {
    const controller = await controllerOf(outside(two));
    await see(controller, { external: 'down', second: 'up' });
    assert.deepEqual(exits(controller), [...bySecond, '0.0.0.0/0 by 203.0.113.1!']);
    assert.match(
      condition(controller, 'Vpc/blue'),
      /^False UpstreamDown router 203\.0\.113\.1 .*enableBfd of Vpc blue/,
    );
    assert.match(condition(controller, 'OvnEip/blue-external'), /^False UpstreamDown/);
    assert.match(condition(controller, 'OvnEip/blue-second'), /^True/);
    await see(controller, { external: 'down' });
    assert.deepEqual(
      exits(controller),
      ['0.0.0.0/0 by 198.51.100.1'],
      'one that never answered is not known to be dead',
    );
    await see(controller, { external: 'down', second: 'down' });
    assert.deepEqual(exits(controller), ['0.0.0.0/0 by 203.0.113.1']);
    await see(controller, { external: 'up', second: 'down' });
    assert.deepEqual(exits(controller), [...byFirst, '0.0.0.0/0 by 198.51.100.1!']);
    controller.close();
  });

  test('shares no load with a route of the user to half of all addresses', async () => {
    const staticRoutes = [{ cidr: '0.0.0.0/1', nextHopIP: '10.90.0.9' }];
    const controller = await controllerOf(outside({ ...two, staticRoutes }));
    await see(controller, { external: 'up', second: 'up' });
    assert.deepEqual(exits(controller), ['0.0.0.0/0 by 203.0.113.1']);
    controller.close();
  });
});

test('a port with two VpcNatGateways takes nothing over from itself', async () => {
  const lanIps = ['10.90.0.253', '10.90.0.254'];
  const staticRoutes = lanIps.map((nextHopIP) => ({ cidr: '0.0.0.0/0', nextHopIP }));
  const controller = await controllerOf([
    ...outside({ enableBfd: true, staticRoutes }),
    ...lanIps.map((lanIp, index) =>
      made('vpcNatGateways', `gw${index}`, { vpc: 'blue', subnet: 'inner', lanIp, externalSubnets: ['external'] }),
    ),
  ]);
  await see(controller, { external: 'up' });
  assert.deepEqual(exits(controller), ['0.0.0.0/0 by 203.0.113.1']);
  controller.close();
});

test('the only way out is never withdrawn, whatever its router does', async () => {
  const controller = await controllerOf(outside({ enableExternal: true, enableBfd: true }));
  for (const external of ['silent', 'up', 'down'] as const) {
    await see(controller, external === 'silent' ? {} : { external });
    assert.deepEqual(exits(controller), ['0.0.0.0/0 by 203.0.113.1']);
  }
  controller.close();
});

test('a session has a row, which keeps its state for the next start, and a route that packets never take', async () => {
  const controller = await controllerOf(outside(two));
  const port = 'gateway-port/blue/external';
  const idsOf = (): unknown => rowsOf(controller, port, 'BFD')[0]?.columns['external_ids'];
  assert.equal((idsOf() as { upstream?: string }).upstream, undefined);
  await see(controller, { external: 'down' });
  const [row] = rowsOf(controller, port, 'BFD');
  assert.deepEqual(
    { ...row?.columns, external_ids: 0 },
    { logical_port: 'blue-external', dst_ip: '203.0.113.1', min_tx: 100, min_rx: 100, detect_mult: 3, external_ids: 0 },
  );
  assert.equal((idsOf() as { upstream?: string }).upstream, 'down');
  const [route] = rowsOf(controller, port, 'Logical_Router_Static_Route');
  assert.equal(route?.columns['route_table'], 'isthmus.bfd');
  assert.deepEqual(route.columns['bfd'], { ref: { table: 'BFD', key: row?.key } });
  controller.close();
});

test('a start with the states of the rows decides and writes what was decided', async () => {
  const controller = await controllerOf(outside(two));
  await see(controller, { external: 'down', second: 'up' });
  const [expected, shown] = [exits(controller), condition(controller, 'Vpc/blue')];
  const stored = storedIn(controller);
  const states = controller.cluster.upstreams;
  controller.close();
  const next = await controllerOf(stored);
  next.cluster.setUpstreams(states);
  await next.settle();
  assert.deepEqual([exits(next), condition(next, 'Vpc/blue')], [expected, shown]);
  next.close();
});

test('sessions end with the field, with the port, and with its nodes', async () => {
  const controller = await controllerOf(outside(two));
  const count = (): number =>
    ['external', 'second'].flatMap((subnet) => rowsOf(controller, `gateway-port/blue/${subnet}`, 'BFD')).length;
  assert.equal(count(), 2);
  const put = async ({ kind, raw }: ReturnType<typeof made>): Promise<void> => {
    controller.put(kind, raw);
    await controller.settle();
  };
  await put(made('vpcs', 'blue', { enableExternal: true, enableBfd: true }));
  assert.equal(count(), 1);
  for (const name of ['n1', 'n2']) await put(node(name, {}));
  assert.equal(count(), 0);
  assert.equal(condition(controller, 'Vpc/blue'), '');
  controller.close();
});
