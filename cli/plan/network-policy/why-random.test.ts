/** Compares the answers with an evaluation of its own, which goes packet by packet through the objects as they are written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyProtocol } from '../../../lib/policies/policy.ts';
import { pick, randomOf, type Random } from '../../../lib/testing-random.ts';
import type { OwnedPod } from '../../model/policy-reading.ts';
import { clusterOf, clusterPolicyOf, hostOf, namespaceOf, podOf, policyOf } from '../../testing-policies.ts';
import { explainPolicies } from './why.ts';

interface App {
  readonly matchLabels?: { readonly app: string };
}
interface Peer {
  readonly pods?: { readonly podSelector: App };
  readonly namespaces?: object;
  readonly networks?: readonly string[];
}
interface Port {
  readonly destinationNamedPort?: string;
  readonly udp?: object;
  readonly tcp?: {
    readonly destinationPort: {
      readonly number?: number;
      readonly range?: { readonly start: number; readonly end: number };
    };
  };
}
interface Rule {
  readonly action: string;
  readonly from: readonly Peer[];
  readonly to: readonly Peer[];
  readonly protocols?: readonly Port[];
}
interface Cluster {
  readonly tier: string;
  readonly priority: number;
  readonly subject: Peer;
  readonly ingress: readonly Rule[];
  readonly egress: readonly Rule[];
}
interface Own {
  readonly podSelector: App;
  readonly policyTypes: readonly string[];
  readonly ingress: readonly { readonly ports: readonly { readonly port: number }[] }[];
  readonly egress: readonly { readonly ports: readonly { readonly port: number }[] }[];
}
interface Packet {
  readonly from: OwnedPod;
  readonly to: OwnedPod;
  readonly protocol: PolicyProtocol;
  readonly number: number;
}

/** At least one of each set of ports that the rules below treat alike. */
const numbers = [1, 53, 60, 79, 80, 81, 8080, 8081];
const packets = (from: OwnedPod, to: OwnedPod): readonly Packet[] =>
  (['tcp', 'udp', 'sctp'] as const).flatMap((protocol) => numbers.map((number) => ({ from, to, protocol, number })));

const isApp = ({ matchLabels }: App, { pod }: OwnedPod): boolean =>
  matchLabels === undefined || matchLabels.app === pod.labels['app'];

function isPeer({ pods, networks = [] }: Peer, other: OwnedPod): boolean {
  if (pods !== undefined) return isApp(pods.podSelector, other);
  return networks.length === 0 || networks.some((one) => one === '0.0.0.0/0' || one === `${other.addresses[0]}/32`);
}

/** `isPod`: whether a selector names the other end of an egress rule, or the rule is one for ingress. */
function isPort({ destinationNamedPort, udp, tcp }: Port, { protocol, number }: Packet, isPod: boolean): boolean {
  if (destinationNamedPort !== undefined) return isPod && protocol === 'tcp' && number === 8080;
  if (udp !== undefined) return protocol === 'udp';
  const { number: only = 0, range = { start: only, end: only } } = tcp?.destinationPort ?? {};
  return protocol === 'tcp' && range.start <= number && number <= range.end;
}

type Direction = 'ingress' | 'egress';

function actionOf(
  policies: readonly Cluster[],
  tier: string,
  direction: Direction,
  packet: Packet,
): string | undefined {
  const [self, other] = direction === 'ingress' ? [packet.to, packet.from] : [packet.from, packet.to];
  const ordered = policies.filter((one) => one.tier === tier).toSorted((a, b) => a.priority - b.priority);
  for (const { subject, [direction]: rules } of ordered) {
    if (!isPeer(subject, self)) continue;
    for (const { action, protocols, ...peers } of rules) {
      const named = peers[direction === 'ingress' ? 'from' : 'to'].filter((peer) => isPeer(peer, other));
      const isPod = direction === 'ingress' || named.some(({ networks }) => networks === undefined);
      if (named.length > 0 && (protocols === undefined || protocols.some((port) => isPort(port, packet, isPod))))
        return action;
    }
  }
  return undefined;
}

