import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseLocalService, parseSharedAddress, parseSharedPool } from '../../watch/service-objects.ts';
import { sharedClaimOf } from './shared-claims.ts';

const metadata = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '1' };
const named: Readonly<Record<string, string>> = { 'isthmus.network/load-balancer-pool': 'world' };
const accepted = { conditions: [{ type: 'Validated', status: 'True' }] };
const world = (spec: object = {}, status: object = accepted) =>
  parseSharedPool({
    metadata: { name: 'world', uid: 'p', resourceVersion: '1' },
    spec: { addresses: ['198.51.100.0/28'], autoAssign: false, shared: { clusters: ['east', 'west'] }, ...spec },
    status,
  });
const known = (pool: string) =>
  parseSharedAddress({
    metadata: { name: 'shop.web', uid: 's', resourceVersion: '1' },
    spec: {
      service: { namespace: 'shop', name: 'web' },
      pool,
      addresses: ['198.51.100.3'],
      since: '1970-01-01T00:00:05.250Z',
      clusters: [],
    },
  });

function claim(
  { annotations = named, spec = {}, labels = {} } = {},
  { pool = world(), held = undefined as ReturnType<typeof known> | undefined, team = 'a' } = {},
) {
  const { service } = parseLocalService({
    metadata: { ...metadata, annotations, labels },
    spec: { type: 'LoadBalancer', clusterIPs: ['10.96.0.9'], ipFamilies: ['IPv4'], ...spec },
  });
  const facts = { poolOf: (name: string) => (name === 'world' ? pool : undefined), labelsOf: () => ({ team }) };
  return sharedClaimOf(service, { ...facts, known: held });
}

describe('the claim of a Service to a shared address', () => {
  it('is that of the pool which the Service names', () => {
    assert.deepEqual(claim(), {
      pool: 'world',
      ranges: ['198.51.100.0/28'],
      clusters: ['east', 'west'],
      requested: [],
      held: [],
      sinceMs: 0,
    });
    const requests = { ...named, 'isthmus.network/load-balancer-ips': '198.51.100.9' };
    assert.deepEqual(claim({ annotations: requests })?.requested, ['198.51.100.9']);
  });

  it('is none without the name, of another class or type, and of a pool that is not shared, not accepted or not for it', () => {
    assert.equal(claim({ annotations: {} }), undefined);
    assert.equal(claim({ spec: { loadBalancerClass: 'example.com/lb' } }), undefined);
    assert.equal(claim({ spec: { type: 'ClusterIP' } }), undefined);
    assert.equal(claim({}, { pool: world({ shared: undefined }) }), undefined);
    assert.equal(claim({}, { pool: world({}, {}) }), undefined);
    const selective = world({ namespaceSelector: { matchLabels: { team: 'b' } } });
    assert.equal(claim({}, { pool: selective }), undefined);
    assert.equal(claim({}, { pool: selective, team: 'b' })?.pool, 'world');
  });

  it('keeps the address that the Service has, whatever becomes of the pool, as long as the Service names it', () => {
    const held = known('world');
    assert.deepEqual(claim({}, { held, pool: world({ addresses: ['203.0.113.0/28'] }) }), {
      pool: 'world',
      ranges: ['203.0.113.0/28', '198.51.100.3'],
      clusters: ['east', 'west'],
      requested: [],
      held: ['198.51.100.3'],
      sinceMs: 5250,
    });
    assert.deepEqual(claim({}, { held, pool: world({}, {}) })?.ranges, ['198.51.100.3']);
    assert.equal(claim({ annotations: {} }, { held }), undefined);
    assert.deepEqual(claim({}, { held: known('other') })?.held, []);
  });
});
