/** How the controller says, in a condition of a policy, that OVN has no ACL tiers: nothing else in the API does. */
import type { Condition } from '../api/kinds/shared.ts';

/** The beginning of the message about a rule, which readers look for. */
const closedPass = 'Pass denies the traffic, because this OVN has no ACL tiers';

export const closedPassMessage = `${closedPass} (23.06 and newer have) and other rules of the tier follow: use Accept, or make it the last rule`;

/** Whether one of the conditions says so. */
export function isClosedPassReported(conditions: readonly Condition[]): boolean {
  return conditions.some(({ message = '' }) => message.includes(closedPass));
}
