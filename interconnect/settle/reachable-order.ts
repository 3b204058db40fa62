/** The order of gateways where some of them do not hear each other. Pure: the time comes by parameter. */
import { pairKey, pairOf, type Cut } from './cuts.ts';

/**
 * A gateway that is cut off from the anchor stays in the order for this long, so that the anchor has the port when it
 * leaves.
 */
const handBackMs = 1000;

/**
 * The gateways of an order that hear each other, beginning with the first. A gateway that is cut off leaves while the
 * first one has the port, so that no gateway has to take it back. It returns once it is heard again. A new port has no
 * order to protect.
 */
export function reachableOrder(
  members: readonly string[],
  present: { readonly order: readonly string[]; readonly holder: string },
  { cuts, nowMs }: { readonly cuts: readonly Cut[]; readonly nowMs: number },
): { readonly order: readonly string[]; readonly wakeMs: number | undefined } {
  if (cuts.length === 0 || present.order.length === 0) return { order: members, wakeMs: undefined };
  const known = new Map(cuts.map((cut) => [pairKey(cut.pair), cut]));
  const wakes: number[] = [];
  const isApart = (a: string, b: string): boolean => {
    const cut = known.get(pairKey(pairOf(a, b)));
    if (cut === undefined) return false;
    const isTogether = present.order.includes(a) && present.order.includes(b);
    if (!isTogether) return true;
    if (cut.sinceMs === undefined) return false;
    const dueMs = cut.sinceMs + handBackMs;
    if (present.holder === members[0] || nowMs >= dueMs) return true;
    wakes.push(dueMs);
    return false;
  };
  const order: string[] = [];
  for (const chassis of members) if (!order.some((other) => isApart(other, chassis))) order.push(chassis);
  return { order, wakeMs: wakes.length === 0 ? undefined : Math.min(...wakes) };
}
