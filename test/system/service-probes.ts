/** Asks Services from all places of a ServiceModelBed and compares the answers with the model. */
import type { Random } from '../../lib/testing-random.ts';
import {
  type Answering,
  type Client,
  familyOf,
  frontendsOf,
  type Frontend,
  healthyEndpoints,
  type Outcome,
  outcomeOf,
} from '../model/services.ts';
import { nodeNames, type ServiceModelBed } from './service-model-bed.ts';

/** Of several endpoints, each answers by chance: so often one that answers is missed once in a million times. */
const attemptsPerEndpoint = 14;
const stickyAttempts = 6;
/** Asked at once. */
const burst = 6;
/** For an expected answer, where the machine is busy. */
const patienceMs = 5000;

/** Addresses of the ServiceCIDRs that the API server, which chooses by chance, hardly gives to a Service. */
const unallocated = (['10.96.250.250', 'fd00:10:96::fafa'] as const).map((address): Frontend => ({
  service: '',
  kind: 'unallocated',
  family: familyOf(address),
  protocol: 'TCP',
  address,
  port: 80,
  portName: '',
}));

/** A client and an address to ask. */
export interface Probe {
  readonly place: string;
  readonly frontend: Frontend;
  readonly expected: Outcome;
}

export interface Difference {
  readonly probe: Probe;
  /** In words. */
  readonly text: string;
  /** Whether a client heard nothing where an endpoint should have answered. */
  readonly isLost: boolean;
}

export class ServiceProbes {
  readonly #bed: ServiceModelBed;
  readonly #random: Random;

  constructor(bed: ServiceModelBed, random: Random) {
    this.#bed = bed;
    this.#random = random;
  }

  /** Every client with every address of which the model says something. */
  all(): readonly Probe[] {
    const frontends = [...frontendsOf(this.#bed), ...unallocated];
    return [...this.#bed.places].flatMap(([place, { client }]) =>
      frontends.flatMap((frontend) => {
        const expected = outcomeOf(this.#bed, client, frontend);
        return expected === undefined || isKnownGap(this.#bed, client, frontend) ? [] : [{ place, frontend, expected }];
      }),
    );
  }

  /** So many of them, or all. */
  sample(count: number): readonly Probe[] {
    const left = [...this.all()];
    const taken: Probe[] = [];
    while (taken.length < count && left.length > 0) taken.push(...left.splice(this.#random(left.length), 1));
    return taken;
  }

  /** Those whose answers differ from the model. */
  async differing(probes: readonly Probe[]): Promise<readonly Difference[]> {
    const found = await Promise.all(
      probes.map(async (probe) => {
        const text = await this.#compare(probe);
        return text === undefined
          ? []
          : [{ probe, text, isLost: probe.expected.kind === 'answered' && /× silent/.test(text) }];
      }),
    );
    return found.flat();
  }

  async #compare(probe: Probe): Promise<string | undefined> {
    const { expected } = probe;
    const answers = await this.#ask(probe, 1);
    if (expected.kind !== 'answered') return this.#differs(probe, answers);
    const wanted = expected.isSticky ? stickyAttempts : expected.by.size * attemptsPerEndpoint;
    while (answers.length < wanted) {
      const isComplete = !expected.isSticky && new Set(answers).size >= expected.by.size;
      if (isComplete || this.#differs(probe, answers, 'yet') !== undefined) break;
      answers.push(...(await this.#ask(probe, expected.isSticky ? 1 : burst)));
    }
    return this.#differs(probe, answers);
  }

  async #ask({ place, frontend, expected }: Probe, times: number): Promise<string[]> {
    const { protocol, address, port } = frontend;
    const patience = expected.kind === 'answered' ? patienceMs : undefined;
    const agent = this.#bed.places.get(place)?.agent;
    if (agent === undefined) throw new Error(`no place ${place}`);
    return Promise.all(Array.from({ length: times }, () => agent.ask(protocol, address, port, patience)));
  }

  /** @param yet whether more answers may come */
  #differs(probe: Probe, answers: readonly string[], yet?: 'yet'): string | undefined {
    const { expected } = probe;
    const isRight =
      expected.kind === 'answered'
        ? areFrom(expected, answers, yet === 'yet')
        : answers.every((answer) => answer === (expected.kind === 'rejected' ? 'refused' : 'silent'));
    return isRight ? undefined : `${describe(probe)}; got ${countsOf(answers)}`;
  }

  /** Health checks that differ from the model, in words. */
  async compareHealth(): Promise<readonly string[]> {
    const asked = [...this.#bed.services].flatMap(([name, { spec }]) => {
      const { type, externalTrafficPolicy, healthCheckNodePort: port = 0 } = spec;
      const hasCheck = type === 'LoadBalancer' && externalTrafficPolicy === 'Local' && port !== 0;
      return hasCheck ? nodeNames.map((node) => ({ name, node, port })) : [];
    });
    const found = await Promise.all(
      asked.map(async ({ name, node, port }) => {
        const count = healthyEndpoints(this.#bed, name, node);
        const expected = `${count > 0 ? 200 : 503} ${count}`;
        const [address = ''] = this.#bed.nodes.get(node)?.addresses ?? [];
        const answer = await this.#bed.places.get(`outside ${node}`)?.agent.ask('health', address, port);
        return answer === expected ? undefined : `health check of ${name} on ${node}: model ${expected}; got ${answer}`;
      }),
    );
    return found.filter((text) => text !== undefined);
  }
}

/**
 * Nodes know each other by the addresses of their tunnels, which have one family. Under externalTrafficPolicy Local, pods answer clients with
 * other addresses of nodes directly: not through the node that translated.
 */
function isKnownGap({ services }: ServiceModelBed, client: Client, { family, node, service }: Frontend): boolean {
  const isOther = family === 6 && client.kind === 'node' && node !== undefined && node !== client.node;
  return isOther && services.get(service)?.spec.externalTrafficPolicy === 'Local';
}

function areFrom({ by, isSticky }: Answering, answers: readonly string[], mayMore: boolean): boolean {
  const known = [...by].map(([endpoint, source]) => `${endpoint} ${source}`);
  if (!answers.every((answer) => known.includes(answer))) return false;
  const count = new Set(answers).size;
  if (isSticky) return count <= 1;
  return mayMore || count === by.size;
}

function describe({ place, frontend, expected }: Probe): string {
  const { kind, service, protocol, address, port, portName } = frontend;
  const model =
    expected.kind === 'answered'
      ? `${[...expected.by].map(([endpoint, source]) => `${endpoint} ${source}`).join(' | ')}${expected.isSticky ? ' (sticky)' : ''}`
      : expected.kind;
  return `${place} → ${kind} ${service} ${portName} ${protocol} ${address} ${port}: model ${model}`;
}

function countsOf(answers: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return [...counts].map(([answer, count]) => `${count} × ${answer}`).join(' | ');
}
