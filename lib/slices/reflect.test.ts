import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { BgpRoute } from '../api/kinds/bgp-route-slice.ts';
import { bgpRoutes } from './bgp-routes.ts';
import type { KubeClient, RawObject } from '../kube/types.ts';
import { reflectSliced } from './reflect.ts';

type Kind = 'bgpnodestates' | 'bgprouteslices';

/** Watches of both kinds, in which a test says what comes. */
class Watches {
  readonly #queues = new Map<Kind, { readonly lines: string[][]; wake: () => void }>();
  readonly paths: string[] = [];

  readonly client = {
    stream: (path: string, { signal }: { signal: AbortSignal }) => this.#stream(path, signal),
  } as unknown as KubeClient;

  async *#stream(path: string, signal: AbortSignal): AsyncGenerator<readonly string[]> {
    this.paths.push(path);
    const kind = path.includes('bgprouteslices') ? 'bgprouteslices' : 'bgpnodestates';
    const queue = this.#queueOf(kind);
    while (!signal.aborted) {
      const lines = queue.lines.shift();
      if (lines !== undefined) yield lines;
      else
        await new Promise<void>((resolve) => {
          queue.wake = resolve;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
    }
  }

  #queueOf(kind: Kind): { readonly lines: string[][]; wake: () => void } {
    const queue = this.#queues.get(kind) ?? { lines: [], wake: () => undefined };
    this.#queues.set(kind, queue);
    return queue;
  }

  /** In one answer of the API server. */
  async send(kind: Kind, ...events: readonly object[]): Promise<void> {
    const queue = this.#queueOf(kind);
    queue.lines.push(events.map((event) => JSON.stringify(event)));
    queue.wake();
    await turn();
    await turn();
  }
}

let version = 0;
const metadata = (name: string, uid: string) => ({ name, uid, resourceVersion: String((version += 1)) });
const put = (object: RawObject) => ({ type: 'ADDED', object });
const end = {
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } },
};
const state = (uid: string, ...learned: readonly string[]): RawObject => {
  return { metadata: metadata('n1', uid), status: { learned: learned.map(routeTo) } };
};
const routeTo = (prefix: string) => ({ prefix, peer: 'tor', nextHop: '192.0.2.1', preference: 100 });
const slice = (name: string, uid: string, ...prefixes: readonly string[]): RawObject => {
  const ownerReferences = [{ kind: 'BgpNodeState', name: 'n1', uid }];
  return { metadata: { ...metadata(name, name), ownerReferences }, routes: prefixes.map(routeTo) };
};

function open(spacingMs?: (entries: number) => number) {
  const watches = new Watches();
  let merges = 0;
  const merge = (routes: readonly BgpRoute[]): string => {
    merges += 1;
    return routes.map(({ prefix }) => prefix).join();
  };
  const view = {
    kind: bgpRoutes,
    merge,
    parse:
      ({ metadata: { uid } }: RawObject) =>
      (text: string) =>
        `${uid} ${text}`,
    ...(spacingMs === undefined ? {} : { spacingMs }),
  };
  const stop = new AbortController();
  const reflector = reflectSliced(view, { client: watches.client, signal: stop.signal, owner: 'n1' });
  const changes: string[] = [];
  reflector.subscribe(({ key, before, after }) => changes.push(`${key}: ${before ?? '-'} → ${after ?? '-'}`));
  return { watches, reflector, taken: () => changes.splice(0), merges: () => merges, stop };
}

