/**
 * What clients of the databases are told: the keys `nb`, `sb` and `sb-chassis` of the ConfigMap isthmus-ovn. In: the plan, the reports and what clients were told so far. Rules: a
 * member comes in with servers that are connected; it stays until it leaves the plan, so that a restart changes nothing for clients.
 */
import { chassisRemote, clientRemote, databaseNames, type Scheme } from '../state/databases.ts';
import type { Plan } from '../state/plan.ts';
import type { Reports } from '../state/report.ts';

export interface ClientsView {
  readonly scheme: Scheme;
  readonly plan: Plan;
  readonly reports: Reports;
  /** Key `nb` of now. */
  readonly told: string;
}

export type Told = Readonly<Record<'nb' | 'sb' | 'sb-chassis', string>>;

export function planClients({ scheme, plan, reports, told }: ClientsView): Told | undefined {
  const former = new Set(told.split(','));
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
