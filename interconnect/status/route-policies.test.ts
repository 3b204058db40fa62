import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RoutePolicyStatus } from '../../lib/api/kinds/route-policy.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import { compilePolicies } from '../../lib/route-policy/compile.ts';
import type { RoutePolicy } from '../../lib/route-policy/policy.ts';
import { policy } from '../settle/policy/testing.ts';
import { parseRoutePolicy } from '../../lib/route-policy/parse.ts';
import { renderRoutePolicy, RoutePolicyReporter, type PolicyFigures } from './route-policies.ts';

const noFigures: PolicyFigures = { hits: new Map(), overLimit: new Map() };
const nowIso = '2026-01-01T00:00:00.000Z';
const raw = (spec: object, status: object = {}) =>
  parseRoutePolicy({
    metadata: { name: 'p', uid: 'u', resourceVersion: '7', generation: 3 },
    spec,
    status,
  });

describe('reading a RoutePolicy', () => {
  it('fills in the defaults', () => {
    const { spec, generation, resourceVersion } = raw({ direction: 'Import', rules: [{}] });
    assert.deepEqual(spec, {
      direction: 'Import',
      priority: 100,
      rules: [{ match: {}, action: 'Allow' }],
      defaultAction: 'Next',
    });
    assert.deepEqual([generation, resourceVersion], [3, '7']);
  });

  it('keeps what is wrong as a problem', () => {
    const { spec } = raw({ direction: 'Sideways' });
    assert.ok('code' in spec);
    assert.equal(spec.code, 'SpecInvalid');
    assert.match(spec.message, /direction/);
  });

  it('reads what is in force, and nothing from text that is no spec', () => {
    const { spec } = raw({ direction: 'Import' });
    assert.deepEqual(raw({}, { inForce: JSON.stringify(spec) }).inForce, spec);
    for (const inForce of ['{', '{}', '[]', undefined]) assert.equal(raw({}, { inForce }).inForce, undefined);
  });
});

describe('the status of a RoutePolicy', () => {
  const render = (object: RoutePolicy, figures = noFigures, before = compilePolicies([])): RoutePolicyStatus => {
    const judged = compilePolicies([object], before).judged.get(object.name);
    assert.ok(judged);
    return renderRoutePolicy(object, judged, figures, nowIso);
  };

  it('has a count for each rule, and what a limit refused', () => {
    const figures = { hits: new Map([['p', new Map([[1, 4]])]]), overLimit: new Map([['p', 2]]) };
    const status = render(policy('p', { rules: [{}, {}], maxPrefixes: 9 }), figures);
    assert.deepEqual(status.rules, [
      { index: 0, prefixes: 0 },
      { index: 1, prefixes: 4 },
    ]);
    assert.equal(status.overLimit, 2);
    assert.equal(status.inForce, undefined);
    assert.deepEqual(status.conditions, [
      {
        type: 'Ready',
        status: 'True',
        reason: 'InForce',
        message: 'the policy is applied',
        observedGeneration: 1,
        lastTransitionTime: nowIso,
      },
    ]);
    assert.equal('overLimit' in render(policy('p', {})), false);
  });

  it('has the reason of a refusal and the spec that is in force meanwhile', () => {
    const broken = { rules: [{ match: { prefixes: [{ cidr: '10.0.0.1/8' }] } }] };
    const never = render(policy('p', broken));
    assert.equal(never.conditions?.[0]?.reason, 'PrefixInvalid');
    assert.match(never.conditions[0].message ?? '', /write 10\.0\.0\.0\/8; nothing of this policy is applied/);
    assert.deepEqual(never.rules, []);

    const before = compilePolicies([policy('p', { rules: [{}, {}] })]);
    const kept = render(policy('p', broken, { generation: 2 }), noFigures, before);
    assert.match(kept.conditions?.[0]?.message ?? '', /its last valid version stays in force/);
    assert.equal(kept.rules?.length, 2);
    // A restart continues from the written status alone.
    const read = raw({}, kept).inForce;
    assert.deepEqual(read, before.judged.get('p')?.applied?.spec);
  });

  it('keeps conditions of other programs', () => {
    const other = { type: 'Other', status: 'True' as const };
    const status = render(policy('p', {}, { status: { conditions: [other] } }));
    assert.deepEqual(
      status.conditions?.map(({ type }) => type),
      ['Other', 'Ready'],
    );
  });
});

