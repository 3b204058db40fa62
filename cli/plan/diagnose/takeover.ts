/** The predictive step: whether another gateway would take over if one fails. The other steps report the present. */
import { falseCondition } from '../../model/snapshot.ts';
import { selectedNodes } from './gateways.ts';
import { cause, failedIf, type Cause, type Outcome, type Side } from './step.ts';

const secondGateway = 'label a second node: kubectl label node NODE ovn.kubernetes.io/ic-gw=true';

/** Code of a path that no other gateway would take over → what to do. */
const fixes: Readonly<Record<string, string>> = {
  NoStandby: secondGateway,
  NoWitness: 'let udp 6081 pass to gateways of other clusters, or label a third node: the message says which gateway',
  OnePathLeft: 'look at the paths that are not up, and at how many gateways the clusters have that it names',
};

export function checkTakeover({ near }: Side): Outcome | undefined {
  const nodes = selectedNodes(near);
  const paths = near.transitSwitches.flatMap(({ status }) => status.paths ?? []);
  const [only] = nodes.length === 1 ? nodes : [];
  if (only !== undefined) {
    const message = `${only.name} is the only gateway of ${near.label}: no other gateway can take over`;
    return failedIf([cause('OneGateway', message, secondGateway)], '');
  }
  const causes: Cause[] = paths.flatMap(({ reason, message = '' }) =>
    reason === undefined ? [] : [cause(reason, message, fixes[reason] ?? '')],
  );
  const condition = falseCondition(near, 'DataplaneProtected');
  if (causes.length === 0 && condition !== undefined) {
    const { reason = 'OnePathLeft', message = 'DataplaneProtected is False' } = condition;
    causes.push(cause(reason, message, fixes[reason] ?? ''));
  }
  if (paths.length === 0 && causes.length === 0) return undefined;
  return failedIf(causes, 'if a gateway fails, another takes over');
}
