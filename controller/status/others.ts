/** What Namespaces and Vpcs are told. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { setCondition } from '../../lib/kube/conditions.ts';
import { apiVersionOf, namespaces, vpcs } from '../../lib/kube/resources.ts';
import { planVpcConditions } from '../plan/conditions.ts';
import { planNamespaceAnnotations } from '../plan/namespace/namespace.ts';
import { planVpcStatus } from '../plan/vpc/vpc.ts';
import type { Vpc } from '../state/objects.ts';
import { differing } from './desk.ts';
import type { Desk } from './desk.ts';

export function publishNamespace({ view, client, told }: Desk, name: string): void {
  const namespace = view.namespaces.get(name);
  if (namespace === undefined) {
    told.forget(`Namespace/${name}`);
    return;
  }
  const { uid, resourceVersion } = namespace;
  const annotations = differing(planNamespaceAnnotations(view, namespace), namespace.annotations);
  if (annotations === undefined || namespace.isDeleting) return;
  const patch = { metadata: { uid, annotations } };
  told.write(`Namespace/${name}`, resourceVersion, patch, () => client.patch(namespaces, { name }, 'merge', patch));
}

function problemOf({ unsupported }: Vpc, refused: Problem | undefined): Problem | undefined {
  if (unsupported.length === 0) return refused;
  const fields = unsupported.map((field) => `spec.${field}`).join(', ');
  return { code: 'NotSupported', message: `${fields} cannot be served by this release: remove it` };
}

export function publishVpc({ view, client, told, events, refused, nowMs }: Desk, name: string): void {
  const vpc = view.vpcs.get(name);
  if (vpc === undefined) {
    told.forget(`Vpc/${name}/status`);
    return;
  }
  const problem = problemOf(vpc, refused(`vpc/${name}`));
  const wanted = planVpcStatus(view, name);
  const entries = Object.entries(wanted).filter(
    ([key, value]) => JSON.stringify(vpc.status[key]) !== JSON.stringify(value),
  );
  const now = new Date(nowMs()).toISOString();
  const before: readonly Condition[] = vpc.conditions;
  const wantedConditions = planVpcConditions(vpc.generation, problem);
  const conditions = wantedConditions.reduce((all, one) => setCondition(all, one, now), before);
  if (entries.length === 0 && conditions === before) return;
  const { uid, resourceVersion } = vpc;
  const status = { ...Object.fromEntries(entries), ...(conditions === before ? {} : { conditions }) };
  // Without times, which differ at every look.
  const content = { ...Object.fromEntries(entries), conditions: wantedConditions };
  const write = (): ReturnType<typeof client.patch> =>
    client.patch(vpcs, { name }, 'merge', { metadata: { uid }, status }, { subresource: 'status' });
  told.write(`Vpc/${name}/status`, resourceVersion, content, write, () => {
    const was = before.find(({ type }) => type === 'Ready');
    if (problem === undefined || (was?.status === 'False' && was.message === problem.message)) return;
    const subject = { apiVersion: apiVersionOf(vpcs), kind: vpcs.kind, name, uid };
    events.record(subject, 'Warning', problem.code, problem.message);
  });
}
