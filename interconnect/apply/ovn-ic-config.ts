/**
 * Follows Kube-OVN's ConfigMap `ovn-ic-config`. In: the ConfigMap, nodes, and the objects that follow it. Out: writes
 * to these objects, and events on the ConfigMap. The agent starts it under its lease; the Interconnect and the
 * RoutePolicies that it makes are like any others.
 */
import { planOvnIcConfig, type IcWrite } from '../plan/ovn-ic-config.ts';
import { ovnIcConfig } from '../model/ic-config.ts';
import type { RoutePolicy } from '../../lib/route-policy/policy.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import { apiVersionOf, interconnects, routePolicies } from '../../lib/kube/resources.ts';
import type { KubeClient, Reflector } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { watchOvnIcConfig, type IcConfigSources } from '../watch/ovn-ic-config.ts';
import { fromAnnotation } from '../../lib/route-policy/parse.ts';

/** A burst of changes is one plan. */
const gatherMs = 20;
const resources = { Interconnect: interconnects, RoutePolicy: routePolicies };
/** Another writer was faster: the watch brings the present object. */
const overtaken = [404, 409];

export interface OvnIcConfigOptions {
  readonly client: KubeClient;
  /** Of the ConfigMap. */
  readonly namespace: string;
  readonly nodes: Reflector<{ readonly labels: Readonly<Record<string, string>> }>;
  readonly routePolicies: Reflector<RoutePolicy>;
  readonly writer: ObjectWriter;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export class OvnIcConfig {
  readonly #options: OvnIcConfigOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #unsubscribe: (() => void)[] = [];
  /** By kind and name: the write that was sent, until the object is seen to change. */
  readonly #sent = new Map<string, string>();
  #sources: IcConfigSources | undefined;
  #reported = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OvnIcConfigOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  /**
   * Resolves once all inputs are known and the first plan is due, or at the end. Callers must not wait for it: if the
   * role to read the ConfigMap is missing, it does not resolve until the role is added.
   */
  async start(): Promise<void> {
    const { client, namespace, nodes, routePolicies: policies, log } = this.#options;
    const signal = this.#signal;
    const sources = watchOvnIcConfig(client, namespace, { signal, log });
    this.#sources = sources;
    try {
      await Promise.all([sources.configs.synced, sources.interconnects.synced, nodes.synced, policies.synced]);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return;
    this.#unsubscribe.push(
      sources.configs.subscribe(() => this.#schedule()),
      nodes.subscribe(() => this.#schedule()),
      sources.interconnects.subscribe(({ key }) => this.#changed('Interconnect', key)),
      policies.subscribe(({ key }) => this.#changed('RoutePolicy', key)),
    );
    this.#schedule();
  }

  /** Writes that have begun go on: the writer belongs to the agent. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#stop.abort(new DOMException('ovn-ic-config is no longer followed', 'AbortError'));
    await Promise.all([this.#sources?.configs.stop(), this.#sources?.interconnects.stop()]);
  }

  #changed(kind: IcWrite['kind'], name: string): void {
    this.#sent.delete(`${kind}/${name}`);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#round();
    }, gatherMs);
  }

  #round(): void {
    const { nodes, namespace, routePolicies: policies } = this.#options;
    const parsed = this.#sources?.configs.get(`${namespace}/${ovnIcConfig}`);
    const { writes, problems } = planOvnIcConfig({
      config: parsed?.config ?? 'off',
      interconnect: this.#sources?.interconnects.get('default'),
      policies: new Map(policies.entries()),
      labelsOf: (node) => nodes.get(node)?.labels,
    });
    for (const write of writes) this.#send(write);
    this.#report(problems);
  }

  #send(write: IcWrite): void {
    const { writer, log } = this.#options;
    const key = `${write.kind}/${write.name}`;
    const text = JSON.stringify(write);
    if (this.#sent.get(key) === text) return;
    this.#sent.set(key, text);
    log.info({ object: key, verb: write.verb }, 'following the ConfigMap ovn-ic-config');
    void writer
      .enqueue(`${key}/${ovnIcConfig}`, () => this.#write(write))
      .then((outcome) => this.#written(key, text, outcome));
  }

  #written(key: string, text: string, outcome: Awaited<ReturnType<ObjectWriter['enqueue']>>): void {
    if (outcome === 'written' || this.#sent.get(key) !== text) return;
    if (!(outcome instanceof KubeApiError) || overtaken.includes(outcome.status)) {
      this.#sent.delete(key);
      return;
    }
    // The same write would be refused again; the next change of the ConfigMap makes another one.
    this.#record({ code: 'WriteRefused', message: `${key} could not be applied: ${outcome.message}` });
  }

  async #write({ verb, kind, name, uid, spec }: IcWrite): Promise<void> {
    const { client } = this.#options;
    const resource = resources[kind];
    if (verb === 'delete') {
      await client.delete(resource, { name }, uid === undefined ? {} : { uid });
      return;
    }
    if (verb === 'patch') {
      await client.patch(resource, { name }, 'merge', { metadata: { uid }, spec });
      return;
    }
    const annotations = { [fromAnnotation]: ovnIcConfig };
    await client.create(resource, { apiVersion: apiVersionOf(resource), kind, metadata: { name, annotations }, spec });
  }

  /** Reports problems when they change, not in every round. */
  #report(problems: readonly Problem[]): void {
    const text = JSON.stringify(problems);
    if (text === this.#reported) return;
    this.#reported = text;
    for (const problem of problems) this.#record(problem);
  }

  #record({ code, message }: Problem): void {
    const { namespace, events, log } = this.#options;
    const uid = this.#sources?.configs.get(`${namespace}/${ovnIcConfig}`)?.uid;
    log.warn({ code, message }, 'the ConfigMap ovn-ic-config cannot be followed in full');
    // A deleted ConfigMap has no events.
    if (uid === undefined) return;
    const subject = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: ovnIcConfig, uid };
    events.record(subject, 'Warning', code, message);
  }
}
