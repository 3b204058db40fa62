import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Backend,
  backendsAt,
  backendsOf,
  clusterBackends,
  hasTopology,
  localBackends,
  topologyAt,
} from './backends.ts';
import type { Endpoint, EndpointSlice, ServicePort } from './service.ts';

const http: ServicePort = { name: 'http', protocol: 'TCP', port: 80, nodePort: 0 };
const place = { node: 'n1', zone: 'z1' };

function endpoint(address: string, state: Partial<Endpoint> = {}): Endpoint {
  return {
    address,
    node: 'n1',
    isReady: true,
    isServingWhileTerminating: false,
    nodeHints: [],
    zoneHints: [],
    pod: undefined,
    ...state,
  };
}

function slice(endpoints: readonly Endpoint[], ports = [{ name: 'http', protocol: 'TCP', port: 8080 } as const]) {
  return { service: 'default/web', family: 4, ports, endpoints } satisfies EndpointSlice;
}

function backends(...endpoints: readonly Endpoint[]): readonly Backend[] {
  return backendsOf([slice(endpoints)], http, 4);
}

const addresses = (all: readonly Backend[]): readonly string[] => all.map(({ address }) => address);
const terminating = { isReady: false, isServingWhileTerminating: true };

describe('backends of a port', () => {
  it('are the union over all slices, each address and port once, whatever the order of slices', () => {
    const slices = [slice([endpoint('10.0.0.2'), endpoint('10.0.0.1')]), slice([endpoint('10.0.0.1')])];
    for (const all of [slices, slices.toReversed()])
      assert.deepEqual(addresses(backendsOf(all, http, 4)), ['10.0.0.1', '10.0.0.2']);
  });

  it('have one node and the same hints where two slices differ, whatever the order of slices', () => {
    const slices = ['n1', 'n2'].map((node) => slice([endpoint('10.0.0.1', { node, zoneHints: [`zone-${node}`] })]));
    const [one, other] = [slices, slices.toReversed()].map((all) => backendsOf(all, http, 4));
    assert.deepEqual(one, other);
  });

  it('have the better state where two slices have the same endpoint', () => {
    const slices = [slice([endpoint('10.0.0.1', { isReady: false })]), slice([endpoint('10.0.0.1')])];
    for (const all of [slices, slices.toReversed()]) assert.equal(backendsOf(all, http, 4)[0]?.isReady, true);
  });

  it('are those of the same port name, protocol and family', () => {
    const ports = [
      { name: 'http', protocol: 'UDP', port: 1 },
      { name: 'other', protocol: 'TCP', port: 2 },
      { name: 'http', protocol: 'TCP', port: 3 },
    ] as const;
    const slices: EndpointSlice[] = [{ ...slice([endpoint('10.0.0.1')]), ports }];
    assert.deepEqual(
      backendsOf(slices, http, 4).map(({ port }) => port),
      [3],
    );
    assert.deepEqual(backendsOf(slices, http, 6), []);
  });

  it('may have several port numbers if slices differ in the target of a named port', () => {
    const slices = [
      slice([endpoint('10.0.0.1')]),
      slice([endpoint('10.0.0.2')], [{ name: 'http', protocol: 'TCP', port: 8081 as 8080 }]),
    ];
    assert.deepEqual(
      backendsOf(slices, http, 4).map(({ address, port }) => `${address}:${port}`),
      ['10.0.0.1:8080', '10.0.0.2:8081'],
    );
  });
});

describe('backends of a client', () => {
  it('are the ready ones, or if there are none, those that serve while terminating', () => {
    const [ready, leaving, dead] = [
      endpoint('10.0.0.1'),
      endpoint('10.0.0.2', terminating),
      endpoint('10.0.0.3', { isReady: false }),
    ];
    assert.deepEqual(addresses(clusterBackends(backends(ready, leaving, dead))), ['10.0.0.1']);
    assert.deepEqual(addresses(clusterBackends(backends(leaving, dead))), ['10.0.0.2']);
    assert.deepEqual(addresses(clusterBackends(backends(dead))), []);
  });

  it('under policy Local are those of its node by the same rule, even if others are ready elsewhere', () => {
    const [elsewhere, leaving] = [endpoint('10.0.0.1', { node: 'n2' }), endpoint('10.0.0.2', terminating)];
    assert.deepEqual(addresses(localBackends(backends(elsewhere, leaving), 'n1')), ['10.0.0.2']);
    assert.deepEqual(addresses(localBackends(backends(elsewhere), 'n1')), []);
  });

  it('are chosen by hints only if every ready endpoint has hints and one names the place of the client', () => {
    const near = endpoint('10.0.0.1', { zoneHints: ['z1'] });
    const far = endpoint('10.0.0.2', { zoneHints: ['z2'] });
    const without = endpoint('10.0.0.3');
    assert.deepEqual(addresses(backendsAt(backends(near, far), place)), ['10.0.0.1']);
    assert.deepEqual(addresses(backendsAt(backends(near, far, without), place)), ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    assert.deepEqual(addresses(backendsAt(backends(near, far), { node: 'n1', zone: 'z3' })), ['10.0.0.1', '10.0.0.2']);
    assert.deepEqual(addresses(backendsAt(backends(near, far), { node: 'n1', zone: '' })), ['10.0.0.1', '10.0.0.2']);
    assert.equal(hasTopology(backends(near, far)), true);
    assert.equal(hasTopology(backends(near, without)), false);
  });

  it('prefer hints for the node to hints for the zone', () => {
    const here = endpoint('10.0.0.1', { nodeHints: ['n1'], zoneHints: ['z1'] });
    const there = endpoint('10.0.0.2', { nodeHints: ['n2'], zoneHints: ['z1'] });
    assert.equal(topologyAt(backends(here, there), place), 'node');
    assert.deepEqual(addresses(backendsAt(backends(here, there), place)), ['10.0.0.1']);
    assert.equal(topologyAt(backends(here, there), { node: 'n3', zone: 'z1' }), 'zone');
  });

  it('are all that serve while terminating, regardless of hints, if none is ready', () => {
    const [near, far] = [
      endpoint('10.0.0.1', { ...terminating, zoneHints: ['z1'] }),
      endpoint('10.0.0.2', { ...terminating, zoneHints: ['z2'] }),
    ];
    assert.deepEqual(addresses(backendsAt(backends(near, far), place)), ['10.0.0.1', '10.0.0.2']);
  });
});
