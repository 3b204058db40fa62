/** Random changes of Services, their endpoints, pods and nodes. The same numbers give the same changes. */
import { pick, type Random } from '../../lib/testing-random.ts';
import type { Protocol, SliceEndpoint } from '../model/services.ts';
import { type NodeName, nodeNames, ports as served, type ServiceModelBed } from './service-model-bed.ts';

/** The first ones have slices of the test, the others a selector. */
const names = ['w1', 'w2', 'w3', 'w4', 'w5', 's1', 's2'] as const;
type Name = (typeof names)[number];
const isSelecting = (name: Name): boolean => name.startsWith('s');
const families = ['IPv4', 'IPv6'] as const;
const zones = ['east', 'west'] as const;

/** A Service as the test wants it. */
interface Wish {
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer';
  readonly isSingleStack: boolean;
  readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly port: number }[];
  readonly isNamedTarget: boolean;
  readonly hasExternalIps: boolean;
  readonly isInternalLocal: boolean;
  readonly isExternalLocal: boolean;
  readonly isSticky: boolean;
  readonly publishesNotReady: boolean;
  readonly ranges: readonly string[];
  readonly hasNodePorts: boolean;
  readonly distribution: 'PreferClose' | undefined;
}

const portLists = [
  ['tcp 80'],
  ['udp 80'],
  ['tcp 80', 'udp 80'],
  ['tcp 80', 'udp 80', 'other 81'],
  ['other 81'],
] as const;

export class ServiceChanges {
  readonly #bed: ServiceModelBed;
  readonly #random: Random;
  readonly #wishes = new Map<Name, Wish>();

  constructor(bed: ServiceModelBed, random: Random) {
    this.#bed = bed;
    this.#random = random;
  }

  #one<T>(list: readonly T[]): T {
    return pick(this.#random, list);
  }

