/** From a new rule to the first answered connection, with OVN and packets: beside bare transactions for the same rows. */
import { setTimeout as pause } from 'node:timers/promises';
import { openOvsdb, type OvsdbClient, type WriteValue } from 'ovsdb-client';
import { ovnDnatRules, ovnEips, ovnFips, ovnSnatRules, subnets, vpcs } from '../../../lib/kube/resources.ts';
import type { Resource } from '../../../lib/kube/types.ts';
import { eventually } from '../../../lib/testing-eventually.ts';
import { run } from '../../lab/run.ts';
import { addOutside, gatewayLabel, label, outside, removeOutside } from '../../system/external-bed.ts';
import { ServiceBed } from '../../system/service-bed.ts';
import { median, quantile } from '../row.ts';
import { Traffic } from '../services/path-bed.ts';
import type { EdgeRow, Measurement } from './measurement.ts';
import { create, vpc } from './objects.ts';

const count = 100;
const pollMs = 2;
const port = 9000;
const balancerColumns = ['name', 'protocol', 'external_ids', 'options', 'selection_fields'];
const natColumns = ['type', 'external_ip', 'external_ids', 'options'];
/** Between two changes: each is alone. */
const pauseMs = 50;
const nodeOf = { b1: 'n1', b2: 'n2' } as const;
type Pod = keyof typeof nodeOf;
const podAt = (at: number): Pod => (at % 2 === 0 ? 'b2' : 'b1');

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

interface Address {
  readonly name: string;
  readonly ip: string;
}

class EdgeBed {
  readonly bed: ServiceBed;
  readonly #servers: Traffic[] = [];

  constructor(bed: ServiceBed) {
    this.bed = bed;
  }

  async prepare(): Promise<void> {
    const { bed } = this;
    await addOutside(bed);
    for (const node of ['n1', 'n2'] as const) await label(bed, node, gatewayLabel);
    const { kube } = bed.controller;
    await create(kube, vpcs, vpc, { enableExternal: true });
    await create(kube, subnets, 'blue-net', { vpc, cidrBlock: '10.90.0.0/16' });
    await eventually('the network', () => bed.controller.row('Logical_Switch', 'blue-net') !== undefined);
    for (const [pod, node] of Object.entries(nodeOf)) {
      await bed.addPod(pod, node, { 'ovn.kubernetes.io/logical_switch': 'blue-net' });
      const server = new Traffic(bed.space(pod), 'serve', port, pod);
      this.#servers.push(server);
      await server.next();
    }
    // Another rule answers for each address, so that no neighbour is forgotten meanwhile.
    await create(kube, ovnEips, 'leaving', {});
    await create(kube, ovnSnatRules, 'leaving', { ovnEip: 'leaving', vpcSubnet: 'blue-net' });
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.kill()));
    removeOutside(this.bed);
    await this.bed.close();
  }

  /** An OvnEip, which the router of the lab takes for that of the gateway port. */
  async address(name: string): Promise<Address> {
    const { controller } = this.bed;
    await create(controller.kube, ovnEips, name, {});
    const of = (eip: string): Promise<Readonly<Record<string, unknown>>> =>
      eventually(`OvnEip ${eip}`, async () => {
        const status = await controller.status(ovnEips, eip);
        return status['ready'] === true && status;
      });
    const [own, router] = [await of(name), await of(`${vpc}-external`)];
    const ip = String(own['v4Ip']);
    this.bed.in(outside.name, `ip neigh replace ${ip} lladdr ${String(router['macAddress'])} dev br0 nud permanent`);
    return { name, ip };
  }

  poll({ ip }: Address, to: number): Traffic {
    return new Traffic(this.bed.space(outside.name), 'poll', ip, to, pollMs);
  }

  /** Milliseconds from the creation of a rule to the first connection that its pod answers. */
  async ruleTimes(
    resource: Resource,
    address: Address,
    to: number,
    specOf: (pod: Pod) => object,
  ): Promise<readonly number[]> {
    const { kube } = this.bed.controller;
    const poll = this.poll(address, to);
    const times: number[] = [];
    for (let at = 0; at < count; at += 1) {
      const pod = podAt(at);
      const name = `${address.name}-${String(at)}`;
      const seen = poll.until<{ name: string; atMs: number }>((line) => line.name === pod);
      const begunMs = nowMs();
      await create(kube, resource, name, specOf(pod));
      times.push((await seen).atMs - begunMs);
      await kube.delete(resource, { name });
      await eventually('its end', async () => {
        const all = await kube.list(resource);
        return !all.some(({ metadata }) => metadata.name === name);
      });
      await this.settle();
    }
    await poll.end();
    return times;
  }

  /**
   * Milliseconds from a bare transaction with the row of a rule until all nodes have it, as `--wait=hv` does, under the same connections. The row goes
   * again after each.
   */
  async bareTimes(nb: OvsdbClient, poll: Traffic, { table, column, rowOf }: BareRow): Promise<readonly number[]> {
    const global = (): Readonly<Record<string, unknown>> => [...nb.cache.table('NB_Global').rows.values()][0] ?? {};
    const where = [['name', '==', vpc]] as const;
    const times: number[] = [];
    for (let at = 0; at < count; at += 1) {
      const [inside = ''] = this.bed.addressesOf(podAt(at));
      const wanted = Number(global()['nb_cfg']) + 1;
      const begun = performance.now();
      const [inserted] = await nb.transact([
        { op: 'insert', table, uuidName: 'row', row: rowOf(inside) },
        { op: 'mutate', table: 'Logical_Router', where, mutations: [[column, 'insert', [{ named: 'row' }]]] },
        { op: 'update', table: 'NB_Global', where: [], row: { nb_cfg: wanted } },
      ]);
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const look = (): void => void (Number(global()['hv_cfg']) >= wanted && resolve(undefined));
      const unsubscribe = nb.subscribe(look);
      look();
      await promise;
      unsubscribe();
      times.push(performance.now() - begun);
      const uuid = inserted?.uuid ?? '';
      await nb.transact([
        { op: 'mutate', table: 'Logical_Router', where, mutations: [[column, 'delete', [uuid]]] },
        { op: 'delete', table, where: [['_uuid', '==', uuid]] },
      ]);
      await this.settle();
    }
    await poll.end();
    return times;
  }

  /** All nodes have what is in the northbound database: the next change is alone. */
  async settle(): Promise<void> {
    await run(['ovn-nbctl', '--timeout=60', '--wait=hv', `--db=${this.bed.controller.server.remote}`, 'sync']);
    await pause(pauseMs);
  }

  /** What the only row of a rule has, without its place in a router. */
  copyOf(table: BareRow['table'], columns: readonly string[], key: string, value: string): Bare {
    const row = this.bed.controller.rows(table).find((one) => one[key] === value);
    if (row === undefined) throw new Error(`${table} has no row with ${key} ${value}`);
    return Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
  }
}

