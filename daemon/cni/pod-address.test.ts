import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReflectorChange } from '../../lib/kube/types.ts';
import type { InterfaceNetwork } from '../model/address.ts';
import type { InterfaceAnnotations, Pod } from '../model/pod.ts';
import { CniError } from './error.ts';
import { untilAddressed } from './pod-address.ts';

const network: InterfaceNetwork = {
  mac: '02:00:00:00:00:01',
  addresses: [{ ip: '10.16.0.5', prefix: 16, gateway: '10.16.0.1' }],
  networks: ['10.16.0.0/16'],
  subnet: 'ovn-default',
};
const request = { podNamespace: 'default', podName: 'web', podUid: 'u1', provider: 'ovn', ifname: 'eth0' };

function interfaceOf(provider: string, changes: Partial<InterfaceAnnotations>): InterfaceAnnotations {
  const nothing = { network: undefined, hasDefaultRoute: undefined, routes: [], netem: {}, isMirrored: false };
  return { provider, ...nothing, ...changes };
}

function podOf({ network: of, ...changes }: Partial<Pod & Pick<InterfaceAnnotations, 'network'>>): Pod {
  const interfaces = new Map([['ovn', interfaceOf('ovn', { network: of })]]);
  const pod = {
    namespace: 'default',
    name: 'web',
    uid: 'u1',
    labels: {},
    staticUid: undefined,
    portOwner: 'web.default',
    addressCondition: undefined,
    problems: [],
  };
  return { ...pod, interfaces, ...changes };
}

/** A reflector of one pod. */
function fakePods(first?: Pod) {
  let current = first;
  const listeners = new Set<(change: ReflectorChange<Pod>) => void>();
  return {
    get: () => current,
    subscribe: (listener: (change: ReflectorChange<Pod>) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set: (after: Pod) => {
      const change = { key: 'default/web', before: current, after };
      current = after;
      for (const listener of listeners) listener(change);
    },
    listeners,
  };
}

test('an address that is allocated already is returned at once, and a later one when it is allocated', async () => {
  const { signal } = new AbortController();
  assert.equal((await untilAddressed(fakePods(podOf({ network })), request, signal)).network, network);
  const pods = fakePods();
  const waiting = untilAddressed(pods, request, signal);
  pods.set(podOf({}));
  pods.set(podOf({ uid: 'older', network }));
  pods.set(podOf({ network }));
  assert.equal((await waiting).pod.uid, 'u1');
  assert.equal(pods.listeners.size, 0);
});

const taken = { status: 'False', reason: 'AddressConflict', message: 'address 10.16.0.5 is used by db.default' };

const late: readonly [what: string, pod: Pod | undefined, details: RegExp][] = [
  ['no such pod', undefined, /has no pod of that name/],
  ['a pod of that name with another uid', podOf({ uid: 'u2', network }), /uid u2 now, the request is for u1/],
  ['annotations that make no sense', podOf({ network: 'annotation x is wrong' }), /annotation x is wrong/],
  ['the controller has not answered', podOf({}), /controller has not reported on the pod yet/],
  [
    'an address that may come free',
    podOf({ addressCondition: taken }),
    /refused the address: AddressConflict: .* db\.default/,
  ],
  [
    'annotations that are not those which the controller wrote',
    podOf({ addressCondition: { status: 'True', reason: 'Allocated', message: 'ovn/x' } }),
    /ovn\.kubernetes\.io\/ip_address differ from those that isthmus-controller wrote/,
  ],
];

for (const [what, pod, details] of late) {
  test(`too late: ${what}`, async () => {
    const deadline = new AbortController();
    const pods = fakePods(pod);
    const waiting = untilAddressed(pods, request, deadline.signal);
    deadline.abort();
    await assert.rejects(waiting, (error) => {
      assert.ok(error instanceof CniError);
      assert.equal(error.code, 11);
      assert.match(error.details ?? '', details);
      return true;
    });
    assert.equal(pods.listeners.size, 0);
  });
}

test('an attachment waits for its own annotations, and a network attached twice for those with the interface’s name', async () => {
  const { signal } = new AbortController();
  const attached = { ...request, provider: 'red.default.ovn', ifname: 'net1' };
  const other = { ...network, mac: '02:00:00:00:00:02' };
  const pods = fakePods(podOf({ network }));
  const waiting = untilAddressed(pods, attached, signal);
  const shared = interfaceOf('red.default.ovn', { network });
  pods.set(podOf({ interfaces: new Map([[shared.provider, shared]]) }));
  assert.equal((await waiting).facts, shared);
  const own = interfaceOf('red.default.ovn.net1', { network: other });
  const both = new Map([shared, own].map((facts) => [facts.provider, facts]));
  assert.equal((await untilAddressed(fakePods(podOf({ interfaces: both })), attached, signal)).network, other);
});

test('a static pod is found by the uid of its manifest or of its mirror, not by the uid of an earlier manifest', async () => {
  const pods = fakePods(podOf({ network, uid: 'of the mirror', staticUid: 'of the manifest' }));
  const ask = (podUid: string): Promise<unknown> =>
    untilAddressed(pods, { ...request, podUid }, AbortSignal.abort(new Error('too late')));
  for (const podUid of ['of the mirror', 'of the manifest']) await ask(podUid);
  await assert.rejects(ask('of the old manifest'), (error) => {
    assert.match(String((error as CniError).details), /has uid of the manifest now, .* for of the old manifest/);
    return true;
  });
});

test('invalid annotations that the pod’s author wrote are reported at once', async () => {
  const { signal } = new AbortController();
  const addressCondition = { status: 'False', reason: 'InvalidAddress', message: 'annotation x is wrong' };
  const refused = (pod: Pod, message: RegExp): Promise<void> =>
    assert.rejects(untilAddressed(fakePods(pod), request, signal), (error) => {
      assert.ok(error instanceof CniError);
      assert.equal(error.code, 103);
      assert.match(error.message, message);
      return true;
    });
  await refused(podOf({ addressCondition }), /default\/web gets no address: InvalidAddress: annotation x is wrong/);
  const routes = { code: 'InvalidAnnotation', message: 'annotation routes is wrong' };
  await refused(podOf({ interfaces: new Map([['ovn', interfaceOf('ovn', { network, routes })]]) }), /routes is wrong/);
  const allocated = await untilAddressed(fakePods(podOf({ network, addressCondition })), request, signal);
  assert.equal(allocated.network, network, 'what is wrong does not concern this interface');
});
