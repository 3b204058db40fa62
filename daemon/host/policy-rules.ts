/** Routing rules of ours in the kernel, made those that are wanted. */
import type { HostRule } from '../plan/policy-routing.ts';
import type { Attempt } from './network.ts';
import type { Rule } from './rtnetlink-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';

export async function setRules(
  netlink: Pick<Rtnetlink, 'rules' | 'addRule' | 'deleteRule'>,
  wanted: readonly HostRule[],
  protocol: number,
  attempt: Attempt,
): Promise<void> {
  const present = new Map(
    (await netlink.rules()).filter((rule) => rule.protocol === protocol).map((rule) => [keyOf(rule), rule]),
  );
  for (const rule of wanted) {
    if (present.delete(keyOf(rule))) continue;
    const { priority, source, device, table } = rule;
    const wish = { subnet: rule.subnet, advice: 'look at "ip rule" for the same rule of somebody else' };
    await attempt('RuleRefused', () => netlink.addRule({ priority, source, device, table, protocol }), wish);
  }
  for (const stale of present.values()) await attempt('RuleRefused', () => netlink.deleteRule(stale));
}

function keyOf({ priority, source, device, table }: Omit<Rule, 'protocol'>): string {
  return `${priority} ${source} ${device} ${table}`;
}
