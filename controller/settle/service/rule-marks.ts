/** Which SwitchLBRules and RouterLBRules read a changed value, by the keys of their Services. A pod's change costs the same with any number of rules. */
import { addTo, allOf, removeFrom, type Few } from '../../../lib/desired/few.ts';
import type { Change } from '../../model/change.ts';
import type { LbRuleStore, LoadBalancerPool, Namespace, Subnet } from '../../model/objects.ts';
import { vipPort } from '../../model/ovn-names.ts';
import { ruleServiceKey } from '../../../lib/services/switch-lb-rule.ts';
import type { View } from '../../model/view.ts';
import { text } from '../fingerprint.ts';
import { isPoolInForce } from '../load-balancer/judge-pools.ts';

/** Of the keys of OvnEips among those of objects with addresses. */
const eipPrefix = 'eip/';

export class RuleMarks {
  readonly #view: View;
  /** Keys by the ports that their verdicts read. */
  readonly #readers = new Map<string, Few>();
  readonly #reads = new Map<string, readonly string[]>();

  constructor(view: View) {
    this.#view = view;
  }

  /** Sets the ports that the verdict of a rule reads. */
  read(key: string, ports: readonly string[]): void {
    for (const port of this.#reads.get(key) ?? []) removeFrom(this.#readers, port, key);
    for (const port of ports) addTo(this.#readers, port, key);
    if (ports.length === 0) this.#reads.delete(key);
    else this.#reads.set(key, ports);
  }

  *concerned(change: Change): Generator<string> {
    const { indexes } = this.#view;
    if (change.kind === 'switchLbRules' || change.kind === 'routerLbRules') {
      for (const rule of [change.before, change.after]) if (rule !== undefined) yield ruleServiceKey(rule);
    } else if (change.kind === 'namespaces') {
      if (placeText(change.before) !== placeText(change.after))
        yield* this.#keysOf((store) => indexes.rulesByNamespace[store].of(change.name));
    } else if (change.kind === 'ports') yield* this.#readingAddressesOf(change.name);
    else if (change.kind === 'freed') yield* allOf(this.#readers.get(change.name));
    else if (change.kind === 'vips') yield* allOf(this.#readers.get(vipPort(change.name)));
    else if (isReadByAll(change)) yield* this.#keysOf((store) => this.#view[store].keys());
  }

  /** Rules with one of the addresses that an object has. */
  *#readingAddressesOf(object: string): Generator<string> {
    const { switchLbRules, routerLbRules, indexes } = this.#view;
    if (switchLbRules.size + routerLbRules.size === 0) return;
    if (object.startsWith(eipPrefix)) {
      const eip = object.slice(eipPrefix.length);
      yield* this.#keysOf((store) =>
        store === 'routerLbRules' ? indexes.externalRulesByEip.routerLbRules.of(eip) : [],
      );
    }
    for (const { allocation } of this.#view.ports(object))
      for (const address of [allocation.v4, allocation.v6])
        if (address !== undefined) yield* this.#keysOf((store) => indexes.rulesByAddress[store].of(address));
  }

  *#keysOf(rulesOf: (store: LbRuleStore) => Iterable<string>): Generator<string> {
    for (const store of ['switchLbRules', 'routerLbRules'] as const)
      for (const name of rulesOf(store)) {
        const rule = this.#view[store].get(name);
        if (rule !== undefined) yield ruleServiceKey(rule);
      }
  }
}

/** Whether a namespace exists, and the labels by which Subnets select it. */
function placeText(namespace: Namespace | undefined): string {
  return namespace === undefined || namespace.isDeleting ? '' : text(namespace.labels);
}

/** The addresses that Services may get of a pool. */
function poolText(pool: LoadBalancerPool | undefined): string {
  return pool === undefined || !isPoolInForce(pool) ? '' : text(pool.spec.addresses);
}

/** The namespaces that a Subnet requests. */
function requestText(subnet: Subnet | undefined): string {
  return text([subnet?.spec.namespaces, subnet?.spec.namespaceSelectors]);
}

/** Whether any address may belong to another object now, or any namespace to another VPC. */
function isReadByAll(change: Change): boolean {
  if (change.kind === 'nodes') return text(change.before?.addresses) !== text(change.after?.addresses);
  if (change.kind === 'vpcs') return text(change.before?.spec.namespaces) !== text(change.after?.spec.namespaces);
  if (change.kind === 'loadBalancerPools') return poolText(change.before) !== poolText(change.after);
  if (change.kind === 'subnets') return requestText(change.before) !== requestText(change.after);
  return change.kind === 'verdicts' || change.kind === 'serviceCidrs' || change.kind === 'transitSwitches';
}
