/**
 * `make test-policy-conformance`: the conformance tests of the Network Policy API, run in a cluster of machines where Isthmus was installed by
 * `helm install`. In: LAB and TOPOLOGY from the environment, FOCUS and SKIP as regular expressions of names of tests. Those with a part about SCTP are left
 * out where the machine has no module for it. Ends with the exit code of the tests; leaves the lab up.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { User } from '../../cluster/user.ts';
import { interruptible } from '../../lab/interrupt.ts';
import { type ClusterLayout, labName } from '../../lab/layout.ts';
import { openLab } from '../../lab/lib/lab.ts';
import { upFromEnvironment } from '../../lab/main.ts';
import { inNetns, run } from '../../lab/run.ts';
import { tool } from '../../lab/tools.ts';
import { giveImages, install, kubeconfigInside, routeToPods } from '../suite-lab.ts';

const api = 'sigs.k8s.io/network-policy-api';
const features = ['ClusterNetworkPolicy', 'ClusterNetworkPolicyNamedPorts', 'ClusterNetworkPolicyEgressNodePeers'];

async function judge(): Promise<void> {
  await upFromEnvironment();
  const user = new User(openLab());
  for (const cluster of user.lab.layout.clusters) {
    await install(user, cluster.name, []);
    await Promise.all([
      giveImages(cluster, [
        ['agnhost', ['registry.k8s.io/e2e-test-images/agnhost:2.45', 'registry.k8s.io/pause:3.10']],
      ]),
      routeToPods(cluster),
    ]);
    // The controller is running: the kinds appear while it does.
    for (const path of await definitions())
      await user.lab.kubectl(cluster.name, ['apply', '--server-side', '-f', path]);
    runTests(cluster);
  }
}

/** The CustomResourceDefinitions of the pinned module, with its experimental fields. */
async function definitions(): Promise<readonly string[]> {
  const module = await run(['go', '-C', import.meta.dirname, 'list', '-m', '-f', '{{.Dir}}', api]);
  const folder = join(module.trim(), 'config/crd/experimental');
  return readdirSync(folder)
    .filter((name) => name.startsWith('policy.networking.k8s.io_'))
    .map((name) => join(folder, name));
}

/** Tests of which a part is about SCTP; the other parts are in tests of TCP and UDP, or of other peers. */
const withSctp = ['SCTP', 'TierGress', 'TierEgressInlineCIDRPeers', 'TierEgressNodePeers/deny'];

function runTests(cluster: ClusterLayout): void {
  const { FOCUS, SKIP } = process.env;
  const isSctp = existsSync('/proc/net/sctp');
  if (!isSctp) console.log(`left out: ${withSctp.join(', ')}: this machine has no module for SCTP`);
  const skipped = [...(SKIP ? [SKIP] : []), ...(isSctp ? [] : withSctp)].map((name) => `^TestConformance$/${name}`);
  const flags = ['-test.v', `-test.run=^TestConformance$/${FOCUS ?? ''}`, '-test.timeout=2h'];
  if (skipped.length > 0) flags.push(`-test.skip=${skipped.join('|')}`);
  const argv = [tool('policy.test'), ...flags, `-supported-features=${features.join(',')}`];
  const [command = '', ...args] = inNetns(cluster.netns, argv);
  const env = { ...process.env, KUBECONFIG: kubeconfigInside(cluster) };
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', env });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`the tests ended with ${status}`);
}

if (import.meta.main)
  interruptible(labName(), judge).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
