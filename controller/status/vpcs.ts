/** What Vpcs are told: the finalizer, status, conditions and events. */
import { controllerFinalizer, defaultVpc } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { apiVersionOf, vpcs } from '../../lib/kube/resources.ts';
import type { Vpc } from '../model/objects.ts';
import type { WantedCondition } from '../plan/report.ts';
import { planVpcConditions, planVpcStatus } from '../plan/vpc/status.ts';
import { hasRouter } from '../settle/vpc/routers.ts';
import type { Desk } from './desk.ts';
import { forget, othersOf, writeStatus } from './write-status.ts';

/** Features whose keys are the VPC's name. */
const own = ['vpc', 'static-route', 'policy-route', 'load-balancer'];

/** What the database said to the rows of a Vpc, and peers whose port it refused. */
function refusals(
  { refused }: Desk,
  { name, spec }: Vpc,
): { readonly problem: Problem | undefined; readonly peers: Set<string> } {
  const peers = new Set<string>();
  let problem: Problem | undefined;
  for (const feature of own) problem ??= refused(`${feature}/${name}`);
  for (const { remoteVpc } of spec.vpcPeerings) {
    const refusal = refused(`peering/${name}/${remoteVpc}`);
    if (refusal !== undefined) peers.add(remoteVpc);
    problem ??= refusal;
  }
  return { problem, peers };
}

/** The finalizers a Vpc should have; the default one is made again whenever it goes, and needs none. */
function finalizersOf({ view, database }: Desk, { name, finalizers, isDeleting }: Vpc): readonly string[] {
  const isLeft = isDeleting && !hasRouter(view, name) && !database.hasRouter(name);
  const others = othersOf(finalizers);
  if (isLeft || name === defaultVpc) return others;
  // None can be added to what is being deleted.
  if (isDeleting) return finalizers;
  return [...others, controllerFinalizer];
}

/** Whether it was written; the status of what is about to be written would be out of date at once. */
function publishFinalizers(desk: Desk, vpc: Vpc): boolean {
  const { client, told } = desk;
  const { name, uid, resourceVersion } = vpc;
  const finalizers = finalizersOf(desk, vpc);
  if (finalizers.toSorted().join() === vpc.finalizers.toSorted().join()) return false;
  // With the version that was seen: the list is replaced as a whole.
  const patch = { metadata: { uid, resourceVersion, finalizers } };
  told.write(`Vpc/${name}`, resourceVersion, patch, () => client.patch(vpcs, { name }, 'merge', patch));
  return true;
}

/** Events for what the conditions have just begun to say. */
function tell({ events }: Desk, vpc: Vpc, conditions: readonly WantedCondition[]): void {
  const subject = { apiVersion: apiVersionOf(vpcs), kind: vpcs.kind, name: vpc.name, uid: vpc.uid };
  const said: string[] = [];
  for (const { type, status, reason = '', message = '' } of conditions) {
    const was = vpc.conditions.find((one) => one.type === type);
    const isOld = was?.status === status && was.message === message;
    // What is wrong with the spec is also why it is not ready: once is enough.
    const isSaid = said.some((one) => message.startsWith(one));
    if (status !== 'False' || isOld || isSaid || reason === 'Deleting') continue;
    said.push(message);
    events.record(subject, 'Warning', reason, message);
  }
}

export function publishVpc(desk: Desk, name: string): void {
  const { view, database } = desk;
  const vpc = view.vpcs.get(name);
  if (vpc === undefined) return forget(desk, vpcs, name);
  if (publishFinalizers(desk, vpc)) return;
  const { problem, peers } = refusals(desk, vpc);
  // Ready is said of rows that are there.
  if (hasRouter(view, name) && problem === undefined && !database.hasRouter(name)) return;
  const planned = planVpcStatus(view, vpc);
  const status = { ...planned, vpcPeerings: planned.vpcPeerings.filter((remote) => !peers.has(remote)) };
  const conditions = planVpcConditions(view, vpc, problem);
  writeStatus(desk, { resource: vpcs, object: vpc, status, conditions, tell: () => tell(desk, vpc, conditions) });
}
