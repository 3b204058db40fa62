/**
 * Makes this cluster a member as long as the Interconnect requests it. In: the object. Out: a finalizer first, then a session
 * with the hub and rows in the databases. When the object is deleted, all of these are removed in order before the finalizer.
 * Called once a round.
 */
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { interconnectFinalizer } from '../../lib/api/names.ts';
import { interconnects } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { canonicalName, type Interconnect } from '../model/objects.ts';
import type { Clusters } from '../state/clusters.ts';
import type { ClusterReader } from '../watch/cluster-reader.ts';
import { readSecret } from './identity.ts';
import type { Member } from './member.ts';
import type { Membership } from './membership.ts';
import type { Network } from './network.ts';
import type { OvnProbe } from './ovn-probe.ts';
import type { Progress } from './progress.ts';
import type { Pods } from './pods.ts';
import type { Services } from './services.ts';

export interface LifecycleOptions {
  readonly client: KubeClient;
  /** Of Isthmus: where its Secrets are. */
  readonly namespace: string;
  readonly writer: ObjectWriter;
  readonly signal: AbortSignal;
  readonly log: { info(fields: object, message: string): void };
  readonly reader: Pick<ClusterReader, 'own'>;
  readonly clusters: Pick<Clusters, 'hub'>;
  readonly member: Member;
  readonly membership: Membership;
  readonly network: Pick<Network, 'withdraw'>;
  readonly services: Pick<Services, 'withdraw'>;
  readonly pods: Pick<Pods, 'withdraw'>;
  readonly probe: Pick<OvnProbe, 'start' | 'stop'>;
  readonly progress: Pick<Progress, 'follow' | 'reset'>;
  /** Clusters whose state has changed. */
  readonly onSettled: (clusters: ReadonlySet<string>) => void;
  /** A round is needed though no object changed. */
  readonly onChange: () => void;
}

export class Lifecycle {
  readonly #options: LifecycleOptions;
  #isWithdrawn = false;
  #leaving: { readonly uid: string; readonly run: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  step(object: Interconnect | undefined): void {
    const isOurs = object?.finalizers.includes(interconnectFinalizer) === true;
    // A user removed the finalizer of the object that was being left: leaving must not end the membership that came
    // after it.
    if (this.#leaving?.uid !== object?.uid || !isOurs) this.#leaving?.run.abort();
    if (object === undefined || (object.isDeleting && !isOurs)) this.#endMembership();
    else if (object.isDeleting) this.#leave(object);
    else if (!isOurs) this.#claim(object);
    else if (!('code' in object.spec)) this.#takePart(object.spec);
  }

  /** Resolves when leaving, if it has begun, is over. */
  async ended(): Promise<void> {
    await this.#leaving?.ended;
  }

  #takePart(spec: InterconnectSpec): void {
    const { client, namespace, reader, clusters, member, membership, probe, progress, onSettled } = this.#options;
    const { name, key } = spec.tokenSecretRef;
    this.#isWithdrawn = false;
    probe.start();
    const readToken = () => readSecret(client, namespace, name, key);
    membership.want({ cluster: spec.clusterName, hub: spec.hub, tokenRef: `${name}/${key}`, readToken });
    this.#reportToHub(spec);
    // The hub's view is not meaningful before the hub has answered to the state of this cluster.
    if (!clusters.hub.isComplete) return;
    onSettled(member.apply());
    // Paths that went down or up may be news to the hub.
    this.#reportToHub(spec);
    progress.follow(reader.own?.local, () => clusters.hub.revision === membership.revision);
  }

  #reportToHub(spec: InterconnectSpec): void {
    const { member, membership } = this.#options;
    membership.send(member.observe(spec, membership.state));
    member.announced(membership.revision);
  }

  #endMembership(): void {
    const { membership, member, progress, probe, network, services, pods } = this.#options;
    membership.want(undefined);
    member.reset();
    progress.reset();
    probe.stop();
    if (this.#isWithdrawn) return;
    this.#isWithdrawn = true;
    services.withdraw();
    pods.withdraw();
    void network.withdraw();
  }

  /** The finalizer comes first: a membership must not outlive the object unseen. */
  #claim({ uid, finalizers }: Interconnect): void {
    void this.#setFinalizers(uid, [...finalizers, interconnectFinalizer]);
  }

  #setFinalizers(uid: string, finalizers: readonly string[]): Promise<unknown> {
    const name = canonicalName;
    return this.#options.writer.enqueue(`Interconnect/${name}/finalizers`, () =>
      this.#options.client.patch(interconnects, { name }, 'merge', { metadata: { uid, finalizers } }),
    );
  }

  #leave(object: Interconnect): void {
    if (this.#leaving !== undefined) return;
    const run = new AbortController();
    const ended = this.#leaveInOrder(object, AbortSignal.any([this.#options.signal, run.signal])).finally(() => {
      this.#leaving = undefined;
      // A new object has waited for the end of the membership of the one before.
      if (run.signal.aborted) this.#options.onChange();
    });
    this.#leaving = { uid: object.uid, run, ended };
  }

  async #leaveInOrder({ uid, spec, finalizers }: Interconnect, signal: AbortSignal): Promise<void> {
    this.#endMembership();
    if (!('code' in spec)) {
      await this.#options.network.withdraw(spec.clusterName, signal);
      await this.#options.membership.leave(spec.hub, signal);
    }
    if (signal.aborted) return;
    await this.#setFinalizers(
      uid,
      finalizers.filter((name) => name !== interconnectFinalizer),
    );
    this.#options.log.info({}, 'left');
  }
}
