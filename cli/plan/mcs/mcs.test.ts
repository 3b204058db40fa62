import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ImportReading, SharedServices } from '../../model/shared-services.ts';
import { renderImportWhy, renderShared } from '../../render/mcs/services.ts';
import { paintFor } from '../../render/paint.ts';
import { judgeDns } from './dns.ts';
import { exportVerdict } from './export-verdict.ts';
import { absenceOf, sharedOf } from './services.ts';
import { explainImport } from './why.ts';

const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: 'its endpoints are those of all' } as const;
const corefile = `.:53 {
    errors # kubernetes is below
    kubernetes cluster.local clusterset.local in-addr.arpa ip6.arpa {
        multicluster clusterset.local
        pods insecure
    }
    forward . /etc/resolv.conf {
        max_concurrent 1000
    }
}
`;
const web: ImportReading = {
  namespace: 'shop',
  name: 'web',
  type: 'ClusterSetIP',
  ips: ['100.127.0.1'],
  ports: ['80/TCP'],
  clusters: ['east', 'west'],
  isOurs: true,
  conditions: [ready],
};

function reading(more: Partial<SharedServices> = {}): SharedServices {
  return {
    label: 'context',
    cluster: 'east',
    isConnected: true,
    namespaces: ['shop'],
    exports: [],
    imports: [web],
    endpoints: [
      { namespace: 'shop', service: 'web', cluster: 'east', ready: 1, all: 2 },
      { namespace: 'shop', service: 'web', cluster: 'west', ready: 3, all: 3 },
    ],
    remotes: [{ name: 'west', phase: 'Ready', pathsUp: '2/2' }],
    dns: { corefile, images: ['registry.k8s.io/coredns/coredns:v1.13.1'] },
    isServed: true,
    unreadable: [],
    ...more,
  };
}
describe('a Service that is named', () => {
  it('is absent only if nothing of it is there and everything was read', () => {
    const absence = (more: Partial<SharedServices>, service: string) =>
      absenceOf(sharedOf(reading(more), service), service)?.code;
    assert.equal(absence({}, 'shop/web'), undefined);
    assert.equal(absence({}, 'shop/wbe'), 'NotShared');
    assert.equal(absence({ isServed: false }, 'shop/wbe'), undefined);
  });
});

const obstacles = (more: Partial<SharedServices>) =>
  explainImport(reading(more), 'shop', 'web').obstacles.map(({ code }) => code);
const warnings = (more: Partial<SharedServices>) =>
  explainImport(reading(more), 'shop', 'web').warnings.map(({ code }) => code);

describe('names of the cluster set', () => {
  it('resolve with the Corefile of the guide, in one line or more', () => {
    assert.deepEqual(judgeDns({ corefile, images: [] }), { state: 'ok', causes: [] });
    const plain = '.:53 {\n kubernetes {\n  multicluster clusterset.local.\n }\n}';
    assert.equal(judgeDns({ corefile: plain, images: ['coredns:1.12.2'] }).state, 'ok');
  });

  it('do not without the option, the zone, or a new CoreDNS; elsewhere that is not known', () => {
    const code = (text: string | undefined, images: readonly string[] = []) => {
      const { state, causes } = judgeDns({ corefile: text, images });
      return causes[0]?.code ?? state;
    };
    assert.equal(code(corefile.replace('multicluster', '# multicluster')), 'DnsNotConfigured');
    assert.equal(code(corefile.replace('cluster.local clusterset.local', 'cluster.local')), 'DnsZoneMissing');
    assert.equal(code('.:53 {\n hosts {\n multicluster clusterset.local\n }\n}'), 'DnsNotConfigured');
    assert.equal(code(corefile, ['coredns:v1.11.3']), 'DnsTooOld');
    assert.equal(code(corefile, ['coredns:latest']), 'ok');
    assert.equal(code(undefined), 'unknown');
  });
});

