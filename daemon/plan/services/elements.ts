/** Turns planned Services into elements of the nftables table, and two plans into the elements in which they differ. Pure. */
import { type Family, familyOf } from '../../../lib/net/ip.ts';
import {
  learnChainName,
  pickChainName,
  slotMap,
  type TableChanges,
  type TableElement,
} from '../../model/service-table.ts';
import type { Frontend, ServedService, Slots } from '../../model/service.ts';

/** Numbers the endpoints: those that stay keep their numbers, and others take the free ones. */
export function arrange(present: Slots, wanted: Slots): Slots {
  const left = new Set(wanted);
  const kept = wanted.map((_, at) => {
    const slot = present[at];
    return slot !== undefined && left.delete(slot) ? slot : undefined;
  });
  const rest = left.values();
  return kept.map((slot) => slot ?? rest.next().value ?? '');
}

/** The same Service, with the present numbers of its endpoints. */
export function arrangeService(
  service: ServedService,
  present: (frontend: Frontend, list: 'all' | 'local') => Slots,
): ServedService {
  return {
    ...service,
    frontends: service.frontends.map((frontend) => ({
      ...frontend,
      all: arrange(present(frontend, 'all'), frontend.all),
      local: frontend.local && arrange(present(frontend, 'local'), frontend.local),
    })),
  };
}

/** For `arrangeService`, from the plan that is in force. */
export function slotsOfPlan(service: ServedService | undefined): (frontend: Frontend, list: 'all' | 'local') => Slots {
  const byKey = new Map(service?.frontends.map((frontend) => [frontend.key, frontend]));
  return ({ key }, list) => byKey.get(key)?.[list] ?? [];
}

export function* elementsOf(service: ServedService): Generator<TableElement> {
  for (const ip of service.clusterIps) yield { set: `cluster-ips${familyOf(ip)}`, key: ip, value: '' };
  for (const frontend of service.frontends) yield* elementsOfFrontend(frontend);
}

const refusals = { reject: 'goto refuse', drop: 'drop' } as const;

function* elementsOfFrontend(frontend: Frontend): Generator<TableElement> {
  const { key, family, all, local, refusal, outsideRefusal, isOfClientsNode, sourceRanges, affinitySeconds } = frontend;
  const isSticky = affinitySeconds !== undefined;
  const pick = (list: 'all' | 'local', { length: width }: Slots): string =>
    `goto ${pickChainName({ family, list, isNodePort: frontend.isNodePort, isSticky, width })}`;
  if (all.length > 0) {
    yield { set: `services${family}`, key, value: pick('all', all) };
    yield { set: `frontends${family}`, key, value: '' };
    yield* slotElements('all', family, key, all);
  }
  if (local !== undefined) {
    yield { set: `outside${family}`, key, value: local.length > 0 ? pick('local', local) : 'accept' };
    yield { set: `kept${family}`, key, value: '' };
    yield* slotElements('local', family, key, local);
  }
  if (refusal !== undefined) yield { set: `refused${family}`, key, value: refusals[refusal] };
  if (outsideRefusal !== undefined) yield { set: `outside-refused${family}`, key, value: refusals[outsideRefusal] };
  if (isOfClientsNode) yield { set: `node-local${family}`, key, value: '' };
  if (sourceRanges !== undefined) {
    yield { set: `ranged${family}`, key, value: '' };
    for (const range of sourceRanges) yield { set: `ranges${family}`, key: `${key} . ${range}`, value: '' };
  }
  if (affinitySeconds !== undefined && all.length > 0) {
    yield { set: `sticky${family}`, key, value: `goto ${learnChainName(affinitySeconds)}` };
    for (const slot of new Set([...all, ...(local ?? [])]))
      yield { set: `sticky-endpoints${family}`, key: `${key} . ${slot}`, value: '' };
  }
}

function* slotElements(list: 'all' | 'local', family: Family, key: string, slots: Slots): Generator<TableElement> {
  for (const [at, slot] of slots.entries())
    yield { set: `${slotMap[list]}${family}`, key: `${key} . ${at}`, value: slot };
}

/**
 * Collects the differences of several plans. An element that one plan removes and another one adds stays, or is replaced in the same
 * transaction.
 */
export class ChangeCollector {
  readonly #removed = new Map<string, TableElement>();
  readonly #added = new Map<string, TableElement>();

  add(before: Iterable<TableElement>, after: Iterable<TableElement>): void {
    const gone = new Map<string, TableElement>();
    for (const element of before) gone.set(`${element.set} ${element.key}`, element);
    for (const element of after) {
      const id = `${element.set} ${element.key}`;
      if (gone.get(id)?.value === element.value) gone.delete(id);
      else this.#added.set(id, element);
    }
    for (const [id, element] of gone) this.#removed.set(id, element);
  }

  get changes(): TableChanges {
    const removed: TableElement[] = [];
    const added = new Map(this.#added);
    for (const [id, element] of this.#removed) {
      if (added.get(id)?.value === element.value) added.delete(id);
      else removed.push(element);
    }
    return { removed, added: [...added.values()] };
  }
}

/** Chains to which verdicts of these elements lead, without those of the skeleton. */
export function chainsOf(elements: readonly TableElement[]): ReadonlySet<string> {
  const verdicts = new Set<string>();
  for (const { value } of elements) if (value.startsWith('goto ')) verdicts.add(value);
  return new Set([...verdicts].flatMap((value) => /^goto (\S+-\d+)$/.exec(value)?.[1] ?? []));
}
