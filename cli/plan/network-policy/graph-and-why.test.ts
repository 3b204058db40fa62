import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawObject } from '../../../lib/kube/types.ts';
import type { PolicyProtocol } from '../../../lib/policies/policy.ts';
import { pick, randomOf, type Random } from '../../../lib/testing-random.ts';
import type { OwnedPod } from '../../model/policy-reading.ts';
import { clusterOf, clusterPolicyOf, hostOf, namespaceOf, podOf, policyOf } from '../../testing-policies.ts';
import { graphOf } from './graph.ts';
import { explainPolicies } from './why.ts';

const ports = [
  { protocol: 'tcp', number: 80 },
  { protocol: 'tcp', number: 8080 },
  { protocol: 'udp', number: 53 },
] as const;

/** Whether the texts of a link contain the port of a destination. */
function contains(texts: readonly string[], protocol: PolicyProtocol, number: number, { pod }: OwnedPod): boolean {
  const upper = protocol.toUpperCase();
  return texts.some((text) => {
    const name = text.endsWith(` (${upper})`) ? text.slice(0, text.indexOf(' ')) : undefined;
    if (name !== undefined) return pod.namedPorts.some((one) => one.name === name && one.number === number);
    if (text === 'all ports' || text === `all ${upper}`) return true;
    const [first = NaN, last = first] = text.startsWith(`${upper} `) ? text.slice(4).split('-').map(Number) : [];
    return first <= number && number <= last;
  });
}

function randomPolicy(random: Random, name: string): RawObject {
  const selector = () => pick(random, [{}, ...['web', 'db', 'api'].map((app) => ({ matchLabels: { app } }))]);
  const block = () =>
    pick(random, [{ cidr: '10.16.0.0/24', except: ['10.16.0.3/32'] }, { cidr: '10.16.0.2/32' }, { cidr: '0.0.0.0/0' }]);
  const peer = () =>
    pick(random, [
      { podSelector: selector() },
      { namespaceSelector: { matchLabels: { team: pick(random, ['shop', 'ops']) } } },
      { ipBlock: block() },
    ]);
  const port = () =>
    pick(random, [
      { port: 80 },
      { port: 'http' },
      { protocol: 'UDP' },
      { port: 53, protocol: 'UDP' },
      { port: 79, endPort: 8080 },
    ]);
  const list = <T>(one: () => T): readonly T[] => Array.from({ length: random(3) }, one);
  const rules = (peers: 'from' | 'to') => list(() => ({ [peers]: list(peer), ports: list(port) }));
  const policyTypes = pick(random, [['Ingress'], ['Egress'], ['Ingress', 'Egress']]);
  return policyOf(name, { podSelector: selector(), policyTypes, ingress: rules('from'), egress: rules('to') });
}

function randomClusterPolicy(random: Random, index: number) {
  const selector = () => pick(random, [{}, ...['web', 'db', 'api'].map((app) => ({ matchLabels: { app } }))]);
  const pods = () => ({ pods: { namespaceSelector: {}, podSelector: selector() } });
  const network = () => ({
    networks: [pick(random, ['10.16.0.0/24', '10.16.0.2/32', '10.16.0.3/32', '0.0.0.0/0'])],
  });
  const port = () =>
    pick(random, [
      { tcp: { destinationPort: { number: 80 } } },
      { destinationNamedPort: 'http' },
      { udp: {} },
      { tcp: { destinationPort: { range: { start: 79, end: 8080 } } } },
    ]);
  const rules = (peers: 'from' | 'to') =>
    Array.from({ length: random(3) }, () => ({
      action: pick(random, ['Accept', 'Deny', 'Pass']),
      [peers]: [peers === 'to' && random(3) === 0 ? network() : pods()],
      ...(random(2) === 0 && { protocols: [port()] }),
    }));
  const tier = pick(random, ['Admin', 'Baseline']);
  const spec = { tier, priority: index, subject: pods(), ingress: rules('from'), egress: rules('to') };
  return clusterPolicyOf(`ClusterNetworkPolicy/p${index}`, spec);
}

test('a graph agrees with the answers about single connections', () => {
  const random = randomOf(11);
  const apps = ['web', 'db', 'api', 'api'];
  for (let round = 0; round < 300; round += 1) {
    const pods = apps.map((app, index) => {
      const owner = { kind: 'DaemonSet', name: app };
      return podOf(`p${index}`, { labels: { app }, owner, ips: [`10.16.0.${index + 2}`] });
    });
    const policies = Array.from({ length: random(4) }, (_, index) => randomPolicy(random, `p${index}`));
    const ofCluster = Array.from({ length: round % 2 === 0 ? 0 : random(4) }, (_, index) =>
      randomClusterPolicy(random, index),
    );
    const reading = { ...namespaceOf(pods, policies), ...clusterOf(ofCluster) };
    const { nodes, edges } = graphOf(reading);
    const idOf = (name: string) => nodes.find((node) => node.pods.includes(name))?.id ?? '';
    const anywhere = nodes.find(({ kind }) => kind === 'anywhere')?.id ?? '';
    for (const from of reading.pods)
      for (const to of reading.pods)
        for (const { protocol, number } of ports) {
          if (from === to) continue;
          const has = (source: string, destination: string, isDenied = false) =>
            edges.some(
              (edge) =>
                edge.from === source &&
                edge.to === destination &&
                edge.isDenied === isDenied &&
                contains(edge.ports, protocol, number, to),
            );
          const [source, destination] = [idOf(from.name), idOf(to.name)];
          const isOutside = has(source, anywhere) && has(anywhere, destination);
          const isDrawn = (has(source, destination) || isOutside) && !has(source, destination, true);
          const why = explainPolicies({
            from: hostOf(from),
            to: hostOf(to),
            port: { protocol, number },
            policies: reading.policies,
            ...clusterOf(ofCluster),
          });
          assert.equal(isDrawn, why.isAllowed, `round ${round}: ${from.name} > ${to.name} at ${number}/${protocol}`);
        }
  }
});
