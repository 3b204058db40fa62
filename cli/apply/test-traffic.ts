/**
 * Runs the test of `ic verify --pods`: pods in all clusters, packets between them, and the removal of everything, also after an error or Ctrl-C. In: the
 * clusters, a plan. Out: checks. Rule: what this run made is deleted by it; what an earlier run left is named and deleted first.
 */
import { isKubeError } from '../../lib/kube/errors.ts';
import { familyOf } from '../../lib/net/ip.ts';
import { CommandFailed } from '../command/failure.ts';
import type { Probed, TestFlow, TestNetwork, TestPod, TestRole } from '../model/test-traffic.ts';
import { flowsOf } from '../plan/traffic/networks.ts';
import { answerOf, connectCommand, connected, pingCommand, pinged, wayOf } from '../plan/traffic/probes.ts';
import { checkOf, withheld } from '../plan/traffic/verdict.ts';
import type { Check } from '../plan/verify.ts';
import { inPod, untilWell } from './test-probe.ts';
import { createPods, leftoversIn, removeNamespace, untilRunning } from './test-pods.ts';
import { createServices, serviceChecks } from './test-services.ts';
import { siteOf, type TestSite, type TrafficTest } from './test-site.ts';

/** Enough for a cluster that is slow to end its Namespaces, and no longer than a person waits after Ctrl-C. */
const removalMs = 30_000;
/** Probes at the same time: each is a connection to an API server and a process in a pod. */
const mostAtOnce = 8;

/** @throws KubeApiError, KubeUnreachable, CommandFailed, or the signal's reason; everything is removed before */
export async function testTraffic(test: TrafficTest): Promise<readonly Check[]> {
  await removeLeftovers(test);
  let checks: readonly Check[] = [];
  let removal: readonly Check[] = [];
  try {
    checks = await withPods(test);
  } finally {
    removal = await removeAll(test);
  }
  return [...test.plan.problems, ...checks, ...removal];
}

async function removeLeftovers({ sites, note, signal }: TrafficTest): Promise<void> {
  await all(sites, async (site) => {
    for (const name of await leftoversIn(site, signal)) {
      note(`${site.cluster}: an earlier run left the Namespace ${name}: deleting it …\n`);
      if (await removeNamespace(site, name, { timeoutMs: removalMs, signal })) continue;
      const message = `the Namespace ${name} that an earlier run left in ${site.cluster} does not end: kubectl get namespace ${name} -o yaml`;
      throw new CommandFailed({ code: 'LeftOver', message });
    }
  });
}

/** Uses its own signal, so that everything is deleted after Ctrl-C too. What cannot be deleted is reported, and does not hide an error before. */
async function removeAll({ sites, plan, note }: TrafficTest): Promise<readonly Check[]> {
  const signal = AbortSignal.timeout(2 * removalMs);
  const left = await all(sites, async (site): Promise<readonly Check[]> => {
    const own = plan.networks.filter(({ ends }) => ends.some(({ cluster }) => cluster === site.cluster));
    return await all(own, async ({ namespace }): Promise<readonly Check[]> => {
      const why = await whyNotRemoved(site, namespace, signal);
      if (why === undefined) return [];
      const evidence = `the Namespace ${namespace} is left: ${why}; the next run deletes it`;
      note(`${site.cluster}: ${evidence}\n`);
      return [{ cluster: site.cluster, name: 'removal of the test pods', isWell: false, evidence }];
    }).then((found) => found.flat());
  });
  return left.flat();
}

async function whyNotRemoved(site: TestSite, namespace: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const isGone = await removeNamespace(site, namespace, { timeoutMs: removalMs, signal, runId: site.run.id });
    return isGone ? undefined : 'it has not ended yet';
  } catch (error) {
    if (!isKubeError(error) && !signal.aborted) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

async function withPods(test: TrafficTest): Promise<readonly Check[]> {
  const { sites, plan, signal, note, timeoutMs } = test;
  if (plan.networks.length === 0) return [];
  note(`creating test pods in ${plan.networks.map(({ namespace }) => namespace).join(', ')} …\n`);
  const perNetwork = await all(plan.networks, async (network) => {
    const taking = sites.filter(({ cluster }) => network.ends.some((end) => end.cluster === cluster));
    await all(taking, (site) => createPods(site, network, signal));
    if (test.withServices) await all(taking, (site) => createServices(site, network, signal));
    const running = await all(taking, (site) => untilRunning(site, network, { timeoutMs, signal }));
    const failures = running.flatMap((one) => one.failures);
    const tried = await tryFlows(
      test,
      network,
      running.flatMap((one) => one.pods),
    );
    return [
      ...failures.map(({ cluster, role, why }) => ({
        cluster,
        name: `test pod ${role} on ${network.transitSwitch}`,
        isWell: false,
        evidence: why,
      })),
      ...tried,
    ];
  });
  return perNetwork.flat();
}

async function tryFlows(test: TrafficTest, network: TestNetwork, pods: readonly TestPod[]): Promise<readonly Check[]> {
  const podOf = (cluster: string, role: TestRole): TestPod | undefined =>
    pods.find((pod) => pod.cluster === cluster && pod.name === role);
  const tasks = flowsOf(network).flatMap((flow): (() => Promise<readonly Check[]>)[] => {
    const [from, to] = [podOf(flow.from.cluster, 'client'), podOf(flow.to.cluster, 'server')];
    // Their absence is a check of its own.
    if (from === undefined || to === undefined) return [];
    const why = withheld(test.clusters, flow);
    if (why !== undefined)
      return [
        () => Promise.resolve([checkOf(test.clusters, flow, 'packets', { isWell: true, said: `not tried: ${why}` })]),
      ];
    const shared = to.addresses.filter((one) => from.addresses.some((own) => familyOf(own) === familyOf(one)));
    return [
      ...shared.map((address) => () => probe(test, flow, { from, to, address })),
      ...(test.withServices ? [() => serviceChecks(test, flow, { from, to })] : []),
    ];
  });
  return (await inTurn(tasks)).flat();
}

interface Way {
  readonly from: TestPod;
  readonly to: TestPod;
  readonly address: string;
}

async function probe(test: TrafficTest, flow: TestFlow, { from, to, address }: Way): Promise<readonly Check[]> {
  const site = siteOf(test, flow.from.cluster);
  const wanted = answerOf(site.run.id, to);
  const family = `IPv${String(familyOf(address))}`;
  const tries = [
    [`ping (${family})`, () => inPod(site, from, pingCommand(address), pinged, test.signal)],
    [
      `TCP (${family})`,
      () => inPod(site, from, connectCommand(address), (result) => connected(result, wanted), test.signal),
    ],
  ] as const;
  const checks: Check[] = [];
  for (const [what, once] of tries) {
    const { isWell, said } = await untilWell(once, test);
    checks.push(
      checkOf(test.clusters, flow, what, { isWell, said: `${said}: ${wayOf(from, to, address)}` } satisfies Probed),
    );
  }
  return checks;
}

/** Waits for all before it throws the first error, so that nothing is made any more when the removal begins. */
async function all<T, R>(items: readonly T[], each: (item: T) => Promise<R>): Promise<readonly R[]> {
  const settled = await Promise.allSettled(items.map(each));
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}

async function inTurn<R>(tasks: readonly (() => Promise<R>)[]): Promise<readonly R[]> {
  const results: R[] = [];
  const waiting = [...tasks.entries()];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, task] = next;
      results[at] = await task();
    }
  };
  await all(Array.from({ length: mostAtOnce }), worker);
  return results;
}
