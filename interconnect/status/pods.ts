/** Writes the RemotePodSlices. In: the entries of each cluster. Out: writes, only where a slice differs, so that a restart writes nothing. */
import type { RemotePod } from '../../lib/api/kinds/remote-pod-slice.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { remotePods } from '../../lib/slices/remote-pods.ts';
import { SliceWriter } from '../../lib/slices/writer.ts';
import type { Pods, PodsState } from '../apply/pods.ts';
import type { Sources } from '../watch/sources.ts';
import { good, unknown, type Verdict } from './conditions.ts';

export interface PodReporterOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly sources: Pick<Sources, 'remotePodSlices' | 'remoteClusters'>;
  readonly pods: Pick<Pods, 'entries'>;
}

export class PodReporter {
  readonly #options: PodReporterOptions;
  readonly #slices: SliceWriter<RemotePod>;

  constructor(options: PodReporterOptions) {
    this.#options = options;
    this.#slices = new SliceWriter(remotePods, options);
    options.sources.remotePodSlices.subscribe(({ before, after }) => this.#slices.seen(before, after));
  }

  /** `isMember`: false removes everything. */
  report(isMember: boolean): void {
    const { sources, pods } = this.#options;
    const owners = new Set(this.#slices.owners);
    if (!isMember) {
      for (const name of owners) this.#slices.remove(name);
      return;
    }
    for (const name of owners) if (sources.remoteClusters.get(name) === undefined) this.#slices.remove(name);
    for (const [name, entries] of pods.entries ?? []) {
      const object = sources.remoteClusters.get(name);
      // Slices belong to an existing object, and a cluster that no policy names needs none.
      if (object === undefined || (entries.length === 0 && !owners.has(name))) continue;
      this.#slices.write({ name, uid: object.uid }, entries);
    }
  }
}

/** What policies know of the pods of a cluster; undefined without policies that name it. */
export function podsVerdict(cluster: string, state: PodsState | undefined): Verdict | undefined {
  if (state === undefined) return undefined;
  const { wanted, pending, refusals, since, isUnsupported } = state;
  const type = 'PolicyPods';
  const of = (count: number): string => `${count} of ${wanted} selectors of policies`;
  const not = (reason: string, message: string): Verdict => ({ type, status: 'False', reason, message });
  if (isUnsupported) {
    const message = `${cluster} is of a release that sends no pods: the addresses are those that an earlier one sent; upgrade Isthmus there`;
    return unknown(type, 'Unsupported', message);
  }
  const refused = [...refusals].map(([reason, count]) => `${of(count)}: ${reason}`);
  if (refused.length > 0)
    return not('NotSent', `${cluster} does not send the addresses of all pods: ${refused.join('; ')}`);
  if (pending > 0)
    return not('Pending', `${cluster} has not sent the addresses for ${of(pending)} yet: they match none of its pods`);
  if (since !== undefined)
    return unknown(type, 'Away', `the addresses of ${cluster} are those of ${since}, when it was seen last`);
  return good(type, 'Current', `selectors of policies: ${wanted}, and the addresses for all of them are known`);
}
