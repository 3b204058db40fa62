/**
 * Exports a Service of each cluster, and asks for it from the others, by its address and its name. In: the site of a cluster, a network, pods. Out: checks.
 * Called by test-traffic.
 */
import { conditionsOf } from '../../lib/api/conditions.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import { orAbsent } from '../../lib/kube/errors.ts';
import { fieldsOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import { serviceExports, serviceImports, services } from '../../lib/kube/resources.ts';
import type { TestFlow, TestNetwork, TestPod } from '../model/test-traffic.ts';
import { conditionOf } from '../model/snapshot.ts';
import { exportVerdict } from '../plan/mcs/export-verdict.ts';
import { clusterSetZone } from '../plan/mcs/dns.ts';
import { serviceManifest, serviceNameOf } from '../plan/traffic/manifests.ts';
import { answerOf, connectCommand, connected, lookupCommand, resolved } from '../plan/traffic/probes.ts';
import { checkOf } from '../plan/traffic/verdict.ts';
import type { Check } from '../plan/verify.ts';
import { createExport } from './service-exports.ts';
import { inPod, untilWell } from './test-probe.ts';
import { siteOf, type TestSite, type TrafficTest } from './test-site.ts';
import { waitFor } from './wait.ts';

export async function createServices(
  { client, cluster }: TestSite,
  network: TestNetwork,
  signal: AbortSignal,
): Promise<void> {
  const end = network.ends.find((one) => one.cluster === cluster);
  if (end === undefined) return;
  await client.create(services, serviceManifest(network, end), { signal });
  await createExport(client, { namespace: network.namespace, name: serviceNameOf(end) }, signal);
}

interface Ends {
  readonly from: TestPod;
  readonly to: TestPod;
}

export async function serviceChecks(test: TrafficTest, flow: TestFlow, { from, to }: Ends): Promise<readonly Check[]> {
  const { namespace } = flow.network;
  const name = { namespace, name: serviceNameOf(flow.to) };
  const site = siteOf(test, flow.from.cluster);
  const say = (what: string, isWell: boolean, said: string): Check =>
    checkOf(test.clusters, flow, what, { isWell, said });
  const what = 'TCP by ClusterSetIP';
  const addresses = await untilImported(test, flow, name);
  if (typeof addresses === 'string') return [say(what, false, addresses)];
  const wanted = answerOf(site.run.id, to);
  const checks: Check[] = [];
  for (const address of addresses) {
    const ask = () => inPod(site, from, connectCommand(address), (result) => connected(result, wanted), test.signal);
    const { isWell, said } = await untilWell(ask, test);
    checks.push(say(what, isWell, `${said}: ${from.node} → ${address} of ServiceImport ${namespace}/${name.name}`));
  }
  // Pods of other VPCs reach the DNS of the cluster through a VpcDns only.
  if (flow.from.vpc !== defaultVpc) return checks;
  const domain = `${name.name}.${namespace}.svc.${clusterSetZone}`;
  const lookup = () => inPod(site, from, lookupCommand(domain), (result) => resolved(result, addresses), test.signal);
  const { isWell, said } = await untilWell(lookup, test);
  const guide = isWell ? '' : '; isthmus ic services tells whether CoreDNS serves the zone';
  return [...checks, say('DNS name', isWell, `${domain}: ${said}${guide}`)];
}

/** The addresses of the import, or why there are none. */
async function untilImported(
  test: TrafficTest,
  { from, to }: TestFlow,
  name: { readonly namespace: string; readonly name: string },
): Promise<readonly string[] | string> {
  const { signal, timeoutMs } = test;
  const [here, there] = [siteOf(test, from.cluster).client, siteOf(test, to.cluster).client];
  let missing = '';
  const look = async (): Promise<readonly string[] | string | undefined> => {
    const exported = await orAbsent(there.get(serviceExports, name, { signal }));
    const verdict = exportVerdict(conditionsOf(fieldsOf(exported?.['status'])), exported?.metadata.generation);
    if (verdict?.isExported === false) return `${to.cluster} does not export: ${verdict.code}: ${verdict.message}`;
    const imported = await orAbsent(here.get(serviceImports, name, { signal }));
    const status = fieldsOf(imported?.['status']);
    const ready = conditionOf(conditionsOf(status), 'Ready');
    const why = ready?.status === 'False' ? `: ${ready.reason ?? ''}: ${ready.message ?? ''}` : '';
    missing = `${from.cluster} has no ServiceImport ${name.namespace}/${name.name} of ${to.cluster} with an address${why}`;
    const addresses = textsOf(fieldsOf(imported?.['spec'])['ips']);
    const isOf = recordsOf(status['clusters']).some(({ cluster }) => textOf(cluster) === to.cluster);
    return addresses.length > 0 && isOf && why === '' ? addresses : undefined;
  };
  const { value } = await waitFor(look, { timeoutMs, signal });
  return value ?? `${missing} after ${timeoutMs / 1000} s`;
}
