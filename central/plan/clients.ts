/**
 * Plans the remotes for clients of the databases: the keys `nb`, `sb` and `sb-chassis` of the ConfigMap isthmus-ovn. In: the plan, the reports and
 * the remotes published so far. Rules: a member is added once its servers are connected; it stays until it leaves the plan, so that a restart changes
 * nothing for clients.
 */
import { chassisRemote, clientRemote, databaseNames, type Scheme } from '../model/databases.ts';
import type { Plan } from '../model/plan.ts';
import type { Reports } from '../model/report.ts';

export interface ClientsView {
  readonly scheme: Scheme;
  readonly plan: Plan;
  readonly reports: Reports;
  /** The present value of the key `nb`. */
  readonly published: string;
}

export type ClientRemotes = Readonly<Record<'nb' | 'sb' | 'sb-chassis', string>>;

export function planClients({ scheme, plan, reports, published }: ClientsView): ClientRemotes | undefined {
  const former = new Set(published.split(','));
  const nodes = Object.keys(plan.members).filter((node) => {
    const address = plan.members[node] ?? '';
    if (node === plan.founder || former.has(clientRemote(scheme, 'nb', address))) return true;
    const report = reports.get(node);
    const isIn = (name: 'nb' | 'sb') =>
      report?.databases[name].connected === true && report.databases[name].cid === plan.clusters[name];
    return report?.address === address && databaseNames.every(isIn);
  });
  if (nodes.length === 0) return undefined;
  const addresses = nodes.sort().map((node) => plan.members[node] ?? '');
  return {
    nb: addresses.map((address) => clientRemote(scheme, 'nb', address)).join(','),
    sb: addresses.map((address) => clientRemote(scheme, 'sb', address)).join(','),
    'sb-chassis': addresses.map((address) => chassisRemote(scheme, address)).join(','),
  };
}
