/**
 * The dry run: everything the controller does at a start, except that nothing is written and no lease is taken. In: the
 * same clusters and databases. Out: the rows that would be adopted and changed, and the objects that would be written. For
 * operators, before Isthmus takes over the database of another product.
 */
import { openDryRun } from '../lib/desired/dry-run.ts';
import { vpcs } from '../lib/kube/resources.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import type { Logger } from '../lib/run/logger.ts';
import { IdlePolicies } from './apply/idle-policies.ts';
import { openNorthbound, room } from './apply/northbound.ts';
import type { Northbound } from './apply/northbound.ts';
import { DirtyKeys } from './plan/dirty-keys.ts';
import { Refusals } from './apply/refusals.ts';
import { Upstreams } from './apply/upstreams.ts';
import type { ChosenCapabilities } from './model/view.ts';
import { ownEntries, ownerByName } from './plan/own-keys.ts';
import { planKey } from './plan/plan.ts';
import { Cluster } from './settle/cluster.ts';
import { basicsOf } from './status/bootstrap.ts';
import type { BootstrapOptions } from './status/bootstrap.ts';
import { renderPreview } from './status/preview-text.ts';
import type { SkippedWrite } from './status/preview-text.ts';
import { StatusWriter } from './status/status-writer.ts';
import { parseSubnet, parseVpc } from './watch/networks.ts';
import { apiServerAddresses } from './watch/api-server.ts';
import { openWatches } from './watch/watches.ts';

export interface PreviewOptions {
  readonly northbound: Parameters<typeof openNorthbound>[0];
  readonly client: KubeClient;
  readonly basics: Pick<BootstrapOptions, 'defaultCidr' | 'joinCidr'>;
  /** What the flags allow. */
  readonly capabilities: ChosenCapabilities;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** The changes that a start would make, as text. */
export async function preview(options: PreviewOptions): Promise<string> {
  const { client, signal, log } = options;
  const northbound = await openNorthbound(options.northbound, { isWhole: true });
  const apiServer = await apiServerAddresses({ client, signal, log });
  const cluster = new Cluster({ ...northbound.capabilities, ...options.capabilities, apiServer });
  const reading = new AbortController();
  const watching = { client, signal: AbortSignal.any([signal, reading.signal]), log };
  await openWatches({ ...watching, onChange: (kind, name, after) => cluster.change(kind, name, after) });
  reading.abort();
  const missing = assumeBasics(cluster, options.basics);
  northbound.followForeignPorts((port, foreign) => cluster.setForeignPort(port, foreign));
  cluster.restore(northbound.portRecords(), northbound.nodeHolders(), northbound.gatewayOrders());
  const upstreams = new Upstreams({ cluster, onChange: () => undefined });
  upstreams.restore(northbound.upstreamSessions());
  upstreams.close();
  cluster.policies.restoreIsolated(northbound.isolatedPorts());
  cluster.setFormerPolicies(northbound.formerPolicies());
  // No server is asked: the addresses stay as they are.
  cluster.domains.restore(northbound.domainRecords(), Date.now());
  cluster.settle();
  // A start waits before a policy is said to select nothing.
  const idlePolicies = new IdlePolicies({ cluster, onChange: () => undefined });
  idlePolicies.start();
  idlePolicies.close();
  const keys = [...new DirtyKeys(cluster).take()].sort();
  const target = openDryRun({ client: northbound.client, room, ownEntries, ownerOf: ownerByName });
  for (const key of keys) target.set(key, planKey(cluster, key));
  target.seal();
  const report = target.report();
  const refusals = new Refusals();
  for (const { owner, problem } of report.problems) refusals.set(owner, problem);
  const skipped = skippedWrites({ cluster, client, keys, northbound, refusals });
  await northbound.client.close();
  return renderPreview({ report, missing, skipped });
}

/** Objects that would be made first, as if they were there; their names. */
function assumeBasics(cluster: Cluster, cidrs: PreviewOptions['basics']): readonly string[] {
  const missing: string[] = [];
  for (const { resource, name, spec } of basicsOf(cidrs).values()) {
    const raw = { kind: resource.kind, metadata: { name, uid: '', resourceVersion: '' }, spec };
    const isThere = resource.kind === vpcs.kind ? cluster.vpcs.has(name) : cluster.subnets.has(name);
    if (isThere) continue;
    missing.push(`${resource.kind} ${name}`);
    if (resource.kind === vpcs.kind) cluster.change('vpcs', name, parseVpc(raw));
    else cluster.change('subnets', name, parseSubnet(raw));
  }
  return missing;
}

interface PublishOptions {
  readonly cluster: Cluster;
  readonly client: KubeClient;
  readonly keys: readonly string[];
  readonly northbound: Northbound;
  readonly refusals: Refusals;
}

/** The writes to Kubernetes that would follow once all rows are in the database. */
function skippedWrites({ cluster, client, keys, northbound, refusals }: PublishOptions): readonly SkippedWrite[] {
  // Several keys may report the same object.
  const skipped = new Map<string, SkippedWrite>();
  const records = northbound.portRecords();
  const statusWriter = new StatusWriter({
    view: cluster,
    client,
    pending: {
      write: (object, _, content) => skipped.set(`${object} ${JSON.stringify(content)}`, { object, content }),
      forget: () => undefined,
    },
    events: { record: () => undefined },
    rows: {
      ...northbound,
      // Ports without an owner stay in the database.
      hasPort: (name, addresses) => addresses !== undefined || records.get(name)?.isNobodys === true,
      hasSwitch: () => true,
      hasRouter: () => true,
    },
    refusals: (key) => refusals.of(key),
    nowMs: Date.now,
  });
  for (const key of keys) statusWriter.publish(key);
  statusWriter.close();
  return [...skipped.values()];
}
