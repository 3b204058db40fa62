/** Checks the networks of the installation: they must be large enough and must not overlap each other or networks that the cluster uses. Pure. */
import {
  cidrContains,
  cidrSize,
  cidrsOverlap,
  formatCidr,
  hasHostBits,
  parseCidr,
  type Cidr,
} from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { specialUse } from '../../../lib/net/special-use.ts';
import { isMember, networksOf, type ChartValues } from '../../model/chart-values.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import { few, notSeen, outcome, type Outcome, type Question } from './outcome.ts';
import { ownMachines } from './selected.ts';

interface Named {
  /** Name of the chart's value. */
  readonly value: string;
  readonly text: string;
  readonly cidr: Cidr;
}

function named(values: ChartValues): readonly Named[] {
  const { networking, hub } = values;
  const all = [
    ['networking.podCIDR', networking.podCIDR],
    ['networking.joinCIDR', networking.joinCIDR],
    // A member uses the hub's transit network: the default is the best guess here.
    ...(hub.enabled || isMember(values) ? [['hub.transitCIDR', hub.transitCIDR]] : []),
  ] as const;
  return all.flatMap(([value = '', texts = '']) =>
    texts.split(',').flatMap((text) => {
      const cidr = parseCidr(text);
      return cidr === undefined ? [] : [{ value, text, cidr }];
    }),
  );
}

/** Checks the networks by themselves, as helm would install them. */
export function judgeNetworks({ values }: Question): Outcome {
  const own = named(values);
  const problems = own.flatMap(({ value, text, cidr }) => {
    const use = specialUse(cidr);
    return use === undefined
      ? []
      : [cause('NetworkNotUsable', `${value} ${text} is for ${use}, not for a network`, 'choose a private network')];
  });
  const overlaps = own.flatMap((a, at) =>
    own
      .slice(at + 1)
      .flatMap((b) =>
        a.value !== b.value && cidrsOverlap(a.cidr, b.cidr)
          ? [
              cause(
                'NetworksOverlap',
                `${a.value} ${a.text} and ${b.value} ${b.text} overlap`,
                `choose another ${b.value} (--set ${b.value}=…)`,
              ),
            ]
          : [],
      ),
  );
  const loose = own.flatMap(({ value, text, cidr }) =>
    hasHostBits(text)
      ? [
          cause(
            'NetworkHasHostBits',
            `${value} ${text} is an address within ${formatCidr(cidr)}`,
            `write ${formatCidr(cidr)}`,
          ),
        ]
      : [],
  );
  const evidence = own.map(({ value, text }) => `${value.slice(value.indexOf('.') + 1)} ${text}`).join(', ');
  return outcome(evidence, { problems: [...problems, ...overlaps, ...joinFamilies(values)], warnings: loose });
}

/** Through the join subnet, nodes reach pods, and pods reach external networks. */
function joinFamilies({ networking }: ChartValues): readonly Cause[] {
  const joined = new Set(networksOf(networking.joinCIDR).map(({ family }) => family));
  return networksOf(networking.podCIDR).flatMap(({ family }) => {
    if (joined.has(family)) return [];
    const message = `networking.podCIDR has IPv${family} and networking.joinCIDR ${networking.joinCIDR} has not: nodes do not reach pods by IPv${family}, nor pods the world`;
    const example = family === 4 ? '100.64.0.0/16' : 'fd00:100:64::/112';
    return [cause('JoinFamilyMissing', message, `add one to networking.joinCIDR, such as ${example}`)];
  });
}

export function judgeServiceRange({ facts, values }: Question): Outcome {
  const { serviceRanges, serviceAddresses } = facts;
  if (serviceRanges === undefined || serviceAddresses === undefined) return notSeen('Services');
  const own = named(values);
  const { cidrs, isKnown } = serviceRanges;
  const ranges = own.flatMap(({ value, text, cidr }) =>
    cidrs.flatMap((range) => {
      const other = parseCidr(range);
      if (other === undefined || !cidrsOverlap(cidr, other)) return [];
      const message = `${value} ${text} overlaps ${range}, the cluster's range of Service addresses`;
      return [cause('ServiceRangeOverlaps', message, `choose another ${value} (--set ${value}=…)`)];
    }),
  );
  const addresses = own.flatMap(({ value, text, cidr }) => {
    const inside = serviceAddresses.filter(({ address }) => {
      const ip = parseIp(address);
      return ip !== undefined && cidrContains(cidr, ip);
    });
    if (inside.length === 0) return [];
    const names = few(
      inside.map(({ service, address }) => `${service} (${address})`),
      3,
    );
    const message = `addresses of Services lie in ${value} ${text}: ${names}`;
    return [cause('ServiceRangeOverlaps', message, `choose another ${value} (--set ${value}=…)`)];
  });
  if (isKnown) return outcome(cidrs.join(', '), { problems: ranges });
  const message = `this cluster has no ServiceCIDR objects (Kubernetes 1.33), so its range of Service addresses is not known; the addresses of ${serviceAddresses.length} Services were compared instead`;
  const fix = `compare ${own.map(({ text }) => text).join(', ')} with --service-cluster-ip-range of kube-apiserver`;
  return outcome('', { problems: addresses, warnings: [cause('ServiceRangeUnknown', message, fix)] });
}