type Bare = Readonly<Record<string, WriteValue>>;

/** A row of a rule to a pod with this address. */
interface BareRow {
  readonly table: 'NAT' | 'Load_Balancer';
  readonly column: 'nat' | 'load_balancer';
  readonly rowOf: (inside: string) => Bare;
}

interface Times {
  readonly ours: readonly number[];
  readonly bare: readonly number[];
}

async function measureTimes(edge: EdgeBed): Promise<{ readonly fip: Times; readonly dnat: Times }> {
  const { bed } = edge;
  const [floating, published] = [await edge.address('floating'), await edge.address('published')];
  const inside = (pod: Pod): object => ({ ipName: `${pod}.default` });
  console.log('           rules');
  const dnat = await edge.ruleTimes(ovnDnatRules, published, 80, (pod) => ({
    ovnEip: published.name,
    ...inside(pod),
    protocol: 'tcp',
    externalPort: '80',
    internalPort: String(port),
  }));
  const fip = await edge.ruleTimes(ovnFips, floating, port, (pod) => ({ ovnEip: floating.name, ...inside(pod) }));
  // The rows that the bare transactions change.
  const { kube } = bed.controller;
  await create(kube, ovnFips, 'bare', { ovnEip: floating.name, ...inside('b1') });
  const rule = { protocol: 'tcp', externalPort: '80', internalPort: String(port) };
  await create(kube, ovnDnatRules, 'bare', { ovnEip: published.name, ...inside('b1'), ...rule });
  for (const [resource, name] of [
    [ovnFips, 'bare'],
    [ovnDnatRules, 'bare'],
  ] as const)
    await eventually('the rule', async () => (await bed.controller.status(resource, name))['ready'] === true);
  const balancerName = `eip@${published.name}/tcp`;
  const balancer = edge.copyOf('Load_Balancer', balancerColumns, 'name', balancerName);
  const nat = edge.copyOf('NAT', natColumns, 'external_ip', floating.ip);
  for (const [resource, name] of [
    [ovnFips, 'bare'],
    [ovnDnatRules, 'bare'],
  ] as const)
    await kube.delete(resource, { name });
  await eventually('the end of both rows', () => {
    const isThere = (table: BareRow['table'], key: string, value: string): boolean =>
      bed.controller.rows(table).some((row) => row[key] === value);
    return !isThere('NAT', 'external_ip', floating.ip) && !isThere('Load_Balancer', 'name', balancerName);
  });
  await bed.controller.stop();
  console.log('           bare transactions');
  const nb = await openOvsdb({
    remotes: [bed.controller.server.remote],
    database: 'OVN_Northbound',
    monitor: { NB_Global: ['nb_cfg', 'hv_cfg'] },
  });
  const bareDnat = await edge.bareTimes(nb, edge.poll(published, 80), {
    table: 'Load_Balancer',
    column: 'load_balancer',
    rowOf: (inside) => ({ ...balancer, vips: { [`${published.ip}:80`]: `${inside}:${String(port)}` } }),
  });
  const bareFip = await edge.bareTimes(nb, edge.poll(floating, port), {
    table: 'NAT',
    column: 'nat',
    rowOf: (inside) => ({ ...nat, logical_ip: inside }),
  });
  await nb.close();
  return { fip: { ours: fip, bare: bareFip }, dnat: { ours: dnat, bare: bareDnat } };
}

function rowsOf(kind: string, { ours, bare }: Times): readonly EdgeRow[] {
  const what = `${kind} created → first connection from outside is answered`;
  const floorIs = 'a bare transaction with `--wait=hv`';
  return [
    {
      what: `${what}, median of ${String(count)}`,
      unit: 'ms',
      ours: median(ours),
      floor: median(bare),
      floorIs,
      target: { timesFloor: 1.5 },
    },
    {
      what: `${what}, 99th percentile of ${String(count)}`,
      unit: 'ms',
      ours: quantile(ours, 0.99),
      floor: quantile(bare, 0.99),
      floorIs,
      target: 300,
    },
  ];
}

async function measure(): Promise<readonly EdgeRow[]> {
  const edge = new EdgeBed(await ServiceBed.open());
  try {
    await edge.prepare();
    const { fip, dnat } = await measureTimes(edge);
    return [...rowsOf('OvnFip', fip), ...rowsOf('OvnDnatRule', dnat)];
  } finally {
    await edge.close();
  }
}

export const measurements: readonly Measurement[] = [{ name: 'rule created until its first packet', measure }];
