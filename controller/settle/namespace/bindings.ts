/**
 * The VPC and the subnets of each namespace. In: objects, through the view. Out: bindings, computed on demand and once a round, and which
 * of them have changed. Rules: a namespace stays in the VPC that its pods were last in, as long as that VPC, or a
 * Subnet in it, requests the namespace; a change costs what it touches.
 */
import { annotation, defaultVpc } from '../../../lib/api/names.ts';
import { entryOf } from '../../../lib/desired/entry-of.ts';
import { listedIn } from '../../../lib/desired/rights.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Subnet } from '../../model/objects.ts';
import type { Binding } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { requestsNamespace, bindNamespace } from './binding.ts';

export interface BindingChange {
  readonly namespace: string;
  readonly before: Binding | undefined;
  readonly after: Binding | undefined;
}

const none: ReadonlySet<string> = new Set();

export class NamespaceBindings {
  readonly #view: View;
  readonly #bindings = new Map<string, Binding>();
  /** The VPC that a namespace's pods were last in, by namespace. */
  readonly #vpcsHeld = new Map<string, string>();
  /** The bindings of existing namespaces as of the last round. */
  readonly #settled = new Map<string, Binding>();
  /** Namespaces whose binding may have changed since the last round; all of them before the first. */
  readonly #due = new Set<string>();
  #areAllDue = true;
  /** VPC → namespaces that are in it, or were since the last round. */
  readonly #byVpc = new Map<string, Set<string>>();
  readonly #bySubnet = new Map<string, Set<string>>();
  /** Subnet → namespaces that it requests in vain. */
  readonly #unserved = new Map<string, Set<string>>();

  constructor(view: View) {
    this.#view = view;
  }

  binding(namespace: string): Binding {
    let bound = this.#bindings.get(namespace);
    if (bound === undefined) {
      bound = bindNamespace(this.#view, namespace, this.#vpcsHeld.get(namespace));
      this.#bindings.set(namespace, bound);
      entryOf(this.#byVpc, bound.vpc ?? defaultVpc, () => new Set<string>()).add(namespace);
      if (bound.vpc === undefined) this.#vpcsHeld.delete(namespace);
      else this.#vpcsHeld.set(namespace, bound.vpc);
    }
    return bound;
  }

  /** Namespaces that a Subnet requests and that are in another VPC. As of the last round, like the following. */
  unservedBy(subnet: string): readonly string[] {
    return [...(this.#unserved.get(subnet) ?? none)].sort();
  }

  /** Namespaces whose pods get addresses of a Subnet. */
  namespacesOf(subnet: string): ReadonlySet<string> {
    return this.#bySubnet.get(subnet) ?? none;
  }

  /** Binds every namespace now: which VPC was first is settled in each round, not when a plan reads it. Returns what has changed. */
  settle(): readonly BindingChange[] {
    const due = this.#areAllDue ? new Set([...this.#settled.keys(), ...this.#view.namespaces.keys()]) : this.#due;
    const ordered = [...due].sort();
    this.#due.clear();
    this.#areAllDue = false;
    return ordered.flatMap((namespace): BindingChange[] => {
      const before = this.#settled.get(namespace);
      const after = this.#view.namespaces.has(namespace) ? this.binding(namespace) : undefined;
      if (JSON.stringify(before) === JSON.stringify(after)) return [];
      if (before !== undefined) this.#index(before, (names) => names.delete(namespace));
      if (after !== undefined) this.#index(after, (names) => names.add(namespace));
      if (after === undefined) this.#settled.delete(namespace);
      else this.#settled.set(namespace, after);
      return [{ namespace, before, after }];
    });
  }

  #index({ vpc = defaultVpc, subnets, others }: Binding, change: (names: Set<string>) => void): void {
    const set = (index: Map<string, Set<string>>, key: string): void => {
      const names = entryOf(index, key, () => new Set<string>());
      change(names);
      if (names.size === 0) index.delete(key);
    };
    set(this.#byVpc, vpc);
    for (const subnet of subnets) set(this.#bySubnet, subnet);
    for (const subnet of others) set(this.#unserved, subnet);
  }

  /** To be called when a namespace has changed. */
  namespaceChanged(namespace: string): void {
    this.#bindings.delete(namespace);
    this.#due.add(namespace);
  }

  /** To be called when a Vpc has changed. */
  vpcChanged(): void {
    this.#bindings.clear();
    this.#areAllDue = true;
  }

  /** To be called with both values of a Subnet that has changed, or with the present one if only its verdict has. */
  subnetChanged(...values: readonly (Subnet | undefined)[]): void {
    if (this.#areAllDue) {
      this.#bindings.clear();
      return;
    }
    for (const subnet of values) {
      if (subnet === undefined) continue;
      const { name, spec } = subnet;
      const { namespaces, indexes } = this.#view;
      for (const namespace of spec.namespaces) this.namespaceChanged(namespace);
      // Labels are looked at for each namespace.
      if (spec.namespaceSelectors.length > 0)
        for (const { name: namespace, labels } of namespaces.values())
          if (requestsNamespace(subnet, namespace, labels)) this.namespaceChanged(namespace);
      // It may be the subnet of namespaces that no Subnet requests.
      const vpc = vpcNameOf(spec);
      if (vpc !== defaultVpc || [...indexes.vpcsByDefaultSubnet.of(name)].length > 0)
        for (const namespace of this.#byVpc.get(vpc) ?? none) this.namespaceChanged(namespace);
    }
  }

  /** Forgets a deleted namespace: a later one of the same name starts anew. */
  forget(namespace: string): void {
    this.#vpcsHeld.delete(namespace);
  }

  /** Restores which VPC each namespace was in from its annotation, or else from the status of a Vpc that lists it. */
  restore(): void {
    const { namespaces, subnets, vpcs } = this.#view;
    for (const { name, annotations, labels } of namespaces.values()) {
      const [first = ''] = (annotations[annotation.logicalSwitch] ?? '').split(',');
      const subnet = subnets.get(first);
      const vpc = vpcs.get(subnet === undefined ? '' : vpcNameOf(subnet.spec));
      const isRequested =
        vpc?.spec.namespaces.includes(name) === true || (subnet && requestsNamespace(subnet, name, labels)) === true;
      if (subnet !== undefined && isRequested) this.#vpcsHeld.set(name, vpcNameOf(subnet.spec));
    }
    for (const vpc of vpcs.values())
      for (const namespace of listedIn(vpc, 'namespaces'))
        if (vpc.spec.namespaces.includes(namespace) && !this.#vpcsHeld.has(namespace))
          this.#vpcsHeld.set(namespace, vpc.name);
  }
}
