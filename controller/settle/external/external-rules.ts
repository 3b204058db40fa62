/**
 * Decides which of the rules that use addresses outside are in force. In: changes of the rules and of what they name. Out: a verdict for
 * each rule, from which `plan/external/rules.ts` makes rows. Rules that claim the same entry differently, such as an OvnEip or a port of
 * it, are in conflict: the one in force stays, of new ones the older is first. Rule: a change costs the rules that share entries with those
 * it concerns.
 */
import { byRight, unlessRefused } from '../../../lib/desired/rights.ts';
import { addTo, allOf, removeFrom, type Few } from '../../../lib/desired/few.ts';
import { ruleNameAt } from '../../../lib/services/switch-lb-rule.ts';
import type { Change } from '../../model/change.ts';
import { iptablesEipId } from '../../model/external-objects.ts';
import {
  externalRuleKinds,
  externalRuleStores,
  isExternalRuleStore,
  isPodRuleStore,
  outsideText,
  podRuleStores,
  ruleObject,
  ruleOfPodText,
} from '../../model/external-rules.ts';
import type { ExternalRuleStore, RuleObject } from '../../model/external-rules.ts';
import { podKey } from '../../model/objects.ts';
import type { ExternalRule, GatewayPort } from '../../model/settled.ts';
import type { Indexes, View } from '../../model/view.ts';
import { externalConfigOf } from './external-config.ts';
import { gatewayPortNamed, vpcsNaming } from './external-subnets.ts';
import { gatewayNodeText } from './gateway-order.ts';
import { natGatewaysReading } from './nat-gateways.ts';
import { altersRights, outsideOfNode } from './pod-addresses.ts';
import { readRouterLbRule } from './read-lb-rule.ts';
import { anyVpc, readRule } from './read-rule.ts';
import type { EntryClaim, ReadRule } from './read-rule.ts';

export interface ExternalRulesOptions {
  readonly view: View;
  readonly onChange: (key: string, before: ExternalRule | undefined, after: ExternalRule | undefined) => void;
}

/** Reasons of a refusal in favour of another rule. */
const lost: ReadonlySet<string> = new Set(['AddressInUse', 'PortInUse', 'PinnedElsewhere', 'Conflict']);

const rightOf = unlessRefused(lost);
/** The right of a rule that is new, or was refused in favour of another. */
const refusedRight = 2;

interface Claimed {
  readonly value: string;
  /** The rule that claimed the entry first. */
  readonly key: string;
}

export function ruleKey(store: ExternalRuleStore, name: string): string {
  return `${store}/${name}`;
}

/** Undefined for a key of something else. */
export function ruleAt(key: string): { readonly store: ExternalRuleStore; readonly name: string } | undefined {
  const slash = key.indexOf('/');
  const store = externalRuleStores.find((one) => one === key.slice(0, slash));
  return store && { store, name: key.slice(slash + 1) };
}

/** `OvnFip web` */
function titleOf(key: string): string {
  const rule = ruleAt(key);
  if (rule === undefined) return key;
  const { kind, eipField } = externalRuleKinds[rule.store];
  return `${kind} ${rule.name}${isPodRuleStore(rule.store) ? ` (${eipField})` : ''}`;
}

export function* rulesAt(
  indexes: Indexes,
  by: 'externalRulesByEip' | 'externalRulesByPort',
  name: string,
): Generator<string> {
  const found: Partial<Indexes['externalRulesByEip']> = indexes[by];
  for (const store of externalRuleStores) for (const rule of found[store]?.of(name) ?? []) yield ruleKey(store, rule);
}

/** The parts of a port that rules depend on: which nodes may hold it is not among them. */
function ruleText(port: GatewayPort | undefined): string {
  return port === undefined ? '' : JSON.stringify([port.problem, port.isPlaced, port.isOnlyExit, port.detours]);
}

