/** A cluster that reports its dirty keys, wired as in `main.ts`; used by tests only. */
import { DirtyKeys } from './plan/dirty-keys.ts';
import type { Capabilities } from './model/view.ts';
import { Cluster } from './settle/cluster.ts';

export class TestCluster extends Cluster {
  readonly dirty = new DirtyKeys(this);

  constructor(capabilities?: Capabilities) {
    super(capabilities);
    this.domains.setServers(['192.0.2.53:53']);
    this.onChange((change) => this.dirty.changed(change));
  }

  override settle(): ReadonlySet<string> {
    super.settle();
    return this.dirty.take();
  }
}