describe('reflectSliced', () => {
  it('delivers nothing before both kinds are known, and then the whole', async () => {
    const { watches, reflector, taken, stop } = open();
    await watches.send('bgpnodestates', put(state('u', '10.9.0.0/16')), end);
    assert.deepEqual([taken(), reflector.get('n1')], [[], undefined]);
    await watches.send('bgprouteslices', put(slice('n1.0', 'u', '10.1.0.0/16')), end);
    await reflector.synced;
    assert.deepEqual(taken(), ['n1: - → u 10.1.0.0/16']);
    assert.deepEqual([...reflector.entries()], [['n1', 'u 10.1.0.0/16']]);
    assert.ok(watches.paths.some((path) => path.includes('labelSelector=isthmus.network%2Fbgp-node-state%3Dn1')));
    assert.ok(watches.paths.some((path) => path.includes('fieldSelector=metadata.name%3Dn1')));
    stop.abort();
    await reflector.stop();
  });

  it('reports all slices of one answer at once, and the owner without reading slices again', async () => {
    const { watches, reflector, taken, merges, stop } = open();
    await watches.send('bgpnodestates', put(state('u')), end);
    await watches.send('bgprouteslices', end);
    await reflector.synced;
    taken();
    const [first, second] = [slice('n1.0', 'u', '10.1.0.0/16'), slice('n1.1', 'u', '10.2.0.0/16')];
    await watches.send('bgprouteslices', put(second), put(first));
    assert.deepEqual(taken(), ['n1: u  → u 10.1.0.0/16,10.2.0.0/16']);
    const before = merges();
    await watches.send('bgpnodestates', put(state('u')));
    assert.deepEqual(taken(), ['n1: u 10.1.0.0/16,10.2.0.0/16 → u 10.1.0.0/16,10.2.0.0/16']);
    assert.equal(merges(), before);
    await watches.send('bgprouteslices', { type: 'DELETED', object: first });
    assert.deepEqual(taken(), ['n1: u 10.1.0.0/16,10.2.0.0/16 → u 10.2.0.0/16']);
    stop.abort();
    await reflector.stop();
  });

  it('reports the slices of a long list together where its view says how long to wait', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const hourMs = 3_600_000;
    const { watches, reflector, taken, stop } = open((entries) => entries * hourMs);
    await watches.send('bgpnodestates', put(state('u')), end);
    await watches.send('bgprouteslices', end);
    await reflector.synced;
    taken();
    // Nothing was merged before: the first change does not wait.
    await watches.send('bgprouteslices', put(slice('n1.0', 'u', '10.1.0.0/16')));
    assert.deepEqual(taken(), ['n1: u  → u 10.1.0.0/16']);
    await watches.send('bgprouteslices', put(slice('n1.1', 'u', '10.2.0.0/16')));
    await watches.send('bgprouteslices', put(slice('n1.2', 'u', '10.3.0.0/16')));
    assert.deepEqual(taken(), []);
    t.mock.timers.tick(hourMs);
    assert.deepEqual(taken(), ['n1: u 10.1.0.0/16 → u 10.1.0.0/16,10.2.0.0/16,10.3.0.0/16']);
    await watches.send('bgprouteslices', put(slice('n1.3', 'u', '10.4.0.0/16')));
    stop.abort();
    await reflector.stop();
    t.mock.timers.tick(3 * hourMs);
    assert.deepEqual(taken(), []);
  });

  it('ignores the slices of a former owner with another uid', async () => {
    const { watches, reflector, taken, stop } = open();
    await watches.send('bgpnodestates', put(state('u')), end);
    await watches.send('bgprouteslices', put(slice('n1.0', 'u', '10.1.0.0/16')), end);
    await reflector.synced;
    taken();
    await watches.send('bgpnodestates', put(state('other', '10.9.0.0/16')));
    assert.deepEqual(taken(), ['n1: u 10.1.0.0/16 → -', 'n1: - → other 10.9.0.0/16']);
    await watches.send('bgprouteslices', put(slice('n1.0', 'other')));
    assert.deepEqual(taken(), ['n1: other 10.9.0.0/16 → other ']);
    await watches.send('bgpnodestates', { type: 'DELETED', object: state('other') });
    assert.deepEqual([taken(), reflector.size], [['n1: other  → -'], 0]);
    stop.abort();
    await reflector.stop();
  });
});