export class ExternalRules {
  readonly verdicts = new Map<string, ExternalRule>();
  readonly #options: ExternalRulesOptions;
  readonly #read = new Map<string, ReadRule>();
  /** Rules that claim an entry. */
  readonly #byEntry = new Map<string, Few>();
  readonly #byVpc = new Map<string, Few>();
  readonly #byInsideSubnet = new Map<string, Few>();
  #due = new Set<string>();

  constructor(options: ExternalRulesOptions) {
    this.#options = options;
  }

  changed(change: Change): void {
    for (const key of this.#concerned(change)) this.#due.add(key);
    for (const gateway of natGatewaysReading(change, this.#options.view))
      for (const key of this.#ofNatGateway(gateway)) this.#due.add(key);
  }

  *#concerned(change: Change): Generator<string> {
    const { indexes } = this.#options.view;
    const { kind, name } = change;
    if (isExternalRuleStore(kind)) yield ruleKey(kind, name);
    else if (kind === 'ovnEips') yield* rulesAt(indexes, 'externalRulesByEip', name);
    else if (kind === 'iptablesEips') yield* rulesAt(indexes, 'externalRulesByEip', iptablesEipId(name));
    else if (kind === 'ports') yield* this.#ofPorts(name);
    else if (kind === 'freed' || kind === 'ips') yield* rulesAt(indexes, 'externalRulesByPort', name);
    else if (kind === 'pods') {
      if (change.before?.node !== change.after?.node) yield* this.#ofPorts(`pod/${name}`);
      for (const store of podRuleStores)
        if (ruleOfPodText(change.before, store) !== ruleOfPodText(change.after, store)) yield ruleKey(store, name);
    } else if (kind === 'nodes') {
      for (const id of outsideOfNode(change.before, change.after)) yield* rulesAt(indexes, 'externalRulesByEip', id);
      if (gatewayNodeText(change.before) === gatewayNodeText(change.after)) return;
      yield* this.#ofTypes([
        'distributed',
        ...(externalConfigOf(this.#options.view)?.type === 'distributed' ? [''] : []),
      ]);
    } else if (kind === 'externalConfigs') {
      if (change.before?.type !== change.after?.type) yield* this.#ofTypes(['']);
    } else if (kind === 'verdicts' || kind === 'subnets') {
      if (altersRights(change))
        for (const store of podRuleStores) for (const pod of indexes.podsByRule.of(store)) yield ruleKey(store, pod);
      if (kind === 'subnets' && change.before?.isDeleting === change.after?.isDeleting) return;
      for (const rule of indexes.snatRulesBySubnet.of(name)) yield ruleKey('ovnSnatRules', rule);
      yield* allOf(this.#byInsideSubnet.get(name));
      // The gateway of a Subnet outside is the next hop of policies.
      for (const vpc of vpcsNaming(this.#options.view, name)) yield* allOf(this.#byVpc.get(vpc));
    } else if (kind === 'gatewayPorts') {
      if (ruleText(change.before) !== ruleText(change.after))
        yield* allOf(this.#byVpc.get(name.slice(0, name.indexOf('/'))));
    } else if (kind === 'vpcs' && (change.before === undefined) !== (change.after === undefined))
      yield* allOf(this.#byVpc.get(name));
    yield* this.#ofFrontends(change);
  }

  /** RouterLBRules, whose backends are those of their Services. */
  *#ofFrontends(change: Change): Generator<string> {
    const { indexes, routerLbRules } = this.#options.view;
    if (routerLbRules.size === 0) return;
    const { kind, name } = change;
    if (kind === 'namespaces') {
      if (change.before?.isDeleting !== change.after?.isDeleting)
        for (const rule of indexes.rulesByNamespace.routerLbRules.of(name)) yield ruleKey('routerLbRules', rule);
      return;
    }
    const services =
      kind === 'endpointSlices'
        ? [change.before?.service ?? '', change.after?.service ?? '']
        : kind === 'services' || kind === 'serviceVerdicts'
          ? [name]
          : [];
    for (const service of services) {
      const rule = ruleNameAt(service, 'RouterLBRule') ?? '';
      if (routerLbRules.has(rule)) yield ruleKey('routerLbRules', rule);
    }
  }

  *#ofNatGateway(name: string): Generator<string> {
    const { indexes } = this.#options.view;
    for (const eip of indexes.eipsByNatGateway.of(name))
      yield* rulesAt(indexes, 'externalRulesByEip', iptablesEipId(eip));
  }

  *#ofTypes(types: readonly string[]): Generator<string> {
    const { distributedFips, podsByRule } = this.#options.view.indexes;
    for (const type of types) for (const fip of distributedFips.of(type)) yield ruleKey('ovnFips', fip);
    if (types.includes('')) for (const pod of podsByRule.of('podFips')) yield ruleKey('podFips', pod);
  }

  *#ofPorts(key: string): Generator<string> {
    const { view } = this.#options;
    if (key.startsWith('eip/')) {
      const name = key.slice('eip/'.length);
      yield* rulesAt(view.indexes, 'externalRulesByEip', name);
      // Rules need the address of their router's port.
      const port = gatewayPortNamed(view, name);
      if (port !== undefined) yield* allOf(this.#byVpc.get(port.vpc));
    } else if (key.startsWith('pod/') || key.startsWith('vip/'))
      for (const { port } of view.ports(key)) yield* rulesAt(view.indexes, 'externalRulesByPort', port);
    const pod = key.startsWith('pod/') ? view.pods.get(key.slice('pod/'.length)) : undefined;
    for (const store of podRuleStores)
      if (pod !== undefined && outsideText(pod, store) !== undefined) yield ruleKey(store, podKey(pod));
  }

  settle(): void {
    if (this.#due.size === 0) return;
    const due = this.#due;
    this.#due = new Set();
    const concerned = new Set<string>();
    // Rules in conflict before and after.
    this.#gather(due, concerned);
    for (const key of due) this.#readAgain(key);
    this.#gather(due, concerned);
    this.#judge(concerned);
  }

  /** Adds the rules and all that share entries with them, directly or through others. Each entry is walked once: many rules may share it. */
  #gather(keys: Iterable<string>, found: Set<string>): void {
    const open = [...keys];
    const walked = new Set<string>();
    for (let key = open.pop(); key !== undefined; key = open.pop()) {
      found.add(key);
      for (const { entry } of this.#read.get(key)?.claims ?? []) {
        if (walked.has(entry)) continue;
        walked.add(entry);
        for (const other of allOf(this.#byEntry.get(entry))) if (!found.has(other)) open.push(other);
      }
    }
  }

  #readAgain(key: string): void {
    const { view } = this.#options;
    const before = this.#read.get(key);
    if (before !== undefined) this.#index(before, (map, at) => removeFrom(map, at, key));
    const rule = ruleAt(key);
    const after = rule && readAny(view, rule.store, rule.name);
    if (after === undefined) {
      this.#read.delete(key);
      return;
    }
    this.#read.set(key, after);
    this.#index(after, (map, at) => addTo(map, at, key));
  }

  #index({ claims, verdict, insideSubnet }: ReadRule, apply: (map: Map<string, Few>, at: string) => void): void {
    for (const { entry } of claims) apply(this.#byEntry, entry);
    if (verdict.vpc !== '') apply(this.#byVpc, verdict.vpc);
    if (insideSubnet !== undefined) apply(this.#byInsideSubnet, insideSubnet);
  }

  #judge(keys: ReadonlySet<string>): void {
    const taken = new Map<string, Claimed>();
    const inOrder = this.#inOrder(keys);
    const inForce = inOrder.filter(({ rule }) => rightOf(rule) < refusedRight);
    const verdicts = new Map(inForce.map(({ key }) => [key, this.#decide(key, taken)] as const));
    // A backend that a RouterLBRule got by its labels takes nothing from a rule that is in force, and a new rule takes no backend.
    for (const { key } of inForce) this.#set(key, this.#withBackends(key, verdicts.get(key), taken));
    for (const { key, rule } of inOrder)
      if (rightOf(rule) >= refusedRight) this.#set(key, this.#withBackends(key, this.#decide(key, taken), taken));
    for (const key of keys) if (!this.#read.has(key)) this.#set(key, undefined);
  }

  /** Takes the entries of a rule, or refuses it. */
  #decide(key: string, taken: Map<string, Claimed>): ExternalRule | undefined {
    const read = this.#read.get(key);
    if (read === undefined) return undefined;
    const claims = read.claims.filter(({ backend }) => backend === undefined);
    const rival = rivalOf(taken, claims);
    if (rival === undefined) {
      take(taken, key, claims);
      return read.verdict;
    }
    const { obstacle: _, ...verdict } = read.verdict;
    const { code, remedy = 'use another, or delete one of the two' } = rival.claim;
    return { ...verdict, refusal: { code, message: `${lostTo(rival)}: ${remedy}` } };
  }

  /** Takes the entries of backends, each with all of its own or none. */
  #withBackends(key: string, verdict: ExternalRule | undefined, taken: Map<string, Claimed>): ExternalRule | undefined {
    if (verdict === undefined || verdict.refusal !== undefined) return verdict;
    const byBackend = new Map<string, EntryClaim[]>();
    for (const claim of this.#read.get(key)?.claims ?? [])
      if (claim.backend !== undefined) byBackend.set(claim.backend, [...(byBackend.get(claim.backend) ?? []), claim]);
    const leftOut: Record<string, string> = {};
    for (const [backend, claims] of byBackend) {
      const rival = rivalOf(taken, claims);
      if (rival === undefined) take(taken, key, claims);
      else leftOut[backend] = lostTo(rival);
    }
    return Object.keys(leftOut).length === 0 ? verdict : { ...verdict, leftOut };
  }

  #inOrder(keys: ReadonlySet<string>): readonly { readonly key: string; readonly rule: RuleObject['rule'] }[] {
    const { view } = this.#options;
    const found = [...keys].sort().flatMap((key) => {
      const at = ruleAt(key);
      const rule = at && ruleObject(view, at.store, at.name)?.rule;
      return rule === undefined || !this.#read.has(key) ? [] : [{ key, rule }];
    });
    const inOrder = byRight<RuleObject['rule']>(rightOf);
    return found.sort((a, b) => inOrder(a.rule, b.rule));
  }

  #set(key: string, after: ExternalRule | undefined): void {
    const before = this.verdicts.get(key);
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    if (after === undefined) this.verdicts.delete(key);
    else this.verdicts.set(key, after);
    this.#options.onChange(key, before, after);
  }
}

function readAny(view: View, store: ExternalRuleStore, name: string): ReadRule | undefined {
  return store === 'routerLbRules' ? readRouterLbRule(view, name) : readRule(view, store, name);
}

function take(taken: Map<string, Claimed>, key: string, claims: readonly EntryClaim[]): void {
  for (const { entry, value } of claims) {
    const holder = taken.get(entry);
    if (holder === undefined || holder.value === anyVpc) taken.set(entry, { value, key });
  }
}

function lostTo({ claim, by }: { readonly claim: EntryClaim; readonly by: string }): string {
  return `${claim.what} is in use by ${titleOf(by)}, which had it before`;
}

/** Whether two rules may have an entry together. */
function areCompatible(first: string, second: string): boolean {
  if (first === second) return true;
  const values = [first, second];
  return values.includes(anyVpc) && values.every((value) => value.startsWith('nat/'));
}

function rivalOf(
  taken: ReadonlyMap<string, Claimed>,
  claims: readonly EntryClaim[],
): { readonly claim: EntryClaim; readonly by: string } | undefined {
  for (const claim of claims) {
    const holder = taken.get(claim.entry);
    if (holder !== undefined && !areCompatible(holder.value, claim.value)) return { claim, by: holder.key };
  }
  return undefined;
}
