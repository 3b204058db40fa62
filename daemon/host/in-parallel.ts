/** Requests to the kernel, several at a time. Called by the targets of routes. */

/** Number of requests under way at a time; each is answered within microseconds. The answers must fit into the buffer of the socket. */
const requestsAtOnce = 64;

/**
 * For requests that do not depend on each other. Programs that follow all routes, as ovs-vswitchd does, read them all again after each change
 * that they notice: they notice requests that are under way together as few changes.
 */
export async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const all = [...items];
  for (let at = 0; at < all.length; at += requestsAtOnce)
    await Promise.all(all.slice(at, at + requestsAtOnce).map(work));
}