interface Patch {
  readonly metadata: { readonly uid: string };
  readonly status: RoutePolicyStatus;
}

/** An API server of one policy that gives the reporter back what it wrote. */
function bed() {
  let nowMs = 1_000_000;
  const patches: Patch[] = [];
  const recorded: string[] = [];
  const refusals: Error[] = [];
  const client = {
    patch: (_resource: unknown, _name: unknown, _kind: unknown, body: Patch) => {
      const refusal = refusals.shift();
      if (refusal !== undefined) return Promise.reject(refusal);
      patches.push(body);
      return Promise.resolve({});
    },
  } as unknown as KubeClient;
  const writer = new ObjectWriter();
  const reporter = new RoutePolicyReporter({
    client,
    writer,
    events: { record: (_subject, type, reason) => void recorded.push(`${type} ${reason}`) },
    now: () => nowMs,
  });
  let set = compilePolicies([]);
  return {
    patches,
    recorded,
    refusals,
    advance: (ms: number) => (nowMs += ms),
    close: () => reporter.close(),
    report: async (object: RoutePolicy, figures = noFigures) => {
      set = compilePolicies([object], set);
      reporter.report(new Map([[object.name, object]]), set, figures);
      await writer.idle();
    },
    /** The object as the watch has it after the last patch. */
    seen: (object: RoutePolicy): RoutePolicy => ({
      ...object,
      resourceVersion: String(patches.length + 1),
      status: patches.at(-1)?.status ?? {},
    }),
  };
}
const hits = (count: number): PolicyFigures => ({ ...noFigures, hits: new Map([['p', new Map([[0, count]])]]) });
const countOf = ({ status }: Patch | undefined = { metadata: { uid: '' }, status: {} }) => status.rules?.[0]?.prefixes;

describe('the reporter of RoutePolicies', () => {
  it('writes a difference once, also before the watch reports the write, and nothing after a restart', async () => {
    const { patches, report, seen, close } = bed();
    const object = policy('p', { rules: [{}] });
    await report(object, hits(1));
    await report(object, hits(1));
    await report(seen(object), hits(1));
    assert.equal(patches.length, 1);
    assert.equal(patches[0]?.metadata.uid, 'uid-p');
    const restarted = bed();
    await restarted.report(seen(object), hits(1));
    assert.equal(restarted.patches.length, 0);
    close();
    restarted.close();
  });

  it('writes changes of figures alone every five seconds, without another change', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const { patches, report, seen, advance, close } = bed();
    const object = policy('p', { rules: [{}] });
    await report(object, hits(1));
    advance(4000);
    await report(seen(object), hits(2));
    await report(seen(object), hits(3));
    assert.deepEqual(patches.map(countOf), [1]);
    advance(1000);
    context.mock.timers.tick(1000);
    await Promise.resolve();
    assert.deepEqual(patches.map(countOf), [1, 3]);
    close();
  });

  it('retries a write that was refused', async () => {
    const { patches, refusals, report, close } = bed();
    refusals.push(new KubeApiError(422, 'Invalid', 'no'));
    const object = policy('p', { rules: [{}] });
    await report(object);
    assert.deepEqual(patches.map(countOf), []);
    await report(object, hits(1));
    assert.deepEqual(patches.map(countOf), [1]);
    close();
  });

  it('reports at once that a policy became invalid, and that it is valid again', async () => {
    const { patches, recorded, report, seen, close } = bed();
    const good = policy('p', { rules: [{}] });
    const broken = policy('p', { rules: [{ aggregate: 'x' }], direction: 'Export' }, { generation: 2 });
    await report(good);
    assert.deepEqual(recorded, []);
    await report({ ...broken, status: seen(good).status, resourceVersion: '2' });
    assert.equal(typeof patches[1]?.status.inForce, 'string');
    await report({ ...good, generation: 3, status: seen(broken).status, resourceVersion: '3' });
    // A merge patch removes fields that are null.
    assert.equal(patches[2]?.status.inForce, null);
    assert.deepEqual(recorded, ['Warning AggregateInvalid', 'Normal InForce']);
    close();
  });
});
