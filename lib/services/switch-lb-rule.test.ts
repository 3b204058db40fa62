import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isProblem, parseRuleObject, readRule, ruleNameAt, ruleServiceKey, type ReadRule } from './switch-lb-rule.ts';

const port = { port: 80 };
const good = { vip: '1.1.1.1', namespace: 'ns', selector: ['app:web'], ports: [port] };
const read = (spec: object, name = 'web'): ReturnType<typeof readRule> =>
  readRule(parseRuleObject({ metadata: { name, uid: 'u', resourceVersion: '1' }, spec: { ...good, ...spec } }));

function valid(spec: object): ReadRule {
  const result = read(spec);
  assert.ok(!isProblem(result), JSON.stringify(result));
  return result;
}

describe('a SwitchLBRule', () => {
  test('is a Service with its virtual addresses, and pods with its labels as backends', () => {
    const { service, ports, selector, slices } = valid({
      vip: 'FD00::1, 1.1.1.1',
      selector: ['tier: front', 'app:web', 'empty:'],
      sessionAffinity: 'ClientIP',
      ports: [
        { name: 'http', port: 80, targetPort: 8080, protocol: '' },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
    });
    assert.deepEqual([service.namespace, service.name, service.isServed], ['ns', 'slr-web', true]);
    assert.deepEqual([service.clusterIps, service.affinitySeconds], [['fd00::1', '1.1.1.1'], 10_800]);
    assert.deepEqual(
      ports.map(({ protocol, port: number, target }) => [protocol, number, target]),
      [
        ['TCP', 80, 8080],
        ['UDP', 53, 53],
      ],
    );
    assert.deepEqual([selector, slices], [{ app: 'web', empty: '', tier: 'front' }, undefined]);
  });

  test('has the addresses that it lists as backends, whatever its selector is', () => {
    const { selector, slices } = valid({ endpoints: ['10.0.0.1', 'fd00::9', '10.0.0.1'], selector: ['nonsense'] });
    assert.deepEqual(selector, {});
    assert.deepEqual(
      slices?.map(({ family, endpoints }) => [family, endpoints.map(({ address }) => address)]),
      [
        [4, ['10.0.0.1']],
        [6, ['fd00::9']],
      ],
    );
  });

  test('and its Service are found from each other', () => {
    const one = parseRuleObject({ metadata: { name: 'web', uid: 'u', resourceVersion: '1' }, spec: good });
    assert.equal(ruleServiceKey(one), 'ns/slr-web');
    assert.deepEqual(
      ['ns/slr-web', 'ns/web', 'slr-ns/web', 'ns/slr-'].map((key) => ruleNameAt(key)),
      ['web', undefined, undefined, ''],
    );
  });

  const long = 'x'.repeat(60);
  for (const [spec, name, expected] of [
    [{}, long, /NameInvalid.*at most 59/],
    [{}, 'a.b', /NameInvalid/],
    [{ vip: '' }, 'web', /AddressInvalid.*'' is not an address/],
    [{ vip: '1.1.1.300' }, 'web', /AddressInvalid/],
    [{ vip: '1.1.1.1,1.1.1.2' }, 'web', /AddressInvalid.*two addresses of one family/],
    [{ ports: [] }, 'web', /PortsInvalid.*empty/],
    [{ ports: [{ port: 0 }] }, 'web', /PortsInvalid.*0 is not a port/],
    [{ ports: [{ port: 80, targetPort: 70_000 }] }, 'web', /PortsInvalid.*70000/],
    [{ ports: [{ port: 80, targetPort: 'http' }] }, 'web', undefined],
    [{ ports: [{ port: 80, protocol: 'tcp' }] }, 'web', /PortsInvalid.*'tcp' is none of TCP, UDP and SCTP/],
    [{ ports: [port, { port: 81 }] }, 'web', /PortsInvalid.*TCP 80 has no name/],
    [{ ports: [{ name: 'A', port: 80 }] }, 'web', /PortsInvalid.*'A' is not a name/],
    [
      {
        ports: [
          { name: 'a', port: 80 },
          { name: 'a', port: 81 },
        ],
      },
      'web',
      /PortsInvalid.*two ports have the same name 'a'/,
    ],
    [
      {
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 80 },
        ],
      },
      'web',
      /PortsInvalid.*twice/,
    ],
    [{ endpoints: ['web'] }, 'web', /EndpointsInvalid.*'web'/],
    [{ selector: [] }, 'web', /BackendsMissing/],
    [{ selector: ['app'] }, 'web', /SelectorInvalid/],
    [{ selector: ['app:a', 'app:b'] }, 'web', /SelectorInvalid/],
    [{ selector: ['app:a b'] }, 'web', /SelectorInvalid/],
  ] as const)
    test(`${expected === undefined ? 'takes' : 'refuses'} ${JSON.stringify(spec)} of ${name}`, () => {
      const result = read(spec, name);
      if (expected === undefined) assert.ok(!isProblem(result));
      else assert.match(isProblem(result) ? `${result.code} ${result.message}` : '', expected);
    });
});
