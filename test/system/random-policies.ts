/** Policies that look random, about the pods and nodes of a PolicyBed: NetworkPolicies, and those of the whole cluster. */
import { pick, type Random } from '../../lib/testing-random.ts';
import type { AdminPort, ClusterPeer, ClusterPolicy, ClusterProtocol, ClusterRule } from '../model/cluster-policies.ts';
import type { Peer, Policy, Port, Selector } from '../model/network-policies.ts';
import type { PolicyBed } from './policy-bed.ts';

type Labels = Record<string, string>;

function given<K extends string, T>(key: K, value: T | undefined): { readonly [P in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: T });
}

export class RandomPolicies {
  readonly #random: Random;
  readonly #bed: PolicyBed;

  constructor(random: Random, bed: PolicyBed) {
    this.#random = random;
    this.#bed = bed;
  }

  #pick<T>(values: readonly T[]): T {
    return pick(this.#random, values);
  }

  /** One or two of what `one` gives, or undefined. */
  #list<T>(one: () => T): T[] | undefined {
    return this.#random(4) === 0 ? undefined : this.#some(one);
  }

  #some<T>(one: () => T): T[] {
    return Array.from({ length: 1 + this.#random(2) }, one);
  }

  labels(): Labels {
    return { app: this.#pick(['web', 'db', 'cli', 'mon']) };
  }

  teamLabels(): Labels {
    return { team: this.#pick(['shop', 'ops']) };
  }

  rackLabels(): Labels {
    return { rack: this.#pick(['a', 'b']) };
  }

  #pods(): Selector {
    return this.#pick<Selector>([
      {},
      { matchLabels: this.labels() },
      { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'mon'] }] },
      { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] },
      { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
      { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] },
    ]);
  }

  #namespaces(): Selector {
    return this.#pick<Selector>([{}, { matchLabels: this.teamLabels() }]);
  }

  /** The network of one address, and that of all of its family. */
  #networks(): readonly [own: string, all: string] {
    const { addresses, served } = this.#pick([...this.#bed.places.values()]);
    const one = this.#pick([...new Set([...addresses, ...served])]);
    return one.includes(':') ? [`${one}/128`, '::/0'] : [`${one}/32`, '0.0.0.0/0'];
  }

  #peer(): Peer {
    const [own, all] = this.#networks();
    return this.#pick([
      () => ({ podSelector: this.#pods() }),
      () => ({ namespaceSelector: this.#namespaces() }),
      () => ({ namespaceSelector: this.#namespaces(), podSelector: this.#pods() }),
      () =>
        this.#pick<Peer>([
          { ipBlock: { cidr: own } },
          { ipBlock: { cidr: all } },
          { ipBlock: { cidr: all, except: [own] } },
        ]),
    ])();
  }

  #port(): Port {
    return this.#pick<Port>([
      {},
      { protocol: 'UDP' },
      { port: 8080 },
      { port: 8081, protocol: 'UDP' },
      { port: 8000, endPort: 8080 },
      { port: 'http' },
      { port: 'http', protocol: 'UDP' },
    ]);
  }

  networkPolicy(name: string, namespace: string): Policy {
    const spec: Policy['spec'] = {
      podSelector: this.#pods(),
      policyTypes: this.#pick([['Ingress'], ['Egress'], ['Ingress', 'Egress']] as const),
      ingress: Array.from({ length: this.#random(3) }, () => ({
        ...given(
          'from',
          this.#list(() => this.#peer()),
        ),
        ...given(
          'ports',
          this.#list(() => this.#port()),
        ),
      })),
      egress: Array.from({ length: this.#random(3) }, () => {
        const ports = this.#list(() => this.#port());
        const isNamed = ports?.some(({ port }) => typeof port === 'string') === true;
        // No pod is known by an address of a block: a named port matches nothing there.
        const peers = this.#list(() =>
          isNamed ? { namespaceSelector: this.#namespaces(), podSelector: this.#pods() } : this.#peer(),
        );
        return { ...given('to', peers), ...given('ports', ports) };
      }),
    };
    return { metadata: { namespace, name }, spec };
  }

  #podPeer(): ClusterPeer {
    return this.#random(2) === 0
      ? { namespaces: this.#namespaces() }
      : { pods: { namespaceSelector: this.#namespaces(), podSelector: this.#pods() } };
  }

  #clusterPeer(isEgress: boolean, isNamed: boolean): ClusterPeer {
    if (this.#random(16) === 0) return { future: {} };
    if (!isEgress || isNamed || this.#random(2) === 0) return this.#podPeer();
    if (this.#random(8) === 0) return { domainNames: ['example.test'] };
    if (this.#random(2) === 0) return { networks: [this.#pick(this.#networks())] };
    return { nodes: this.#pick<Selector>([{}, { matchLabels: this.rackLabels() }]) };
  }

  #protocol(): ClusterProtocol {
    return this.#pick<ClusterProtocol>([
      { tcp: {} },
      { udp: {} },
      { sctp: {} },
      { tcp: { destinationPort: { number: 8080 } } },
      { udp: { destinationPort: { number: 8081 } } },
      { tcp: { destinationPort: { range: { start: 8081, end: 9000 } } } },
      { destinationNamedPort: 'http' },
    ]);
  }

  #adminPort(): AdminPort {
    return this.#pick<AdminPort>([
      { portNumber: { port: 8080, protocol: 'TCP' } },
      { portNumber: { port: 8081, protocol: 'UDP' } },
      { portRange: { start: 8000, end: 8080, protocol: 'UDP' } },
      { portRange: { start: 8000, end: 8090 } },
      { namedPort: 'http' },
    ]);
  }

  #rule(isAlpha2: boolean, isEgress: boolean, canPass: boolean): ClusterRule {
    const action = this.#pick<ClusterRule['action']>([
      isAlpha2 ? 'Accept' : 'Allow',
      'Deny',
      ...(canPass ? (['Pass'] as const) : []),
    ]);
    const protocols = isAlpha2 ? this.#list(() => this.#protocol()) : undefined;
    const ports = isAlpha2 ? undefined : this.#list(() => this.#adminPort());
    const isNamed =
      protocols?.some((one) => one.destinationNamedPort !== undefined) === true ||
      ports?.some((one) => one.namedPort !== undefined) === true;
    const peers = this.#some(() => this.#clusterPeer(isEgress, isNamed));
    return { action, [isEgress ? 'to' : 'from']: peers, ...given('protocols', protocols), ...given('ports', ports) };
  }

  /**
   * One of six policies, no two of which have the same tier and priority.
   * @param canPass whether rules of the tier Admin may pass traffic on
   */
  clusterPolicy(canPass: boolean): ClusterPolicy {
    const index = this.#random(6);
    const kind = index < 3 ? 'ClusterNetworkPolicy' : index < 5 ? 'AdminNetworkPolicy' : 'BaselineAdminNetworkPolicy';
    const isAlpha2 = kind === 'ClusterNetworkPolicy';
    const tier = this.#pick(['Admin', 'Baseline'] as const);
    const isAdmin = isAlpha2 ? tier === 'Admin' : kind === 'AdminNetworkPolicy';
    const isPassing = isAdmin ? canPass : isAlpha2;
    const rules = (isEgress: boolean): ClusterRule[] =>
      Array.from({ length: this.#random(4) }, () => this.#rule(isAlpha2, isEgress, isPassing));
    const spec: ClusterPolicy['spec'] = {
      ...given('tier', isAlpha2 ? tier : undefined),
      ...given('priority', index === 5 ? undefined : this.#random(20) * 10 + index),
      subject: this.#podPeer(),
      ingress: rules(false),
      egress: rules(true),
    };
    return { kind, metadata: { name: index === 5 ? 'default' : `p${index}` }, spec };
  }
}
