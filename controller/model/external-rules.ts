/** The rules that use addresses outside, by the name of their store, and what annotations of pods are among them. */
import { annotation } from '../../lib/api/names.ts';
import { podEipId } from './external-objects.ts';
import type { OvnDnatRule, OvnFip, OvnSnatRule, RouterLbRule } from './external-objects.ts';
import { wantsNetwork } from './interfaces.ts';
import { podKey } from './objects.ts';
import type { Pod } from './objects.ts';
import type { ApiObjectFacts } from './object-facts.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';

/** The kinds of rules that use addresses outside, by the name of their store; annotations of pods are in the store of pods. Their texts are for messages. */
export const externalRuleKinds = {
  ovnFips: { use: 'fip', kind: 'OvnFip', eipField: 'spec.ovnEip', insideField: 'v4Ip' },
  ovnSnatRules: { use: 'snat', kind: 'OvnSnatRule', eipField: 'spec.ovnEip', insideField: 'v4IpCidr' },
  ovnDnatRules: { use: 'dnat', kind: 'OvnDnatRule', eipField: 'spec.ovnEip', insideField: 'v4Ip' },
  routerLbRules: { use: 'dnat', kind: 'RouterLBRule', eipField: 'spec.ovnEip', insideField: '' },
  iptablesFips: { use: 'fip', kind: 'IptablesFIPRule', eipField: 'spec.eip', insideField: 'internalIp' },
  iptablesSnats: { use: 'snat', kind: 'IptablesSnatRule', eipField: 'spec.eip', insideField: 'internalCIDR' },
  iptablesDnats: { use: 'dnat', kind: 'IptablesDnatRule', eipField: 'spec.eip', insideField: 'internalIp' },
  podFips: { use: 'fip', kind: 'Pod', eipField: `annotation ${annotation.eip}`, insideField: '' },
  podSnats: { use: 'snat', kind: 'Pod', eipField: `annotation ${annotation.snat}`, insideField: '' },
} as const;

export type ExternalRuleStore = keyof typeof externalRuleKinds;

export const externalRuleStores = Object.keys(externalRuleKinds) as readonly ExternalRuleStore[];

/** Annotations of pods that are rules. Their names are those of the pods. */
export type PodRuleStore = 'podFips' | 'podSnats';

export const podRuleStores: readonly PodRuleStore[] = ['podFips', 'podSnats'];

/** Those that are objects of their own. */
export type ObjectRuleStore = Exclude<ExternalRuleStore, PodRuleStore>;

export function isPodRuleStore(store: ExternalRuleStore): store is PodRuleStore {
  return store === 'podFips' || store === 'podSnats';
}

/** Those that are about one address or network inside. */
export type AddressRuleStore = Exclude<ExternalRuleStore, 'routerLbRules'>;

export type AddressRule =
  | { readonly use: 'fip'; readonly rule: OvnFip }
  | { readonly use: 'snat'; readonly rule: OvnSnatRule }
  | { readonly use: 'dnat'; readonly rule: OvnDnatRule };

export type RuleObject = AddressRule | { readonly use: 'lb'; readonly rule: RouterLbRule };

/** The annotation of a kind of rule, as `annotation` names it. */
export const podRuleKeys: Readonly<Record<PodRuleStore, 'eip' | 'snat'>> = { podFips: 'eip', podSnats: 'snat' };

/** The address outside that an annotation of a pod requests, as written; undefined if there is none, or if the pod has no network. */
export function outsideText(pod: Pod, store: PodRuleStore): string | undefined {
  const text = pod.annotations[annotation[podRuleKeys[store]]]?.trim() ?? '';
  return text === '' || !wantsNetwork(pod) ? undefined : text;
}

/** The `id` of the address that an annotation of a pod requests; undefined if there is none. */
export function outsideId(pod: Pod, store: PodRuleStore): string | undefined {
  const ip = parseIp(outsideText(pod, store) ?? '');
  return ip && podEipId(formatIp(ip));
}

/** In the message of a condition, behind the address: the pod has it, but it does not work yet. */
const waitsMark = ' waits: ';

/** The message of a condition about an address that a pod has and that does not work yet. */
export function waitingMessage(address: string, message: string): string {
  return `${address}${waitsMark}${message}`;
}

