/**
 * Writes the SharedAddresses of this cluster, for the controller to act on. In: the claims of exported Services, the hub's answers, the
 * objects that the watch brings. Out: writes, only where an object differs, so that a restart writes nothing. Rule: an object
 * without an answer stays as it is, so that a Service keeps its address while the hub is away; it goes once its Service claims none.
 */
import type { SharedAddressSpec } from '../../lib/api/kinds/shared-address.ts';
import { apiVersionOf, sharedAddresses } from '../../lib/kube/resources.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { fieldsOf } from '../../lib/kube/fields.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { parsePoolRange } from '../../lib/services/load-balancer.ts';
import type { Services } from '../apply/services.ts';
import type { ExportExchange } from '../model/export-exchange.ts';
import type { SharedAnswer } from '../model/export-messages.ts';
import type { SharedClaim } from '../model/exported-service.ts';
import { sharedAddressName, type SharedAddressObject } from '../model/service-objects.ts';
import type { Sources } from '../watch/sources.ts';
import { isSameJson } from './compare.ts';

export interface SharedAddressReporterOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly sources: Pick<Sources, 'serviceExports' | 'sharedAddresses'>;
  readonly services: Pick<Services, 'own'>;
  readonly exchange: Pick<ExportExchange, 'answerTo'>;
  /** A write that was refused is due again. */
  readonly onDue: () => void;
}

/** After a refusal, such as by a missing CRD or role, the object is written again so late. */
const refusedMs = 30_000;

/** As the kind has it. */
const longestReason = 64;
const longestMessage = 2048;
/** Of a date. */
const latestMs = 8.64e15;

type Fields = Readonly<Record<string, unknown>>;

export class SharedAddressReporter {
  readonly #options: SharedAddressReporterOptions;
  /** By name: what was sent and what the watch has not delivered yet. */
  readonly #sent = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SharedAddressReporterOptions) {
    this.#options = options;
  }

  /** The watch has brought a version of an object. */
  seen(name: string): void {
    this.#sent.delete(name);
  }

  /** `isMember`: whether this cluster takes part; otherwise nothing is shared. */
  report(isMember: boolean): void {
    const { sources, services } = this.#options;
    for (const [, object] of sources.sharedAddresses.entries())
      if (!isMember || this.#isLeftOver(object)) this.#delete(object);
    for (const key of isMember ? services.own.keys() : []) this.#align(key);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** A Service whose export exists and is not settled yet may claim the address. */
  #isLeftOver({ name, service }: SharedAddressObject): boolean {
    const { sources, services } = this.#options;
    if (name !== sharedAddressName(service)) return true;
    const own = services.own.get(service);
    return own === undefined
      ? sources.serviceExports.get(service) === undefined
      : (own.exported?.shared ?? undefined) === undefined;
  }

  #align(key: string): void {
    const { client, sources, services, exchange } = this.#options;
    const claim = services.own.get(key)?.exported?.shared ?? undefined;
    const answer = claim === undefined ? undefined : exchange.answerTo(key);
    if (claim === undefined || answer === undefined) return;
    const name = sharedAddressName(key);
    const object = sources.sharedAddresses.get(name);
    const spec = specOf(claim.pool, answer);
    const present = object === undefined ? undefined : fieldsOf(JSON.parse(object.specText));
    if ((present !== undefined && isSameJson(present, spec)) || !isFor(claim, answer)) return;
    const kind = { apiVersion: apiVersionOf(sharedAddresses), kind: sharedAddresses.kind };
    this.#write(name, JSON.stringify(spec), () =>
      object === undefined
        ? client.create(sharedAddresses, { ...kind, metadata: { name }, spec })
        : client.patch(sharedAddresses, { name }, 'merge', {
            metadata: { uid: object.uid },
            spec: withNulls(present ?? {}, { ...spec }),
          }),
    );
  }

  #delete({ name, uid }: SharedAddressObject): void {
    this.#write(name, `delete ${uid}`, () => this.#options.client.delete(sharedAddresses, { name }, { uid }));
  }

  /** `text`: what is written; the same is not written again before the watch has brought the object. */
  #write(name: string, text: string, write: () => Promise<unknown>): void {
    if (this.#sent.get(name) === text) return;
    this.#sent.set(name, text);
    void this.#options.writer
      .enqueue(`${sharedAddresses.kind}/${name}`, () => unlessOvertaken(write()))
      .then((outcome) => {
        if (outcome === 'written' || outcome === 'superseded' || outcome === 'stopped') return;
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined;
          this.#sent.clear();
          this.#options.onDue();
        }, refusedMs);
      });
  }
}

/** Until the hub has answered, the answer to a claim of another pool is still known. */
function isFor({ ranges, held }: SharedClaim, { addresses }: SharedAnswer): boolean {
  const spaces = [...ranges, ...held].flatMap((text) => parsePoolRange(text) ?? []);
  return addresses.every((text) => {
    const ip = parseIp(text);
    return spaces.some(({ family, first, last }) => family === ip?.family && first <= ip.value && ip.value <= last);
  });
}

function specOf(pool: string, answer: SharedAnswer): SharedAddressSpec {
  const { service, addresses, sinceMs, clusters, code, message } = answer;
  const [namespace = '', name = ''] = service.split('/');
  return {
    service: { namespace, name },
    pool,
    addresses: [...addresses],
    ...(sinceMs > 0 && sinceMs <= latestMs && { since: new Date(sinceMs).toISOString() }),
    clusters: [...clusters],
    ...(code !== '' && { reason: code.slice(0, longestReason), message: message.slice(0, longestMessage) }),
  };
}

/** The wanted fields, and null for fields to remove. */
function withNulls(present: Fields, wanted: Fields): Fields {
  const gone = Object.keys(present).filter((field) => wanted[field] === undefined);
  return { ...Object.fromEntries(gone.map((field) => [field, null])), ...wanted };
}

/** Another writer was faster: the watch brings the present object. */
async function unlessOvertaken(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.status !== 409) throw error;
  }
}