describe('exported and imported Services', () => {
  it('have their clusters, ready endpoints and names', () => {
    const shared = sharedOf(reading(), undefined);
    const [one] = shared.imports;
    assert.deepEqual([shared.isWell, one?.dnsName, one?.readyEndpoints], [true, 'web.shop.svc.clusterset.local', 4]);
    assert.deepEqual(one?.sources, [
      { cluster: 'east', ready: 1, endpoints: 2, pathsUp: '' },
      { cluster: 'west', ready: 3, endpoints: 3, pathsUp: '2/2' },
    ]);
    const text = renderShared(shared, paintFor(false));
    assert.match(text, /shop\/web +ClusterSetIP +100\.127\.0\.1 +80\/TCP +yes +east +1\/2 ready +web\.shop/);
    assert.equal(sharedOf(reading(), 'shop/db').imports.length, 0);
  });

  it('have the state of each export', () => {
    const of = (...conditions: { type: string; status: 'True' | 'False'; reason: string }[]) =>
      sharedOf(
        reading({
          exports: [
            { namespace: 'shop', name: 'web', conditions: conditions.map((one) => ({ ...one, message: 'why' })) },
          ],
        }),
        undefined,
      ).exports[0]?.state;
    const good = { type: 'Ready', status: 'True', reason: 'Exported' } as const;
    assert.equal(of(good), 'exported');
    assert.equal(of(), 'pending');
    assert.equal(of({ type: 'Ready', status: 'False', reason: 'Pending' }), 'pending');
    assert.equal(of({ type: 'Ready', status: 'False', reason: 'Failed' }), 'refused');
    assert.equal(of({ type: 'Valid', status: 'False', reason: 'NoService' }, good), 'invalid');
    assert.equal(of(good, { type: 'Conflict', status: 'True', reason: 'TypeConflict' }), 'conflict');
  });

  it('wait for a verdict about the present generation', () => {
    const at = (status: 'True' | 'False', reason: string, observedGeneration: number) => [
      { type: 'Ready', status, reason, message: 'm', observedGeneration },
    ];
    assert.equal(exportVerdict([], 1), undefined);
    assert.equal(exportVerdict(at('True', 'Exported', 1), 2), undefined);
    assert.equal(exportVerdict(at('False', 'Pending', 2), 2), undefined);
    assert.deepEqual(exportVerdict(at('False', 'Failed', 2), 2), { isExported: false, code: 'Failed', message: 'm' });
    assert.equal(exportVerdict(at('True', 'Exported', 2), 2)?.isExported, true);
  });
});

describe('why an import is not reached', () => {
  it('is nothing where it has a ready endpoint', () => {
    const why = explainImport(reading(), 'shop', 'web');
    assert.deepEqual([why.isServed, why.obstacles, why.warnings], [true, [], []]);
  });

  it('is the network of the client where that is a node’s', () => {
    const from = (node: string | undefined) => explainImport(reading(), 'shop', 'web', { name: 'pod/shop/a', node });
    assert.deepEqual([from(undefined).isServed, from('n1').isServed], [true, false]);
    const text = renderImportWhy(from('n1'), paintFor(false));
    assert.match(text, /^shop\/web of the cluster set is not reached from pod\/shop\/a of east\n/);
    assert.match(
      text,
      /ClientOnNode: pod\/shop\/a uses the addresses of node n1, to which other clusters have no route/,
    );
  });

  it('is the first thing that is missing where there is no import', () => {
    const forbidden = { code: 'Forbidden', what: 'serviceimports', message: 'no' };
    assert.deepEqual(obstacles({ imports: [], unreadable: [forbidden] }), ['Forbidden']);
    assert.deepEqual(obstacles({ imports: [], isServed: false }), ['NotServed']);
    assert.deepEqual(obstacles({ imports: [], cluster: undefined }), ['NotAMember']);
    assert.deepEqual(obstacles({ imports: [], namespaces: ['team'] }), ['NoNamespace']);
    assert.deepEqual(obstacles({ imports: [], isConnected: false }), ['HubUnreachable', 'NotExported']);
  });

  it('is another program, an address, or endpoints', () => {
    const none = { ...ready, status: 'False', reason: 'ClusterSetIPsExhausted' } as const;
    assert.deepEqual(obstacles({ imports: [{ ...web, isOurs: false }] }), ['ImportedByAnother']);
    assert.deepEqual(obstacles({ imports: [{ ...web, conditions: [none] }] }), ['ClusterSetIPsExhausted']);
    assert.deepEqual(obstacles({ endpoints: [] }), ['NoEndpoints']);
  });

  it('warns of clusters that serve nothing, of names and of the own export', () => {
    const down = [{ name: 'west', phase: 'Unreachable', pathsUp: '0/2' }];
    const east = reading().endpoints.slice(0, 1);
    assert.deepEqual(warnings({ endpoints: east, remotes: down }), ['PathsDown']);
    assert.deepEqual(warnings({ endpoints: east, remotes: [] }), ['UnknownCluster']);
    assert.deepEqual(warnings({ endpoints: east }), ['NoReadyEndpoint']);
    assert.deepEqual(warnings({ dns: { corefile: '', images: [] } }), ['DnsNotConfigured']);
    assert.deepEqual(warnings({ exports: [{ namespace: 'shop', name: 'web', conditions: [] }] }), ['ExportPending']);
  });

  it('is a text in which no message breaks a line of the table', () => {
    const evil = { ...ready, status: 'False', reason: 'X', message: 'no\u001B[2J' } as const;
    const why = explainImport(
      reading({ imports: [{ ...web, clusters: ['w\nest'], conditions: [evil] }] }),
      'shop',
      'web',
    );
    assert.match(renderImportWhy(why, paintFor(false)), /w\\u000aest +0\/0 ready/);
  });
});

describe('a cluster without the kinds of the Multi-Cluster Services API', () => {
  it('is not well, and says why', () => {
    const { isWell, unreadable } = sharedOf(reading({ imports: [], isServed: false }), undefined);
    assert.deepEqual([isWell, unreadable.map(({ code }) => code)], [false, ['NotServed']]);
  });
});
