/** What the test pods show, as checks with their causes. In: the clusters, results of probes. Out: checks. Pure. */
import type { Probed, TestEnd, TestFlow } from '../../model/test-traffic.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { diagnose } from '../diagnose/diagnose.ts';
import { useOf, type Check } from '../verify.ts';

const mostCauses = 2;
/** Of the message of one cause, in characters; `isthmus ic diagnose` has all of it. */
const mostText = 160;

type Clusters = readonly Snapshot[];

/** The RoutePolicy that keeps two ends from reaching each other; undefined if packets are to pass. */
export function withheld(clusters: Clusters, { from, to }: TestFlow): string | undefined {
  return usesOf(clusters, from, to).find(({ isWithheld }) => isWithheld)?.evidence;
}

export function flowName({ network, to }: TestFlow, what: string): string {
  const [own] = network.ends;
  const isOneVpc = network.ends.every(({ vpc }) => vpc === own?.vpc);
  return `${what} to ${to.cluster} in ${isOneVpc ? (own?.vpc ?? '') : `${to.vpc} (${network.transitSwitch})`}`;
}

/** A failed probe gets the causes that the diagnosis of the two clusters has. */
export function checkOf(clusters: Clusters, flow: TestFlow, what: string, { isWell, said }: Probed): Check {
  const check = { cluster: flow.from.cluster, name: flowName(flow, what), isWell };
  if (isWell) return { ...check, evidence: said };
  return { ...check, evidence: `${said}; ${causesOf(clusters, flow)}` };
}

function causesOf(clusters: Clusters, { from, to }: TestFlow): string {
  const [near, far] = [from, to].map(({ cluster }) => clusters.find(({ label }) => label === cluster));
  if (near === undefined || far === undefined) return 'no cause is known';
  const unused = usesOf(clusters, from, to).filter(({ isWell }) => !isWell);
  const found = diagnose({ near, far, peer: far.label }).causes;
  const causes = [
    ...found.map(
      ({ code, cluster, message }) =>
        `${code} (${cluster}): ${message.length > mostText ? `${message.slice(0, mostText)}…` : message}`,
    ),
    ...unused.map(({ evidence }) => evidence),
  ].slice(0, mostCauses);
  if (causes.length > 0) return causes.join('; ');
  return `isthmus ic diagnose ${far.label} finds no fault of the network between them: see policies in both clusters (isthmus policy why) and the MTU of the underlay`;
}

/** The prefixes of the pods of both ends, as the other end uses them. */
function usesOf(clusters: Clusters, from: TestEnd, to: TestEnd) {
  return [[from, to] as const, [to, from] as const].flatMap(([end, other]) => {
    const near = clusters.find(({ label }) => label === end.cluster);
    const far = clusters.find(({ label }) => label === other.cluster);
    const subnet = near?.subnets.find(({ name }) => name === end.subnet);
    if (near === undefined || far === undefined || subnet === undefined) return [];
    return subnet.cidrs.map((cidr) => {
      const use = useOf({ near, far, subnet, cidr });
      return { ...use, evidence: `Subnet ${subnet.name} of ${near.label} is ${use.evidence}` };
    });
  });
}
