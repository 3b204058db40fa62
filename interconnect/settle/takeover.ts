/**
 * Whether another gateway would take a path's port over if its holder died now. In: the order of its gateways, reports
 * of their daemons, and the chassis that OVN takes for witnesses. Out: what is missing, or undefined. Pure.
 *
 * ovn-controller gives a port to the first gateway of the order that it hears. Where two or more are left they agree
 * among themselves; a single one takes the port where it hears one of the group's `ref_chassis`, and otherwise takes
 * itself for cut off.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { OwnPath } from '../model/networks.ts';
import type { GatewayReport } from '../model/tunnels.ts';

export interface TakeoverFacts {
  /** The report of the daemon of a gateway of this cluster. */
  readonly reportOf: (chassis: string) => GatewayReport;
  readonly isDead: (chassis: string) => boolean;
  /** Its ovn-controller is dead or applies nothing: it would not notice. */
  readonly isStuck: (chassis: string) => boolean;
  /** Chassis that show the last gateway of the path that it is not cut off: the `ref_chassis` of its group. */
  readonly witnesses: ReadonlySet<string>;
  /** Whether the chassis is a node of this cluster that is not a gateway: no daemon reports its tunnels. */
  readonly isPlainNode: (chassis: string) => boolean;
}

export function takeoverProblem(
  { switch: name, order, holder }: Pick<OwnPath, 'switch' | 'order' | 'holder'>,
  facts: TakeoverFacts,
): Problem | undefined {
  const first = holder === '' ? order[0] : holder;
  if (first === undefined) return undefined;
  const others = order.filter((chassis) => chassis !== first);
  if (others.length === 0) {
    const message = `no gateway but ${first} can hold the port on ${name}: if it fails, no traffic passes there until it is back; add a second gateway that receives the BFD packets of ${first} (kubectl label node NODE ovn.kubernetes.io/ic-gw=true)`;
    return { code: 'NoStandby', message };
  }
  const { siblings } = facts.reportOf(first);
  const isHeard = (other: string): boolean =>
    siblings.some(({ chassis, state }) => chassis === other && state === 'up');
  const isAble = (chassis: string): boolean => !facts.isDead(chassis) && !facts.isStuck(chassis) && isHeard(chassis);
  const living = others.filter(isAble);
  const [next] = living;
  if (next === undefined) {
    const message = `no other gateway can take over the port on ${name} from ${first}, because no other one both reaches it by BFD and has an ovn-controller that is up to date (${others.join(', ')}): if it fails, no traffic passes there; look at Open vSwitch and ovn-controller of the other gateways`;
    return { code: 'NoStandby', message };
  }
  if (living.length > 1 || hasWitness(first, next, facts)) return undefined;
  const message = `${next} would not take over the port on ${name} if ${first} failed: apart from ${first}, it receives BFD packets from no gateway of another cluster and no node with pods of the VPC, and would consider itself cut off; let udp 6081 pass between it and gateways of other clusters (a zone of plain ovn-ic runs no BFD), or label a third node with ovn.kubernetes.io/ic-gw=true`;
  return { code: 'NoWitness', message };
}

function hasWitness(first: string, next: string, { reportOf, witnesses, isPlainNode }: TakeoverFacts): boolean {
  const { tunnels, siblings } = reportOf(next);
  const heard = new Set([...tunnels, ...siblings].filter(({ state }) => state === 'up').map(({ chassis }) => chassis));
  return witnesses
    .values()
    .some((chassis) => chassis !== first && chassis !== next && (heard.has(chassis) || isPlainNode(chassis)));
}
