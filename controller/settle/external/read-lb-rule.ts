/**
 * Reads a RouterLBRule: its OvnEip, the port of the router, and its backends. In: the rule, and the endpoints of its Service. Out: a verdict without regard to
 * other rules, and the entries that it claims. Rule: the author of a pod that it selects must not be able to end it, so an entry that another rule has costs one backend.
 */
import { backendsOf } from '../../../lib/services/backends.ts';
import { isProblem, readRule, ruleServiceKey } from '../../../lib/services/switch-lb-rule.ts';
import { ovnProtocols } from '../../../lib/services/vips.ts';
import { defaultVpc } from '../../../lib/api/names.ts';
import type { RouterLbRule } from '../../model/external-objects.ts';
import { eipTitle } from '../../model/external-objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { ExternalPair, ExternalRule } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleProblem, slicesInVpc } from '../service/frontends.ts';
import { gatewayPortName } from './external-subnets.ts';
import {
  addressClaims,
  families,
  gatewayObstacle,
  pathClaim,
  readEip,
  readPort,
  refuse,
  replyClaim,
  textsOf,
  wait,
  withWays,
} from './read-rule.ts';
import type { EntryClaim, ReadRule } from './read-rule.ts';

const store = 'routerLbRules';

interface Backends {
  readonly pairs: readonly ExternalPair[];
  readonly claims: readonly EntryClaim[];
}

/** Backends in any state: one that is not ready keeps what it has. */
function backendsAt(
  view: View,
  rule: RouterLbRule,
  place: Pick<ExternalRule, 'vpc' | 'subnet'>,
  outside: Readonly<Partial<Record<4 | 6, string>>>,
): Backends {
  const read = readRule(rule);
  if (isProblem(read)) return { pairs: [], claims: [] };
  const slices = slicesInVpc(view, ruleServiceKey(rule));
  const pairs = new Map<string, ExternalPair>();
  const claims = new Map<string, EntryClaim>();
  for (const family of families)
    for (const port of outside[family] === undefined ? [] : read.ports)
      for (const { address, port: target } of backendsOf(slices, port, family)) {
        pairs.set(address, { family, outside: outside[family] ?? '', inside: address });
        for (const claim of [
          replyClaim(place, address, ovnProtocols[port.protocol], target),
          pathClaim(place.vpc, address, 'gateway'),
        ])
          claims.set(claim.entry, { ...claim, backend: address });
      }
  return { pairs: withWays(view, place, [...pairs.values()]), claims: [...claims.values()] };
}

/** Undefined if the rule does not exist. */
export function readRouterLbRule(view: View, name: string): ReadRule | undefined {
  const rule = view.routerLbRules.get(name);
  if (rule === undefined) return undefined;
  const { eip: id, vpc } = rule.spec;
  const unread: ExternalRule = { eip: id, vpc: '', subnet: '', pairs: [] };
  const claimed = addressClaims(view, store, name, { eip: id, vpc });
  const failed = (verdict: ExternalRule, outcome: object): ReadRule => ({
    verdict: { ...verdict, ...outcome },
    claims: 'refusal' in outcome ? [] : claimed,
    insideSubnet: undefined,
  });
  const problem = ruleProblem(view, rule);
  // Its namespace and the name of its Service are not the rule's own: it keeps its ports meanwhile.
  if (problem !== undefined) return { ...failed(unread, { refusal: problem }), claims: claimed };
  if (vpc === '') return failed(unread, refuse('InsideMissing', 'spec.vpc is needed: name the Vpc of the pods'));
  const eip = readEip(view, id, store);
  if (!('value' in eip)) return failed({ ...unread, vpc }, eip);
  const place = { vpc, subnet: eip.value.spec.externalSubnet };
  const known = { ...unread, ...place };
  if (!view.vpcs.has(vpc) && vpc !== defaultVpc)
    return failed(known, wait('VpcNotFound', `spec.vpc: Vpc ${vpc} does not exist: create it`));
  const port = readPort(view, vpc, place.subnet, eip.value);
  if (!('value' in port)) return failed(known, port);
  const gateway = gatewayObstacle(view, vpc);
  if (!('value' in gateway)) return failed(known, gateway);
  const [own, router] = [eipPort(id), eipPort(gatewayPortName(place))].map((key) => view.allocation(key));
  const [mine, routed] = [textsOf(own?.v4, own?.v6), textsOf(router?.v4, router?.v6)];
  const outside = textsOf(routed[4] && mine[4], routed[6] && mine[6]);
  const addresses = families.flatMap((family) => outside[family] ?? []);
  if (addresses.length === 0) {
    const message = `${eipTitle(id)} and the router have no family in common there: use an OvnEip of another family`;
    return failed(known, refuse('FamilyMismatch', message));
  }
  const { pairs, claims } = backendsAt(view, rule, place, outside);
  return { verdict: { ...known, outside: addresses, pairs }, claims: [...claimed, ...claims], insideSubnet: undefined };
}
