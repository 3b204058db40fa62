/** Sets of ports: what a rule allows, and what two ends have in common. In: ports of rules, named ports of a destination. Out: sets and their texts. Pure. */
import type { NamedPort, PolicyPort, PolicyProtocol } from '../../../lib/policies/policy.ts';

/** Ports of one protocol. */
export interface Ports {
  readonly protocol: PolicyProtocol;
  /** The name that the rule gives. */
  readonly name: string | undefined;
  /** The first and the last number; undefined if the destination, which decides the number of the name, is unknown. */
  readonly span: readonly [first: number, last: number] | undefined;
}

export type PortSet = 'all' | readonly Ports[];

const lastPort = 65_535;

/** @param named the named ports of the destination; undefined if it is unknown */
export function portsOfRule(
  ports: readonly PolicyPort[] | undefined,
  named: readonly NamedPort[] | undefined,
): PortSet {
  if (ports === undefined) return 'all';
  return ports.flatMap(({ protocol, port, endPort }): readonly Ports[] => {
    if (port === undefined) return [{ protocol, name: undefined, span: [1, lastPort] }];
    if (typeof port === 'string') return numbersOf({ protocol, name: port, span: undefined }, named);
    const last = endPort ?? port;
    return last < port ? [] : [{ protocol, name: undefined, span: [port, last] }];
  });
}

function numbersOf(ports: Ports, named: readonly NamedPort[] | undefined): readonly Ports[] {
  if (named === undefined || ports.span !== undefined) return [ports];
  return named
    .filter(({ name, protocol }) => name === ports.name && protocol === ports.protocol)
    .map(({ name, protocol, number }) => ({ protocol, name, span: [number, number] }));
}

/** Gives the names of the set the numbers that this destination decides. */
export function reachedAt(ports: PortSet, named: readonly NamedPort[]): PortSet {
  return ports === 'all' ? ports : ports.flatMap((one) => numbersOf(one, named));
}

export function unionOf(sets: readonly PortSet[]): PortSet {
  const all: Ports[] = [];
  for (const one of sets) {
    if (one === 'all') return 'all';
    all.push(...one);
  }
  return merged(all);
}

/** The ports of both sets. A name without a number is in a set with any port of its protocol. */
export function commonPorts(a: PortSet, b: PortSet): PortSet {
  if (a === 'all') return b === 'all' ? b : merged(b);
  if (b === 'all') return merged(a);
  return merged(a.flatMap((one) => b.flatMap((other) => commonOf(one, other))));
}

const everyPort: readonly Ports[] = (['tcp', 'udp', 'sctp'] as const).map((protocol) => ({
  protocol,
  name: undefined,
  span: [1, lastPort],
}));

/** The ports of the first set that the second one does not contain. Both have numbers, and what has no ports is in neither. */
export function portsWithout(a: PortSet, b: PortSet): PortSet {
  if (b === 'all') return [];
  if (a === 'all' && namesIn(b).length === b.length) return a;
  return merged(b.reduce((left, one) => left.flatMap((other) => remainsOf(other, one)), a === 'all' ? everyPort : a));
}

export function isEmpty(ports: PortSet): boolean {
  return ports.length === 0;
}

function remainsOf(one: Ports, taken: Ports): readonly Ports[] {
  const { protocol, span } = one;
  if (span === undefined) return isWholeOf(taken, protocol) || isSameName(one, taken) ? [] : [one];
  const common = commonOf(one, taken)[0]?.span;
  if (common === undefined) return [one];
  const rest = (first: number, last: number): readonly Ports[] =>
    first > last ? [] : [{ protocol, name: undefined, span: [first, last] }];
  return [...rest(span[0], common[0] - 1), ...rest(common[1] + 1, span[1])];
}

function isWholeOf({ protocol, span }: Ports, wanted: PolicyProtocol): boolean {
  return protocol === wanted && span !== undefined && span[0] === 1 && span[1] === lastPort;
}

function isSameName(a: Ports, b: Ports): boolean {
  return a.protocol === b.protocol && a.name === b.name && a.span === undefined && b.span === undefined;
}

/** The names of a set whose numbers are not known. */
export function namesIn(ports: PortSet): readonly Ports[] {
  return ports === 'all' ? [] : ports.filter(({ span }) => span === undefined);
}

/** The protocols of which a set has some ports by their numbers, but not all. */
export function partialProtocols(ports: PortSet): ReadonlySet<PolicyProtocol> {
  if (ports === 'all') return new Set();
  const whole = ports.flatMap((one) => (isWholeOf(one, one.protocol) ? [one.protocol] : []));
  const some = ports.filter(({ span }) => span !== undefined).map(({ protocol }) => protocol);
  return new Set(some.filter((protocol) => !whole.includes(protocol)));
}

function commonOf(a: Ports, b: Ports): readonly Ports[] {
  if (a.protocol !== b.protocol) return [];
  if (a.span === undefined) return b.span !== undefined || isSameName(a, b) ? [a] : [];
  if (b.span === undefined) return [b];
  const [first, last] = [Math.max(a.span[0], b.span[0]), Math.min(a.span[1], b.span[1])];
  return first > last ? [] : [{ protocol: a.protocol, name: a.name ?? b.name, span: [first, last] }];
}

/** In one order, without ports that the set has twice. */
function merged(ports: readonly Ports[]): readonly Ports[] {
  const result: Ports[] = [];
  for (const one of ports.toSorted(compare)) {
    const before = result.at(-1);
    if (before === undefined || !isTogether(before, one)) result.push(one);
    else if (before.span !== undefined && one.span !== undefined && one.span[1] > before.span[1])
      result.splice(-1, 1, { ...before, name: undefined, span: [before.span[0], one.span[1]] });
  }
  return result;
}

/** Whether the second begins within the first, which is before it in the order, or a range goes on without a gap. */
function isTogether(a: Ports, b: Ports): boolean {
  if (a.protocol !== b.protocol) return false;
  if (a.span === undefined || b.span === undefined) return a.span === b.span && a.name === b.name;
  const isRange = [a.span, b.span].some(([first, last]) => first < last);
  const isNamed = a.name !== undefined || b.name !== undefined;
  return b.span[0] <= a.span[1] + (isRange && !isNamed ? 1 : 0);
}

const order: readonly PolicyProtocol[] = ['tcp', 'udp', 'sctp'];

function compare(a: Ports, b: Ports): number {
  const [[aFirst, aLast], [bFirst, bLast]] = [a.span ?? [lastPort + 1, 0], b.span ?? [lastPort + 1, 0]];
  const byNumber = order.indexOf(a.protocol) - order.indexOf(b.protocol) || aFirst - bFirst || bLast - aLast;
  if (byNumber !== 0) return byNumber;
  const [aName, bName] = [a.name ?? '', b.name ?? ''];
  if (aName === bName) return 0;
  return aName < bName ? -1 : 1;
}

/** `TCP 80`, `TCP 8000-8080`, `all UDP`, `http (TCP)`; none for an empty set. */
export function portTexts(ports: PortSet): readonly string[] {
  return ports === 'all' ? ['all ports'] : ports.map(textOf);
}

function textOf({ protocol, name, span }: Ports): string {
  const upper = protocol.toUpperCase();
  if (name !== undefined || span === undefined) return `${name ?? ''} (${upper})`;
  const [first, last] = span;
  if (first === 1 && last === lastPort) return `all ${upper}`;
  return first === last ? `${upper} ${first}` : `${upper} ${first}-${last}`;
}