  /** True one time in `times`. */
  #chance(times: number): boolean {
    return this.#random(times) === 0;
  }

  /** Some of the list, perhaps none, in their order. */
  #some<T>(list: readonly T[]): readonly T[] {
    return list.filter(() => this.#chance(2));
  }

  /** Makes one random change. @returns it in words */
  async step(): Promise<string> {
    const actions: readonly (readonly [number, () => Promise<string>])[] = [
      [26, () => this.#setEndpoints()],
      [4, () => this.#deleteSlice()],
      [26, () => this.#edit()],
      [6, () => this.#setBalancer()],
      [8, () => this.#toggleService()],
      [4, () => this.#setZone()],
      [6, () => this.#setLabel()],
      [6, () => this.#setReadiness()],
    ];
    let at = this.#random(actions.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, act] of actions) {
      at -= weight;
      if (at < 0) return act();
    }
    throw new Error('no action');
  }

  /** The first world: every Service, with endpoints. */
  async fill(): Promise<readonly string[]> {
    const done: string[] = [];
    for (const [index, name] of nodeNames.entries()) {
      await this.#bed.setZone(name, zones[index]);
      done.push(`zone of ${name} ${zones[index]}`);
    }
    for (const name of this.#bed.pods.keys()) done.push(await this.#setLabel(name));
    for (const name of names) {
      done.push(await this.#create(name));
      if (isSelecting(name)) continue;
      done.push(await this.#setEndpoints(name));
    }
    return done;
  }

  async #create(name: Name): Promise<string> {
    const wish: Wish = {
      type: this.#one(['ClusterIP', 'NodePort', 'LoadBalancer', 'LoadBalancer']),
      isSingleStack: this.#chance(6),
      ports: this.#ports(),
      isNamedTarget: this.#chance(2),
      hasExternalIps: this.#chance(2),
      isInternalLocal: this.#chance(3),
      isExternalLocal: this.#chance(2),
      isSticky: this.#chance(4),
      publishesNotReady: this.#chance(3),
      ranges: [],
      hasNodePorts: !this.#chance(4),
      distribution: undefined,
    };
    const text = await this.#wish(name, wish);
    if (wish.type === 'LoadBalancer') return `${text}; ${await this.#setBalancer(name)}`;
    return text;
  }

  #ports(): Wish['ports'] {
    return this.#one(portLists).map((text) => {
      const [name = '', port = ''] = text.split(' ');
      return { name, protocol: name === 'udp' ? 'UDP' : 'TCP', port: Number(port) };
    });
  }

  async #wish(name: Name, wish: Wish): Promise<string> {
    this.#wishes.set(name, wish);
    const spec = this.#specOf(name, wish);
    await this.#bed.setService(name, spec);
    return `${name} ${JSON.stringify(spec)}`;
  }

  #specOf(name: Name, wish: Wish): object {
    const number = names.indexOf(name) + 1;
    const isBalancer = wish.type === 'LoadBalancer';
    const isExternal = wish.type !== 'ClusterIP' || wish.hasExternalIps;
    const targetPort = isSelecting(name) && wish.isNamedTarget ? 'http' : served[0];
    return {
      type: wish.type,
      ...(wish.isSingleStack
        ? { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] }
        : { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] }),
      ports: wish.ports.map((port) => ({ ...port, targetPort })),
      ...(isSelecting(name) ? { selector: { app: name } } : {}),
      internalTrafficPolicy: wish.isInternalLocal ? 'Local' : 'Cluster',
      sessionAffinity: wish.isSticky ? 'ClientIP' : 'None',
      publishNotReadyAddresses: wish.publishesNotReady,
      ...(wish.hasExternalIps ? { externalIPs: [`198.51.100.${number}`, `fd00:198::${number}`] } : {}),
      ...(isExternal ? { externalTrafficPolicy: wish.isExternalLocal ? 'Local' : 'Cluster' } : {}),
      ...(isBalancer
        ? {
            // No other program gives it addresses.
            loadBalancerClass: 'test.example/none',
            allocateLoadBalancerNodePorts: wish.hasNodePorts,
            ...(wish.ranges.length > 0 ? { loadBalancerSourceRanges: wish.ranges } : {}),
          }
        : {}),
      ...(wish.distribution === undefined ? {} : { trafficDistribution: wish.distribution }),
    };
  }

  /** Changes one or two fields. */
  async #edit(): Promise<string> {
    if (this.#wishes.size === 0) return this.#toggleService();
    const [name, before] = this.#one([...this.#wishes]);
    const edits: readonly (() => Partial<Wish>)[] = [
      () => ({ type: this.#one(['ClusterIP', 'NodePort', 'LoadBalancer'] as const) }),
      () => ({ isSingleStack: !before.isSingleStack }),
      () => ({ ports: this.#ports() }),
      () => ({ isNamedTarget: !before.isNamedTarget }),
      () => ({ hasExternalIps: !before.hasExternalIps }),
      () => ({ isInternalLocal: !before.isInternalLocal }),
      () => ({ isExternalLocal: !before.isExternalLocal }),
      () => ({ isSticky: !before.isSticky }),
      () => ({ publishesNotReady: !before.publishesNotReady }),
      () => ({ ranges: this.#ranges() }),
      () => ({ hasNodePorts: !before.hasNodePorts }),
      // Kubernetes would give the endpoints of a selector hints of its own.
      () => ({ distribution: isSelecting(name) || before.distribution ? undefined : 'PreferClose' }),
    ];
    return this.#wish(name, { ...before, ...this.#one(edits)(), ...this.#one(edits)() });
  }

  /** Of clients in pods, on one node, outside, or nobody. */
  #ranges(): readonly string[] {
    return this.#one([
      [],
      ['10.16.0.0/16', 'fd00:10:16::/112'],
      ['172.30.0.1/32', 'fd00:30::1/128'],
      ['172.30.0.0/16', '172.30.0.0/24', 'fd00:30::/64'],
      ['172.30.1.11/32', 'fd00:30::b/128', '172.30.0.2/32'],
      ['203.0.113.0/24', 'fd00:203::/64'],
    ]);
  }

  async #toggleService(): Promise<string> {
    const name = this.#one(names);
    if (!this.#wishes.has(name)) return this.#create(name);
    this.#wishes.delete(name);
    await this.#bed.deleteService(name);
    return `delete ${name}`;
  }

  async #setBalancer(given?: Name): Promise<string> {
    const balancers = [...this.#wishes].filter(([, { type }]) => type === 'LoadBalancer').map(([name]) => name);
    if (given === undefined && balancers.length === 0) return this.#edit();
    const name = given ?? this.#one(balancers);
    const number = names.indexOf(name) + 101;
    const vip = [{ ip: `198.51.100.${number}` }, { ip: `fd00:198::${number}`, ipMode: 'VIP' }];
    const ingress = this.#one([
      vip,
      vip,
      [...vip, { ip: `198.51.100.${number + 20}` }],
      vip.map((one) => ({ ...one, ipMode: 'Proxy' })),
      [],
    ]);
    await this.#bed.setBalancer(name, ingress);
    return `addresses of ${name} ${JSON.stringify(ingress)}`;
  }

  /** One to three slices of each family; an endpoint may be in several. */
  async #setEndpoints(given?: Name): Promise<string> {
    const name = given ?? this.#one(names.filter((one) => !isSelecting(one)));
    const hints = this.#one(['none', 'none', 'zones', 'nodes', 'both', 'partial'] as const);
    const state = this.#one(['ready', 'ready', 'mixed', 'mixed', 'leaving'] as const);
    const candidates = [...this.#bed.pods, ...this.#bed.nodes];
    const chosen = this.#chance(8) ? [] : this.#some(candidates);
    const plans = chosen.map(([key, place]) => ({
      addresses: place.addresses,
      endpoint: this.#endpoint('node' in place ? place.node : key, state, hints),
    }));
    const count = 1 + this.#random(3);
    const spread = plans.map((plan) => ({ ...plan, slices: this.#chance(6) ? [0, 1] : [this.#random(count)] }));
    const numbers = Array.from({ length: 3 }, () => this.#one(served));
    for (const [index, addressType] of families.entries())
      for (const slice of [0, 1, 2]) {
        const endpoints = spread
          .filter(({ slices }) => slices.includes(slice))
          .map(({ addresses, endpoint }) => ({ ...endpoint, addresses: [addresses[index] ?? ''] }));
        const key = `${name}-${addressType.toLowerCase()}-${slice}`;
        if (endpoints.length === 0 && slice > 0) {
          if (this.#bed.slices.has(key)) await this.#bed.deleteSlice(key);
          continue;
        }
        const port = numbers[slice] ?? served[0];
        const ports = (['tcp', 'udp', 'other'] as const).map((each) => ({
          name: each,
          protocol: each === 'udp' ? ('UDP' as const) : ('TCP' as const),
          port,
        }));
        await this.#bed.setSlice(key, { service: name, addressType, ports, endpoints });
      }
    return `endpoints of ${name} ${JSON.stringify({ spread, numbers })}`;
  }

  #endpoint(node: string, state: 'ready' | 'mixed' | 'leaving', hints: string): Omit<SliceEndpoint, 'addresses'> {
    const conditions = this.#one(
      {
        ready: [{ ready: true }, {}, { ready: true, serving: true, terminating: false }],
        mixed: [
          { ready: true },
          { ready: false },
          { ready: false, serving: true, terminating: true },
          { ready: false, serving: false, terminating: true },
        ],
        leaving: [
          { ready: false, serving: true, terminating: true },
          { ready: false, serving: false, terminating: true },
          { ready: false },
        ],
      }[state],
    );
    const isPartial = hints === 'partial' && this.#chance(2);
    const forZones = ['zones', 'both'].includes(hints) || isPartial ? this.#some(zones) : [];
    const forNodes = ['nodes', 'both'].includes(hints) || isPartial ? this.#some(nodeNames) : [];
    return {
      ...(this.#chance(12) ? {} : { nodeName: node }),
      conditions,
      hints: {
        forZones: (forZones.length > 0 || hints !== 'zones' ? forZones : [this.#one(zones)]).map((one) => ({
          name: one,
        })),
        forNodes: (forNodes.length > 0 || hints !== 'nodes' ? forNodes : [this.#one(nodeNames)]).map((one) => ({
          name: one,
        })),
      },
    };
  }

  async #deleteSlice(): Promise<string> {
    const slices = [...this.#bed.slices.keys()];
    if (slices.length === 0) return this.#setEndpoints();
    const name = this.#one(slices);
    await this.#bed.deleteSlice(name);
    return `delete slice ${name}`;
  }

  async #setZone(): Promise<string> {
    const [name, zone] = [this.#one<NodeName>(nodeNames), this.#one([...zones, undefined])];
    await this.#bed.setZone(name, zone);
    return `zone of ${name} ${zone}`;
  }

  async #setLabel(given?: string): Promise<string> {
    const [name, app] = [given ?? this.#one([...this.#bed.pods.keys()]), this.#one(['s1', 's2', 'none'])];
    await this.#bed.setLabel(name, app);
    return `label of ${name} ${app}`;
  }

  async #setReadiness(): Promise<string> {
    const [name, isReady] = [this.#one([...this.#bed.pods.keys()]), this.#chance(2)];
    await this.#bed.setReadiness(name, isReady);
    return `pod ${name} is ${isReady ? 'ready' : 'not ready'}`;
  }
}
