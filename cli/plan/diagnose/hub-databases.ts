/** The step of the hub's databases, from the hub's own status, which the agent publishes. */
import { conditionOf } from '../../model/snapshot.ts';
import { cause, failedIf, ok, type Outcome, type Side } from './step.ts';

export const hubDatabasesFix =
  'in the cluster of the hub: start or resume the ovsdb-servers of the IC databases (of a raft cluster more than half have to run), and look at their logs and at that of the hub';

/** Undefined if the state is not known: without a session with the hub, or with an agent that has no such condition. */
export function checkHubDatabases({ near }: Side): Outcome | undefined {
  const condition = conditionOf(near.interconnect?.status.conditions, 'HubDatabasesReady');
  if (condition === undefined || condition.status === 'Unknown') return undefined;
  if (condition.status === 'True') return ok(condition.message ?? 'the databases of the hub answer it');
  const message = condition.message ?? 'the databases of the hub do not answer it';
  return failedIf([cause(condition.reason ?? 'HubDatabasesStuck', message, hubDatabasesFix)], '');
}
