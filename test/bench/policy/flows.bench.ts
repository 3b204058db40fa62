/** OpenFlow flows that policies cost a node: a profile in which every dimension has ten members, and a network with exceptions. */
import { networkPorts, portMasks } from './port-masks.ts';
import { FlowBed, logicalFlows, type BareRule } from './flow-bed.ts';
import { numbers, type Measurement, type PolicyRow } from './measurement.ts';
import { namespaceCount, namespaceName, policiesOf, type Profile } from './profile.ts';
import type { Policy } from '../../model/network-policies.ts';

const policyCount = 10;
const ten: Profile = {
  localPods: 10,
  singlePorts: 10,
  portRanges: 10,
  podSelectors: 10,
  peerNamespaces: 10,
  peerPods: 10,
  cidrs: 10,
};
const directions = ['ingress', 'egress'] as const;
const families = [4, 6] as const;

const block = {
  cidr: '10.0.0.0/8',
  except: ['10.32.0.0/16', '10.16.7.0/24', '10.200.1.0/24', '10.99.3.7/32'],
} as const;
const blockPorts = [80, 443, 8080] as const;
/** For networks, as the target has it. */
const mostNetworks = 64;

/** Members of the dimensions of a policy in one family: pods that it selects, addresses of its peers, networks, and ports as OpenFlow has them; with the rules. */
function dimensionsOf({ spec }: Policy, family: 4 | 6): readonly number[] {
  const rules = spec.ingress ?? [];
  const peers = rules.flatMap(({ from = [] }) => from);
  const namespaces = new Set(
    peers.flatMap(({ namespaceSelector }) => namespaceSelector?.matchExpressions?.[0]?.values ?? []),
  );
  const networks = family === 4 ? peers.filter(({ ipBlock }) => ipBlock !== undefined).length : 0;
  const masks = portMasks(rules[0]?.ports ?? []);
  return [ten.localPods, namespaces.size * ten.peerPods, networks, masks, ten.podSelectors + networks];
}

/** The flows of policies whose dimensions add. */
function sumOf(all: readonly Policy[]): number {
  return all.reduce((sum, policy) => {
    const members = families.flatMap((family) => dimensionsOf(policy, family));
    return sum + members.reduce((a, b) => a + b) * directions.length * logicalFlows;
  }, 0);
}

/** What a program would write that knows that all rules of a policy have the same ports: one ACL for each policy, direction and family. */
async function mergedRules(bed: FlowBed): Promise<readonly BareRule[]> {
  const addresses = await bed.addresses(numbers(namespaceCount).map(namespaceName));
  const ports = networkPorts(policiesOf(ten, 1)[0]?.spec.ingress?.[0]?.ports ?? []);
  return policiesOf(ten, policyCount).flatMap(({ spec }) => {
    const networks = (spec.ingress ?? []).flatMap(({ from = [] }) =>
      from.flatMap(({ ipBlock }) => ipBlock?.cidr ?? []),
    );
    return directions.flatMap((direction) =>
      families.map((family): BareRule => {
        const isOwn = (text: string): boolean => text.includes(':') === (family === 6);
        const field = `ip${String(family)}.${direction === 'ingress' ? 'src' : 'dst'}`;
        const peers = [...addresses, ...networks].filter(isOwn).join(', ');
        return { direction, match: `ip${String(family)} && ${field} == {${peers}} && (${ports})` };
      }),
    );
  });
}

async function measureProfile(): Promise<PolicyRow> {
  const bed = await FlowBed.open(ten.peerPods);
  try {
    const all = policiesOf(ten, policyCount);
    const isolating = all.map((policy): Policy => ({ ...policy, spec: { ...policy.spec, ingress: [], egress: [] } }));
    const isolated = await bed.withPolicies(isolating);
    const ours = await bed.withPolicies(all);
    return {
      what: `${String(policyCount)} policies of \`k8s-netpol-scale\` 10-10-10-10-10-10-10, each of both directions, pods of two families, those that policies select on one node: its flows for the rules; target: the sum of the dimensions of each policy`,
      unit: 'flows',
      ours: ours - isolated,
      floor: await bed.ofRules(await mergedRules(bed)),
      floorIs: 'bare ACLs, one for all rules of a policy, direction and family, because the rules have the same ports',
      target: sumOf(all),
    };
  } finally {
    await bed.close();
  }
}

async function measureBlock(): Promise<PolicyRow> {
  const bed = await FlowBed.open(1);
  try {
    const policy: Policy = {
      metadata: { namespace: namespaceName(0), name: 'block' },
      spec: {
        podSelector: {},
        policyTypes: ['Ingress'],
        ingress: [{ from: [{ ipBlock: block }], ports: blockPorts.map((port) => ({ port })) }],
      },
    };
    const isolated = await bed.withPolicies([{ ...policy, spec: { ...policy.spec, ingress: [] } }]);
    const ours = await bed.withPolicies([policy]);
    const ports = `tcp.dst == {${blockPorts.join(', ')}}`;
    const whole = await bed.ofRules([{ direction: 'ingress', match: `ip4.src == ${block.cidr} && ${ports}` }]);
    const without = `ip4.src == ${block.cidr} && ip4.src != {${block.except.join(', ')}}`;
    const negated = await bed.ofRules([{ direction: 'ingress', match: `ip4 && ${without} && ${ports}` }]);
    return {
      what: `One pod on a node, ipBlock ${block.cidr} with exceptions /16, /24, /24 and /32, and ${String(blockPorts.length)} ports: flows for the rule (as Kube-OVN writes it, with \`ip4.src !=\`: ${negated.toLocaleString('en')})`,
      unit: 'flows',
      ours: ours - isolated,
      floor: whole,
      floorIs: 'a bare ACL with the same block without its exceptions',
      target: mostNetworks + blockPorts.length,
    };
  } finally {
    await bed.close();
  }
}

async function measure(): Promise<readonly PolicyRow[]> {
  return [await measureProfile(), await measureBlock()];
}

export const measurements: readonly Measurement[] = [{ name: 'flows', measure }];
