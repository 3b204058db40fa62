/** The gateways of both sides, the port of tunnels and the MTU, as far as that is known before a cluster joins. Pure. */
import type { JoinQuestion, Surveyed } from '../../model/join-question.ts';
import { specOf } from '../../model/snapshot.ts';
import { notSeen, outcome, type Outcome } from '../check/outcome.ts';
import { cause } from '../diagnose/step.ts';

const tunnelPort = 6081;
const gatewayLabel = 'ovn.kubernetes.io/ic-gw';

function gatewaysOf({ snapshot }: Surveyed): readonly { readonly name: string; readonly address: string }[] {
  const selector = specOf(snapshot)?.gatewayNodeSelector.matchLabels ?? { [gatewayLabel]: 'true' };
  return snapshot.nodes
    .filter(({ labels }) => Object.entries(selector).every(([key, value]) => labels[key] === value))
    .map(({ name, addresses }) => ({ name, address: addresses[0] ?? '' }));
}

export function judgeGateways({ near }: JoinQuestion): Outcome {
  const { snapshot } = near;
  if (snapshot.unreadable.some(({ what }) => what === 'nodes')) return notSeen('Nodes');
  const gateways = gatewaysOf(near);
  const evidence = gateways.map(({ name, address }) => (address === '' ? name : `${name} (${address})`)).join(', ');
  const fix = `kubectl label node NODE ${gatewayLabel}=true`;
  if (gateways.length === 0)
    return outcome('', { problems: [cause('NoGateway', `no node of ${snapshot.label} is a gateway`, fix)] });
  if (gateways.length > 1) return outcome(evidence);
  const message = `${evidence} is the only gateway of ${snapshot.label}: other clusters lose it with that node`;
  return outcome(evidence, { warnings: [cause('OneGateway', message, fix)] });
}

/** The same address on both sides cannot be the end of a tunnel. */
export function judgeTunnels({ near, far }: JoinQuestion): Outcome {
  const holders = (near.facts.portHolders ?? []).filter(
    ({ isOurs, ports }) => !isOurs && ports.some(({ protocol, port }) => protocol === 'UDP' && port === tunnelPort),
  );
  const nodes = new Set(gatewaysOf(near).map(({ name }) => name));
  const problems = holders
    .filter(({ node }) => nodes.has(node))
    .map(({ namespace, name, node }) =>
      cause(
        'PortTaken',
        `pod ${namespace}/${name} holds udp port ${tunnelPort} of gateway ${node}: Geneve tunnels need it`,
        'move the pod to another node, or choose other gateways',
      ),
    );
  if (far === undefined)
    return problems.length > 0 ? outcome('', { problems }) : notSeen('the gateways of members (--peer-context)');
  const theirs = gatewaysOf(far);
  const shared = gatewaysOf(near).filter(
    ({ address }) => address !== '' && theirs.some((one) => one.address === address),
  );
  const same = shared.map(({ name, address }) =>
    cause(
      'SameAddress',
      `gateway ${name} has the address ${address}, which a gateway of ${far.snapshot.label} has too: there is no tunnel between them`,
      'give the nodes of both clusters different addresses that reach each other',
    ),
  );
  const reach = theirs.map(({ address, name }) => (address === '' ? name : address)).join(', ');
  const found = { problems: [...problems, ...same] };
  if (found.problems.length > 0) return outcome('', found);
  const evidence = `not tested: allow udp port ${tunnelPort} and ICMP echo between the gateways here and ${reach === '' ? 'those of the members' : reach}`;
  return { state: 'unknown', evidence, problems: [], warnings: [] };
}

/** What gateways of both sides want to pass without fragmentation; a cluster that has never joined does not say. */
export function judgeMtu({ near, far }: JoinQuestion): Outcome {
  const [ours, theirs] = [near, far].map((side) => {
    const wanted = (side?.snapshot.gateways ?? []).flatMap(({ status }) => status.wantedMTU ?? []);
    return wanted.length === 0 ? specMtu(side) : Math.max(...wanted);
  });
  if (ours === undefined || theirs === undefined) return notSeen('the MTU between gateways of both clusters');
  if (ours === theirs) return outcome(`both sides need paths that carry ${ours} bytes`);
  const message = `packets of ${ours} bytes are sent here, of ${theirs} there: the path has to carry the larger`;
  return outcome(`${ours} and ${theirs}`, {
    warnings: [cause('MtuDiffers', message, 'make sure that the network between the gateways carries it')],
  });
}

function specMtu(side: Surveyed | undefined): number | undefined {
  const mtu = side === undefined ? undefined : specOf(side.snapshot)?.mtu;
  return mtu === undefined || mtu === 0 ? undefined : mtu;
}
