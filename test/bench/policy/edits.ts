/**
 * Random versions of one policy. In: what all versions say, and connections of third parties; out: a version. Rule: the model allows each of those connections in every version, or in
 * none of them; peers, ports, networks, the order of rules, the selected pods and the directions change.
 */
import { isAllowed, type ClusterWorld } from '../../model/cluster-policies.ts';
import type { Connection, Peer, Policy, Port } from '../../model/network-policies.ts';
import { pick, type Random } from '../../../lib/testing-random.ts';
import { numbers } from './measurement.ts';

type Rule = NonNullable<Policy['spec']['ingress']>[number];

export interface EditOptions {
  readonly random: Random;
  /** Of the edited policy. */
  readonly metadata: Policy['metadata'];
  /** The rule of both directions that every version has, at some place. */
  readonly kept: { readonly peers: readonly Peer[]; readonly ports: readonly Port[] };
  /** The policies beside it. */
  readonly world: ClusterWorld;
  /** With what the policies say about them in every version. */
  readonly thirdParties: readonly { readonly connection: Connection; readonly isAllowed: boolean }[];
  /** Selectors of pods, all of which select the pods of third parties that the policy selects. */
  readonly selected: readonly Policy['spec']['podSelector'][];
  /** Addresses that blocks may have, or leave out. */
  readonly addresses: readonly string[];
}

const mostRules = 3;
const [firstPort, portCount] = [9100, 200];

function randomPeer({ random, addresses }: EditOptions): Peer {
  const address = pick(random, addresses);
  return pick<() => Peer>(random, [
    () => ({ podSelector: { matchLabels: { app: pick(random, ['web', 'db']) } } }),
    () => ({ namespaceSelector: { matchLabels: { team: pick(random, ['ops', 'shop', 'none']) } } }),
    () => ({
      namespaceSelector: {},
      podSelector: { matchLabels: { role: pick(random, ['client', 'other', 'guest']) } },
    }),
    () => ({ ipBlock: { cidr: `${address}/32` } }),
    () => ({ ipBlock: { cidr: '10.16.0.0/16', except: [`${address}/32`] } }),
  ])();
}

function randomPort({ random }: EditOptions): Port {
  const port = firstPort + random(portCount);
  return pick<Port>(random, [
    { protocol: 'UDP', port },
    { protocol: 'TCP', port },
    { protocol: 'UDP', port, endPort: port + random(portCount) },
    { protocol: 'UDP', port: 9000 },
  ]);
}

function randomRules(options: EditOptions): readonly { peers: readonly Peer[]; ports: readonly Port[] }[] {
  const { random, kept } = options;
  const rules = numbers(random(mostRules + 1)).map(() => ({
    peers: numbers(1 + random(2)).map(() => randomPeer(options)),
    ports: numbers(1 + random(2)).map(() => randomPort(options)),
  }));
  const at = random(rules.length + 1);
  return [...rules.slice(0, at), kept, ...rules.slice(at)];
}

function randomVersion(options: EditOptions): Policy {
  const { random, metadata, selected } = options;
  const of = (side: 'from' | 'to'): Rule[] =>
    randomRules(options).map(({ peers, ports }) => ({ [side]: peers, ports }));
  return {
    metadata,
    spec: {
      podSelector: pick(random, selected),
      policyTypes: random(4) === 0 ? ['Ingress'] : ['Ingress', 'Egress'],
      ingress: of('from'),
      egress: of('to'),
    },
  };
}

/** Another version than the one before. */
export function nextVersion(options: EditOptions, before: Policy | undefined): Policy {
  const { world, thirdParties } = options;
  for (;;) {
    const version = randomVersion(options);
    const policies = [...world.policies, version];
    const isSame = thirdParties.every(
      ({ connection, isAllowed: was }) => isAllowed({ ...world, policies }, connection) === was,
    );
    if (isSame && JSON.stringify(version) !== JSON.stringify(before)) return version;
  }
}