function isPassed(cluster: readonly Cluster[], own: readonly Own[], direction: Direction, packet: Packet): boolean {
  const admin = actionOf(cluster, 'Admin', direction, packet);
  if (admin === 'Accept' || admin === 'Deny') return admin === 'Accept';
  const type = direction === 'ingress' ? 'Ingress' : 'Egress';
  const self = direction === 'ingress' ? packet.to : packet.from;
  const isolating = own.filter((one) => one.policyTypes.includes(type) && isApp(one.podSelector, self));
  if (isolating.length === 0) return actionOf(cluster, 'Baseline', direction, packet) !== 'Deny';
  const rules = isolating.flatMap((one) => one[direction]);
  return rules.some(
    ({ ports }) =>
      ports.length === 0 || (packet.protocol === 'tcp' && ports.some(({ port }) => port === packet.number)),
  );
}

const apps = ['web', 'db', 'api'];
const list = <T>(random: Random, most: number, one: () => T): readonly T[] =>
  Array.from({ length: random(most + 1) }, one);
const selector = (random: Random): App => pick(random, [{}, ...apps.map((app) => ({ matchLabels: { app } }))]);

function randomCluster(random: Random, priority: number): Cluster {
  const network = () => pick(random, ['0.0.0.0/0', '10.16.0.2/32', '10.16.0.3/32']);
  const pods = (): Peer => pick(random, [{ namespaces: {} }, { pods: { podSelector: selector(random) } }]);
  const port = () =>
    pick<Port>(random, [
      { destinationNamedPort: 'http' },
      { udp: {} },
      { tcp: { destinationPort: { number: 80 } } },
      { tcp: { destinationPort: { range: { start: 79, end: 8080 } } } },
    ]);
  const rule = (): Rule => ({
    action: pick(random, ['Accept', 'Deny', 'Pass']),
    from: list(random, 2, pods),
    to: list(random, 2, () => pick<Peer>(random, [pods(), { networks: [network()] }])),
    ...(random(3) > 0 && { protocols: list(random, 2, port) }),
  });
  const rules = () => list(random, 4, rule);
  const tier = pick(random, ['Admin', 'Admin', 'Baseline']);
  return { tier, priority, subject: pods(), ingress: rules(), egress: rules() };
}

function randomOwn(random: Random): Own {
  const rules = () => list(random, 2, () => ({ ports: list(random, 2, () => ({ port: pick(random, numbers) })) }));
  const policyTypes = pick(random, [['Ingress'], ['Egress'], ['Ingress', 'Egress']]);
  return { podSelector: selector(random), policyTypes, ingress: rules(), egress: rules() };
}

function verdictOf(given: readonly boolean[]): string {
  if (!given.includes(true)) return 'denied';
  return given.includes(false) ? 'allowed at some ports' : 'allowed';
}

test('an answer is what a packet meets, with a port and without one', () => {
  const random = randomOf(23);
  const pods = apps.map((app, index) => podOf(app, { ips: [`10.16.0.${index + 2}`] }));
  const seen = new Map<string, number>();
  for (let round = 0; round < 150; round += 1) {
    // Priorities in no order of the names.
    const cluster = Array.from({ length: random(4) }, (_, index) => randomCluster(random, (index * 7) % 4));
    const own = list(random, 2, () => randomOwn(random));
    const reading = {
      ...namespaceOf(
        pods,
        own.map((spec, index) => policyOf(`p${index}`, spec)),
      ),
      ...clusterOf(cluster.map((spec, index) => clusterPolicyOf(`ClusterNetworkPolicy/c${index}`, spec))),
    };
    for (const from of reading.pods)
      for (const to of reading.pods) {
        if (from === to) continue;
        const ends = { ...reading, from: hostOf(from), to: hostOf(to) };
        const where = `round ${round}: ${from.name} > ${to.name}`;
        const all = packets(from, to).map((packet) => {
          const { protocol, number } = packet;
          const { isAllowed } = explainPolicies({ ...ends, port: { protocol, number } });
          const isExpected = isPassed(cluster, own, 'egress', packet) && isPassed(cluster, own, 'ingress', packet);
          assert.equal(isAllowed, isExpected, `${where} at ${number}/${protocol}`);
          return isExpected;
        });
        const verdict = explainPolicies({ ...ends, port: undefined }).families[0]?.verdict ?? '';
        assert.equal(verdict, verdictOf(all), where);
        seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
      }
  }
  assert.ok([...seen.values()].every((count) => count > 40) && seen.size === 3, JSON.stringify([...seen]));
});
