/** Makes our routing rules in the kernel agree with the wanted ones. */
import type { HostRule } from '../model/host-network.ts';
import type { Rule } from './rtnetlink-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import type { Attempt } from './target.ts';

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
    const { subnet, ...wantedRule } = rule;
    const advice = 'look in "ip rule" for the same rule of another program';
    const requester = subnet === undefined ? undefined : { subnet, advice };
    await attempt('RuleRefused', () => netlink.addRule({ ...wantedRule, protocol }), requester);
  }
  for (const stale of present.values()) await attempt('RuleRefused', () => netlink.deleteRule(stale));
}

function keyOf({ priority, family, source, device, isInverted, action, target }: Omit<Rule, 'protocol'>): string {
  return [priority, family, source, device, isInverted, action, target].join(' ');
}
