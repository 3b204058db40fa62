/** RoutePolicies on a real API server with the chart's CRDs, and their creation from Kube-OVN's ConfigMap. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { OvnIcConfig } from '../../interconnect/apply/ovn-ic-config.ts';
import { parseNode } from '../../interconnect/watch/objects.ts';
import { parseRoutePolicy } from '../../lib/route-policy/parse.ts';
import { compilePolicies } from '../../lib/route-policy/compile.ts';
import { RoutePolicyReporter } from '../../interconnect/status/route-policies.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { configMaps, interconnects, nodes, routePolicies } from '../../lib/kube/resources.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { object, openCrdBed, type CrdBed } from './crd-bed.ts';
import { eventuallyPasses } from '../../lib/testing-eventually.ts';

const name = 'ovn-ic-config';

describe('RoutePolicies', { timeout: 600_000 }, () => {
  let bed: CrdBed;
  before(async () => {
    bed = await openCrdBed([routePolicies, interconnects]);
  });
  after(() => bed.close());

  const tried = (spec: object) => bed.tryCreate(routePolicies, 'p', spec);

  it('of the examples are accepted', async () => {
    const text = await readFile(join(import.meta.dirname, '../../examples/route-policy.yaml'), 'utf8');
    const examples = parseAllDocuments(text).map((document) => document.toJS() as RawObject);
    const policies = examples.map((example, index) =>
      parseRoutePolicy({
        ...example,
        metadata: { ...example.metadata, uid: String(index), resourceVersion: '1', generation: 1 },
      }),
    );
    assert.ok(policies.length >= 3);
    for (const one of compilePolicies(policies).judged.values()) assert.equal(one.problem, undefined, one.name);
    for (const { metadata, spec } of examples)
      assert.equal(await bed.tryCreate(routePolicies, metadata.name, spec), 'accepted', metadata.name);
  });

  it('without effect are refused with a message', async () => {
    const cases: readonly [object, RegExp][] = [
      [{ direction: 'Import', rules: [{ aggregate: '10.0.0.0/8' }] }, /aggregate is for direction Export/],
      [{ direction: 'Export', rules: [{ setPreference: 1 }] }, /setPreference is for direction Import/],
      [{ direction: 'Export', maxPrefixes: 1 }, /maxPrefixes is for direction Import/],
      [{ direction: 'Import', rules: [{ action: 'Deny', setTags: ['a'] }] }, /are for action Allow/],
      [{ direction: 'Import', rules: [{ match: { clusters: [] } }] }, /clusters/],
      [{ direction: 'Import', transitSwitches: [] }, /transitSwitches/],
    ];
    for (const [spec, sentence] of cases) assert.match(await tried(spec), sentence);
    assert.equal(await tried({ direction: 'Import' }), 'accepted');
  });

  it('report whether they are in force, and keep the last valid version in force', async () => {
    const { kube } = bed;
    const stop = new AbortController();
    const writer = new ObjectWriter();
    const policies = reflect({ client: kube, resource: routePolicies, parse: parseRoutePolicy, signal: stop.signal });
    const reporter = new RoutePolicyReporter({ client: kube, writer, events: { record: () => {} }, now: Date.now });
    await kube.create(
      routePolicies,
      object(routePolicies, 'denied', { direction: 'Export', rules: [{ action: 'Deny' }] }),
    );
    let set = compilePolicies([]);
    const round = (): void => {
      set = compilePolicies(
        [...policies.entries()].map(([, policy]) => policy),
        set,
      );
      reporter.report(new Map(policies.entries()), set, { hits: new Map(), overLimit: new Map() });
    };
    policies.subscribe(round);
    await policies.synced;
    round();
    type WithConditions = {
      status?: { inForce?: string; conditions?: { status: string; reason: string; observedGeneration: number }[] };
    };
    const ready = async (generation: number) => {
      const { status } = (await kube.get(routePolicies, { name: 'denied' })) as WithConditions & RawObject;
      const condition = status?.conditions?.find(({ observedGeneration }) => observedGeneration === generation);
      return condition === undefined ? undefined : `${condition.status} ${condition.reason} ${typeof status?.inForce}`;
    };
    await eventuallyPasses(async () => (await ready(1)) === 'True InForce undefined');
    const spec = { rules: [{ match: { prefixes: [{ cidr: '10.0.0.1/8' }] } }] };
    await kube.patch(routePolicies, { name: 'denied' }, 'merge', { spec });
    await eventuallyPasses(async () => (await ready(2)) === 'False PrefixInvalid string');
    await kube.patch(routePolicies, { name: 'denied' }, 'merge', { spec: { rules: [] } });
    await eventuallyPasses(async () => (await ready(3)) === 'True InForce undefined');
    reporter.close();
    stop.abort();
    await policies.stop();
    await writer.close();
    await kube.delete(routePolicies, { name: 'denied' });
  });

  it('and the Interconnect follow Kube-OVN’s ConfigMap from joining to leaving', async () => {
    const { kube } = bed;
    const stop = new AbortController();
    const { signal } = stop;
    const log = createLogger('test', 'silent');
    const writer = new ObjectWriter();
    const reasons: string[] = [];
    const watched = {
      nodes: reflect({ client: kube, resource: nodes, parse: parseNode, signal }),
      routePolicies: reflect({ client: kube, resource: routePolicies, parse: parseRoutePolicy, signal }),
    };
    const events = { record: (_: unknown, __: string, reason: string) => void reasons.push(reason) };
    await kube.create(nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1', labels: { 'kubernetes.io/hostname': 'host-1' } },
    });
    const icConfig = new OvnIcConfig({
      client: kube,
      namespace: 'kube-system',
      ...watched,
      writer,
      events,
      log,
      signal,
    });
    const started = icConfig.start();

    const data = {
      'enable-ic': 'true',
      'az-name': 'east',
      'ic-db-host': '192.0.2.1',
      'gw-nodes': 'n1',
      'auto-route': 'false',
    };
    const edit = (change: object) =>
      kube.patch(configMaps, { namespace: 'kube-system', name }, 'merge', { data: change });
    const specOf = async (): Promise<string> => {
      const raw = await absentAsUndefined(() => kube.get(interconnects, { name: 'default' }));
      const spec = raw?.['spec'] as
        | undefined
        | { hub: string; gatewayNodeSelector: { matchExpressions: [{ values: string[] }] } };
      return spec === undefined ? 'none' : `${spec.hub} ${spec.gatewayNodeSelector.matchExpressions[0].values.join()}`;
    };
    const policiesAre = async (): Promise<string> =>
      (await kube.list(routePolicies))
        .map(({ metadata }) => metadata.name)
        .sort()
        .join();

    await started;
    await kube.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'kube-system', name },
      data,
    });
    await eventuallyPasses(async () => (await specOf()) === '192.0.2.1:6650 host-1');
    await eventuallyPasses(async () => (await policiesAre()) === 'ovn-ic-config,ovn-ic-config-import');

    await edit({ 'gw-nodes': 'n1,n2', 'auto-route': 'true' });
    await eventuallyPasses(async () => (await specOf()) === '192.0.2.1:6650 host-1,n2');
    await eventuallyPasses(async () => (await policiesAre()) === '');
    await eventuallyPasses(() => reasons.includes('NodeUnknown'));

    await edit({ 'az-name': 'No Name', 'ic-db-host': '192.0.2.2' });
    await eventuallyPasses(() => reasons.includes('NameInvalid'));
    assert.equal(await specOf(), '192.0.2.1:6650 host-1,n2');

    await edit({ 'az-name': 'east' });
    await eventuallyPasses(async () => (await specOf()) === '192.0.2.2:6650 host-1,n2');

    await kube.delete(configMaps, { namespace: 'kube-system', name });
    await eventuallyPasses(async () => (await specOf()) === 'none');

    await icConfig.stop();
    stop.abort();
    await Promise.all([watched.nodes.stop(), watched.routePolicies.stop(), writer.close()]);
  });

  async function absentAsUndefined(read: () => Promise<RawObject>): Promise<RawObject | undefined> {
    try {
      return await read();
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 404) return undefined;
      throw error;
    }
  }
});
