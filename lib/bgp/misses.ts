// Why advertisements do not announce a valid object: missing selections, not refusals. Uses the same functions as the offers. Called for
// explanations only; no route depends on it.
import { unmetParts } from '../api/label-selector.ts';
import type { Problem } from '../desired/problem.ts';
import type { BgpState, Labels, ObjectRef, Subnet } from './objects.ts';
import { hostPrefix } from './offers/host-routes.ts';
import type { Refusal } from './offers/offer.ts';
import {
  isAnnounceable,
  objectsOf,
  selects,
  takesNamespace,
  type View,
  type ViewedAdvertisement,
} from './offers/view.ts';
import { holds, type OwnPrefix } from './own-prefixes.ts';
import { offersOf } from './route-table.ts';

/** An advertisement that could announce an object but does not. */
export interface Miss extends Problem {
  readonly advertisement: string;
}

interface Question {
  readonly advertisement: ViewedAdvertisement;
  /** The labels that the selector is compared with. */
  readonly labels: Labels;
  readonly what: string;
  readonly namespace: string | undefined;
  readonly subnet: Subnet | undefined;
}

/** @param own the prefix of the object in question; undefined: the object has none */
export function missesOf(view: View, ref: ObjectRef, own: OwnPrefix | undefined): readonly Miss[] {
  const { offers, refusals } = offersOf(view, ref);
  const answered = new Set(refusals.filter((each) => isAbout(each, own)).map(({ advertisement }) => advertisement));
  for (const { advertisement, prefix } of offers) if (own && holds(prefix, own.prefix)) answered.add(advertisement);
  const misses = questionsOf(view, ref, own).flatMap((question): readonly Miss[] => {
    const { name } = question.advertisement;
    const unmet = unmetOf(view, question);
    if (unmet) return [{ advertisement: name, ...unmet }];
    return own === undefined || answered.has(name) ? [] : [{ advertisement: name, ...notTaken(question, own) }];
  });
  return [...misses, ...unusable(view.state)];
}

/** Whether a refusal keeps this prefix of the object from being announced. */
export function isAbout({ code, prefix }: Refusal, own: OwnPrefix | undefined): boolean {
  if (own === undefined) return true;
  // NoAddress is about a type of address that the service lacks; this prefix is of another type.
  return prefix === undefined ? code !== 'NoAddress' : prefix === own.prefix;
}

const nouns = {
  Subnet: 'subnet',
  Pod: 'pod',
  Service: 'service',
  Eip: 'EIP',
  Interconnect: 'cluster',
} as const satisfies Record<ObjectRef['source'], string>;

/** Advertisements that could select the object. */
function questionsOf(view: View, { source, key }: ObjectRef, own: OwnPrefix | undefined): readonly Question[] {
  const object = objectsOf(view.state)[source].get(key);
  if (object === undefined) return [];
  const direct = view.bySource[source].map((advertisement): Question => ({
    advertisement,
    labels: object.labels,
    what: `${nouns[source]} ${key}`,
    namespace: object.namespace,
    subnet: source === 'Subnet' ? view.state.subnets.get(key) : undefined,
  }));
  return source === 'Pod' ? [...direct, ...ofSubnet(view, key, own)] : direct;
}

/** Advertisements with scope Local of the subnet that a pod's address is in. */
function ofSubnet(view: View, pod: string, own: OwnPrefix | undefined): readonly Question[] {
  const address = view.state.pods.get(pod)?.addresses.find(({ ip }) => hostPrefix(ip) === own?.prefix);
  const subnet = view.state.subnets.get(address?.subnet ?? '');
  if (subnet === undefined) return [];
  const { labels, name } = subnet;
  return view.bySource.Subnet.filter(({ spec }) => spec.scope === 'Local').map((advertisement) => ({
    advertisement,
    labels,
    what: `subnet ${name}`,
    namespace: undefined,
    subnet,
  }));
}

function unmetOf(view: View, { advertisement, labels, what, namespace }: Question): Problem | undefined {
  const { name, spec } = advertisement;
  if (!selects(advertisement, labels)) {
    const parts = unmetParts(spec.selector, labels).join(', ');
    return { code: 'NotSelected', message: `advertisement ${name} selects ${parts}; ${what} is not selected` };
  }
  if (namespace === undefined || takesNamespace(advertisement, view, namespace)) return undefined;
  const parts = unmetParts(spec.namespaceSelector ?? {}, view.state.namespaces.get(namespace) ?? {}).join(', ');
  return {
    code: 'NamespaceNotSelected',
    message: `advertisement ${name} selects namespaces by ${parts}; ${namespace} is not selected`,
  };
}

/** The object is selected, but the advertisement does not take this prefix of it. */
function notTaken({ advertisement: { name, spec }, what, subnet }: Question, own: OwnPrefix): Problem {
  if (subnet?.isByNodes === true)
    return {
      code: 'EipsInstead',
      message: `${what} is for addresses outside, which an advertisement with source Eip announces one by one`,
    };
  if (subnet !== undefined && !isAnnounceable(subnet))
    return {
      code: 'NotAnnounceable',
      message:
        subnet.isPhysical === true
          ? `${what} is in a VLAN of the physical network, whose routers lead there`
          : `${what} is the join subnet or of a VPC (${subnet.vpc}) that nodes have no route into`,
    };
  if (subnet !== undefined && spec.scope === 'Local')
    return {
      code: 'PodsInstead',
      message: `advertisement ${name} has scope Local: it announces the pods of ${what} one by one, not its CIDR`,
    };
  return { code: 'NotTaken', message: `advertisement ${name} does not take the ${own.what} of ${what}` };
}

/** Unreadable advertisements: the objects that they would select are unknown. */
function unusable({ advertisements }: BgpState): readonly Miss[] {
  return [...advertisements.values()].flatMap(({ name, spec }) => {
    if ('value' in spec) return [];
    const { code, message } = spec.problem;
    return [{ advertisement: name, code, message: `advertisement ${name} is unusable: ${message}` }];
  });
}
