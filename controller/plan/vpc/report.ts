/** The report of a Vpc: the finalizer while it has a router, status, conditions and events. */
import { controllerFinalizer, defaultVpc } from '../../../lib/api/names.ts';
import type { Vpc } from '../../model/objects.ts';
import { upstreamConditions } from '../external/upstream.ts';
import { foreignFinalizers } from '../finalizers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, WantedCondition, WantedEvent } from '../report.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortsOf } from '../../settle/external/external-subnets.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { planVpcConditions, planVpcStatus } from './status.ts';

/** The default Vpc is created again whenever it is deleted, and needs no finalizer. */
function finalizersOf(view: View, { name, finalizers, isDeleting }: Vpc, { rows }: Outcome): readonly string[] {
  const isReleased = isDeleting && !hasRouter(view, name) && !rows.hasRouter(name);
  const others = foreignFinalizers(finalizers);
  if (isReleased || name === defaultVpc) return others;
  // The API server refuses new finalizers on an object that is being deleted.
  return isDeleting ? finalizers : [...others, controllerFinalizer];
}

function eventsOf(vpc: Vpc, conditions: readonly WantedCondition[]): readonly WantedEvent[] {
  const events: WantedEvent[] = [];
  for (const { type, status, reason = '', message = '' } of conditions) {
    const before = vpc.conditions.find((one) => one.type === type);
    const isKnown = before?.status === status && before.message === message;
    // A problem of the spec is also the reason why the Vpc is not ready: one event is enough.
    const hasEvent = events.some((one) => message.startsWith(one.message));
    if (status === 'False' && !isKnown && !hasEvent && reason !== 'Deleting')
      events.push({ type: 'Warning', reason, message });
  }
  return events;
}

export function reportVpc(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'vpcs', name } as const;
  const vpc = view.vpcs.get(name);
  if (vpc === undefined) return [{ object }];
  const finalizers = finalizersOf(view, vpc, outcome);
  const refused = refusalOf(outcome);
  // The Vpc is ready once its router is in the database.
  if (hasRouter(view, name) && refused === undefined && !outcome.rows.hasRouter(name)) return [{ object, finalizers }];
  const planned = planVpcStatus(view, vpc);
  const isInForce = (remote: string): boolean => !outcome.refusals.has(`peering/${name}/${remote}`);
  const fields = { ...planned, vpcPeerings: planned.vpcPeerings.filter(isInForce) };
  const outside = upstreamConditions(vpc, gatewayPortsOf(view, name));
  const conditions = [...planVpcConditions(view, vpc, refused), ...outside.conditions];
  // The status lists the Subnets of the Vpc, of which thousands may come one after the other.
  const status = { ...outside, fields, conditions, events: eventsOf(vpc, conditions), rateLimit: 'counts' } as const;
  return [{ object, finalizers, status }];
}
