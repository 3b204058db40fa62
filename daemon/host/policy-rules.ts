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
    const { subnet, ...wish } = rule;
    const advice = 'look at "ip rule" for the same rule of somebody else';
    const owner = subnet === undefined ? undefined : { subnet, advice };
    await attempt('RuleRefused', () => netlink.addRule({ ...wish, protocol }), owner);
  }
  for (const stale of present.values()) await attempt('RuleRefused', () => netlink.deleteRule(stale));
}

function keyOf({ priority, family, source, device, isInverted, action, target }: Omit<Rule, 'protocol'>): string {
  return [priority, family, source, device, isInverted, action, target].join(' ');
}
