/**
 * The lab's own process, one per lab: it starts Isthmus's processes again when they end, and runs the pods of every
 * cluster. It may be killed at any time: all it knows is in files and in the API, and the next one resumes.
 */
import { openAdmin } from '../control-plane.ts';
import { runRoom } from '../../../lib/run/room.ts';
import { openLayout } from '../layout.ts';
import { keepNodeTokens } from './node-tokens.ts';
import { PodRuntime } from './runtime.ts';
import { supervise } from './supervise.ts';

runRoom('labd', async (signal, log) => {
  const lab = openLayout(process.argv[2] ?? '');
  const runtimes = lab.clusters.map((cluster) => {
    const kube = openAdmin(cluster, 'labd');
    const common = { cluster, kube, log: log.child({ cluster: cluster.name }) };
    keepNodeTokens({ ...common, signal });
    return new PodRuntime({ lab, ...common });
  });
  await Promise.all([supervise(lab, log, signal), ...runtimes.map((runtime) => runtime.start(signal))]);
});