/** Whether the status of a pod says that the pod has the address that its annotation requests. */
export function hasOutside(pod: Pod, store: PodRuleStore): boolean {
  const condition = pod.outsideConditions[podRuleKeys[store]];
  const ip = parseIp(outsideText(pod, store) ?? '');
  if (condition === undefined || ip === undefined) return false;
  const address = formatIp(ip);
  return condition.status === 'True'
    ? condition.message === address
    : condition.message.startsWith(waitingMessage(address, ''));
}

/** The parts of a pod that decide about its annotation as a rule; empty without one. Most changes of a pod are others, and a rule is judged with all that share its address. */
export function ruleOfPodText(pod: Pod | undefined, store: PodRuleStore): string {
  const text = pod && outsideText(pod, store);
  return pod === undefined || text === undefined
    ? ''
    : JSON.stringify([pod.uid, pod.createdMs, text, hasOutside(pod, store)]);
}

/** An annotation of a pod as if it were an object: its conditions are what the status of the pod says. */
function podRuleFacts(pod: Pod, store: PodRuleStore): ApiObjectFacts {
  const { uid, resourceVersion, createdMs, isDeleting } = pod;
  const condition = pod.outsideConditions[podRuleKeys[store]];
  const has = hasOutside(pod, store);
  return {
    name: podKey(pod),
    uid,
    resourceVersion,
    createdMs,
    isDeleting,
    generation: 0,
    finalizers: [],
    status: {},
    conditions: [
      ...(has ? [{ type: 'Validated', status: 'True', observedGeneration: 0 } as const] : []),
      ...(condition === undefined ? [] : [{ type: 'Ready', ...condition, status: condition.status as 'True' }]),
    ],
  };
}

function podFip(pod: Pod): OvnFip | undefined {
  if (outsideText(pod, 'podFips') === undefined) return undefined;
  const eip = outsideId(pod, 'podFips') ?? '';
  const spec = { eip, ipType: '', ipName: '', vpc: '', v4Ip: '', v6Ip: '', type: '' };
  return { ...podRuleFacts(pod, 'podFips'), spec };
}

function podSnat(pod: Pod): OvnSnatRule | undefined {
  if (outsideText(pod, 'podSnats') === undefined) return undefined;
  const eip = outsideId(pod, 'podSnats') ?? '';
  const spec = { eip, vpcSubnet: '', ipName: '', vpc: '', v4IpCidr: '', v6IpCidr: '' };
  return { ...podRuleFacts(pod, 'podSnats'), spec };
}

type RuleStores = { readonly [K in 'ovnFips' | 'iptablesFips']: ReadonlyMap<string, OvnFip> } & {
  readonly [K in 'ovnSnatRules' | 'iptablesSnats']: ReadonlyMap<string, OvnSnatRule>;
} & { readonly [K in 'ovnDnatRules' | 'iptablesDnats']: ReadonlyMap<string, OvnDnatRule> } & {
  readonly routerLbRules: ReadonlyMap<string, RouterLbRule>;
  readonly pods: ReadonlyMap<string, Pod>;
};

/** The rule of a name, by what it does, whatever its kind. */
export function ruleObject(stores: RuleStores, store: AddressRuleStore, name: string): AddressRule | undefined;
export function ruleObject(stores: RuleStores, store: ExternalRuleStore, name: string): RuleObject | undefined;
export function ruleObject(stores: RuleStores, store: ExternalRuleStore, name: string): RuleObject | undefined {
  if (store === 'routerLbRules') {
    const rule = stores[store].get(name);
    return rule && { use: 'lb', rule };
  }
  if (store === 'podFips') {
    const pod = stores.pods.get(name);
    const rule = pod && podFip(pod);
    return rule && { use: 'fip', rule };
  }
  if (store === 'podSnats') {
    const pod = stores.pods.get(name);
    const rule = pod && podSnat(pod);
    return rule && { use: 'snat', rule };
  }
  if (store === 'ovnFips' || store === 'iptablesFips') {
    const rule = stores[store].get(name);
    return rule && { use: 'fip', rule };
  }
  if (store === 'ovnSnatRules' || store === 'iptablesSnats') {
    const rule = stores[store].get(name);
    return rule && { use: 'snat', rule };
  }
  const rule = stores[store].get(name);
  return rule && { use: 'dnat', rule };
}

/** Whether a kind of objects is one of rules. */
export function isExternalRuleStore(kind: string): kind is ObjectRuleStore {
  return Object.hasOwn(externalRuleKinds, kind) && kind !== 'podFips' && kind !== 'podSnats';
}
