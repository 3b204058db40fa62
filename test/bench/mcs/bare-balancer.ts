/** The floor: one load balancer that the benchmark itself writes into a cluster's northbound database. */
import { defaultSubnet } from '../../../lib/api/names.ts';
import type { Cluster, McsBed } from './bed.ts';

/** At the end of the network of ClusterSet addresses, from where none is taken in a short run. */
export const bareAddress = '100.127.255.254';
const name = 'bench-mcs';

export class BareBalancer {
  readonly #bed: McsBed;
  readonly #cluster: Cluster;

  private constructor(bed: McsBed, cluster: Cluster) {
    this.#bed = bed;
    this.#cluster = cluster;
  }

  static async open(bed: McsBed, cluster: Cluster): Promise<BareBalancer> {
    const row = { name, protocol: 'tcp' };
    const where = [['name', '==', defaultSubnet]] as const;
    await bed.northbound(cluster).transact([
      { op: 'insert', table: 'Load_Balancer', uuidName: 'balancer', row },
      {
        op: 'mutate',
        table: 'Logical_Switch',
        where,
        mutations: [['load_balancer', 'insert', [{ named: 'balancer' }]]],
      },
    ]);
    return new BareBalancer(bed, cluster);
  }

  /** @param backend `address:port` */
  async set(backend: string, address = bareAddress): Promise<void> {
    const where = [['name', '==', name]] as const;
    const vips = { [`${address}:80`]: backend };
    await this.#bed
      .northbound(this.#cluster)
      .transact([{ op: 'update', table: 'Load_Balancer', where, row: { vips } }]);
  }

  async close(): Promise<void> {
    const database = this.#bed.northbound(this.#cluster);
    const row = [...database.cache.table('Load_Balancer').rows.values()].find((one) => one['name'] === name);
    if (row === undefined) return;
    const where = [['name', '==', defaultSubnet]] as const;
    await database.transact([
      { op: 'mutate', table: 'Logical_Switch', where, mutations: [['load_balancer', 'delete', [row._uuid]]] },
      { op: 'delete', table: 'Load_Balancer', where: [['name', '==', name]] },
    ]);
  }
}