/** Checks addresses of machines: pods cannot reach a machine whose address is in a network of Isthmus. */
export function judgeMachineAddresses({ facts, values }: Question): Outcome {
  const { machines, serverAddresses } = facts;
  if (machines === undefined || serverAddresses === undefined) return notSeen('Nodes or addresses of the API server');
  const holders = [
    ...machines.flatMap(({ name, addresses }) => addresses.map((address) => ({ who: `node ${name}`, address }))),
    ...serverAddresses.map((address) => ({ who: 'the API server', address })),
  ];
  const problems = named(values).flatMap(({ value, text, cidr }) => {
    const inside = holders.filter(({ address }) => {
      const ip = parseIp(address);
      return ip !== undefined && cidrContains(cidr, ip);
    });
    if (inside.length === 0) return [];
    const names = few(
      inside.map(({ who, address }) => `${who} (${address})`),
      3,
    );
    const message = `machines have addresses in ${value} ${text}: ${names}; pods would look for them in the pod network`;
    return [cause('MachineInNetwork', message, `choose another ${value} (--set ${value}=…)`)];
  });
  return outcome(`${new Set(holders.map(({ address }) => address)).size} addresses, none of them in these networks`, {
    problems,
  });
}

/** Checks that there are enough addresses for the maximum number of pods of the kubelets, and one join address per node. */
export function judgeSizes(question: Question): Outcome {
  const machines = ownMachines(question);
  if (machines === undefined) return notSeen('Nodes');
  const { networking } = question.values;
  const pods = machines.reduce((sum, { maxPods = 0 }) => sum + maxPods, 0);
  const withoutLimit = machines.filter(({ maxPods }) => maxPods === undefined).length;
  const small = networksOf(networking.podCIDR).flatMap((cidr) => {
    const size = usable(cidr);
    if (size >= BigInt(pods)) return [];
    const message = `networking.podCIDR ${formatCidr(cidr)} has ${size} addresses for pods; the kubelets of ${machines.length} nodes take ${pods}`;
    return [
      cause('PodNetworkSmall', message, 'choose a wider network: it is read once, when the Subnet ovn-default is made'),
    ];
  });
  const tight = networksOf(networking.joinCIDR).flatMap((cidr) => {
    const size = usable(cidr);
    if (size >= BigInt(machines.length)) return [];
    const message = `networking.joinCIDR ${formatCidr(cidr)} has ${size} addresses; there are ${machines.length} nodes, each of which needs one`;
    return [cause('JoinNetworkSmall', message, 'choose a wider network')];
  });
  const note = withoutLimit === 0 ? '' : ` (${withoutLimit} nodes do not report their limit)`;
  return outcome(`room for ${pods} pods on ${machines.length} nodes${note}`, { problems: tight, warnings: small });
}

/** Number of addresses without network address, broadcast address and gateway. */
function usable(cidr: Cidr): bigint {
  const left = cidrSize(cidr) - 3n;
  return left < 0n ? 0n : left;
}

export function judgeNodePodCidrs(question: Question): Outcome | undefined {
  const machines = ownMachines(question)?.filter(({ podCidrs }) => podCidrs.length > 0) ?? [];
  if (machines.length === 0) return undefined;
  const message = `kube-controller-manager gives nodes networks of their own (${few(
    machines.map(({ name, podCidrs }) => `${name} ${podCidrs.join(' ')}`),
    3,
  )}); Isthmus uses networking.podCIDR on all nodes and not these`;
  const fix = 'nothing to do; --allocate-node-cidrs=false there disables it';
  return outcome('', { warnings: [cause('NodePodCidrsUnused', message, fix)] });
}
