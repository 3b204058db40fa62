/**
 * The VPC and the subnets of each namespace. In: objects, through the view. Out: bindings, computed on demand and cached until
 * an object changes that affects them. Rule: a namespace stays in the VPC that its pods were last in, as long as that VPC, or a
 * Subnet in it, requests the namespace.
 */
import { annotation } from '../../../lib/api/names.ts';
import { listedIn } from '../../../lib/desired/rights.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Binding } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { requestsNamespace, bindNamespace } from './binding.ts';

export class NamespaceBindings {
  readonly #view: View;
  readonly #bindings = new Map<string, Binding>();
  /** The VPC that a namespace's pods were last in, by namespace. */
  readonly #vpcsHeld = new Map<string, string>();
  #unserved: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(view: View) {
    this.#view = view;
  }

  binding(namespace: string): Binding {
    let bound = this.#bindings.get(namespace);
    if (bound === undefined) {
      bound = bindNamespace(this.#view, namespace, this.#vpcsHeld.get(namespace));
      this.#bindings.set(namespace, bound);
      if (bound.vpc === undefined) this.#vpcsHeld.delete(namespace);
      else this.#vpcsHeld.set(namespace, bound.vpc);
    }
    return bound;
  }

  /** Namespaces that a Subnet requests and that are in another VPC. */
  unservedBy(subnet: string): readonly string[] {
    return this.#findUnserved().get(subnet) ?? [];
  }

  /** Binds every namespace now: which VPC was first is settled in each round, not when a plan reads it. */
  settle(): void {
    this.#findUnserved();
  }

  #findUnserved(): ReadonlyMap<string, readonly string[]> {
    if (this.#unserved !== undefined) return this.#unserved;
    const unserved = new Map<string, string[]>();
    for (const namespace of [...this.#view.namespaces.keys()].sort())
      for (const subnet of this.binding(namespace).others)
        unserved.set(subnet, [...(unserved.get(subnet) ?? []), namespace]);
    this.#unserved = unserved;
    return unserved;
  }

  /** Call when an object changed that affects one binding, or all of them. */
  invalidate(namespace?: string): void {
    if (namespace === undefined) this.#bindings.clear();
    else this.#bindings.delete(namespace);
    this.#unserved = undefined;
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
