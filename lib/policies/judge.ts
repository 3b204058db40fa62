/**
 * What NetworkPolicies say about one connection, rule by rule, for explanations. In: policies, the two ends, and a port. Out: for each end, the policies that
 * isolate it and which of their rules the connection satisfies. Pure. The rows of the controller follow the same rules.
 */
import { matchesSelector } from '../api/label-selector.ts';
import { blocksContain, hasTooManyNetworks, tooManyNetworks } from './block.ts';
import { tooManyNumbers, type PortNumbers } from './numbers.ts';
import type { NamedPort, PodPeer, PolicyPort, PolicyProtocol, PolicyRule, PolicyRules } from './policy.ts';
import { namesCluster, remotePeerOf } from './remote-peers.ts';
import {
  type LabelledPod,
  namedPortKey,
  peerId,
  peerSelector,
  podPeers,
  policyLabels,
  selectorWithin,
  type PolicyDirection,
} from './selection.ts';

/** A pod with an interface in a VPC. */
export interface PolicyPod extends LabelledPod {
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly vpc: string;
  /** Provider of the interface. */
  readonly provider: string;
  readonly namedPorts: readonly NamedPort[];
}

/** That an address is in a set of another cluster's pods, in a VPC. */
export interface RemoteMember {
  readonly cluster: string;
  readonly set: string;
  readonly vpc: string;
}

export interface PolicyEnd {
  /** Undefined for a host that is no pod, or has the network of its node. */
  readonly pod: PolicyPod | undefined;
  readonly address: string;
  /** The sets of other clusters' pods that have its address. */
  readonly remote?: readonly RemoteMember[];
}

export interface PolicyConnection {
  readonly from: PolicyEnd;
  readonly to: PolicyEnd;
  /** Undefined: any port. */
  readonly port: { readonly protocol: PolicyProtocol; readonly number: number } | undefined;
}

export interface JudgedRule {
  /** `spec.ingress[0]`. */
  readonly field: string;
  /** Whether the rule names the other end. */
  readonly isPeer: boolean;
  /** Whether the rule contains the port; without a port, whether it contains all. */
  readonly isPort: boolean;
  /** Undefined for all sources or destinations. */
  readonly peers: PolicyRule['peers'];
  readonly ports: readonly PolicyPort[] | undefined;
  /** The ports of the destination that have names, as far as the rule reaches them. */
  readonly namedPorts: readonly NamedPort[];
  /** What of the rule is not in force, or makes it stricter than it is written. */
  readonly flaw: string | undefined;
}

export interface JudgedPolicy {
  /** `namespace/name`. */
  readonly name: string;
  readonly rules: readonly JudgedRule[];
}

/** A rule, where it is, and the connection that it is asked about. */
export interface RuleQuestion {
  /** Of the policy; empty for one of the whole cluster. */
  readonly namespace: string;
  readonly rule: PolicyRule;
  /** Place of the rule in its list. */
  readonly index: number;
  readonly direction: PolicyDirection;
  /** The pod that the policy selects. */
  readonly self: PolicyPod;
  readonly connection: PolicyConnection;
  readonly numbers: PortNumbers;
}

/** Whether a selector of the rule names the pod; without peers, each pod of the VPC. */
function isPodPeer({ namespace, rule, self }: RuleQuestion, { pod, remote = [] }: PolicyEnd): boolean {
  const members = remote.filter(({ vpc }) => vpc === self.vpc);
  if (members.length > 0 && podPeers(rule).some((peer) => isRemotePeer(namespace, peer, members))) return true;
  if (pod?.vpc !== self.vpc) return false;
  const labels = policyLabels(pod, pod.namespaceLabels);
  return podPeers(rule).some((peer) => matchesSelector(peerSelector(namespace, peer), labels));
}

function isRemotePeer(namespace: string, peer: PodPeer, members: readonly RemoteMember[]): boolean {
  const asked = remotePeerOf(peerId(namespace, peer));
  return asked !== undefined && members.some(({ cluster, set }) => set === asked.set && namesCluster(asked, cluster));
}

function isPort({ ports }: PolicyRule, { port }: PolicyConnection, named: readonly NamedPort[]): boolean {
  if (ports === undefined) return true;
  if (port === undefined) return false;
  const { protocol, number } = port;
  return ports.some((one) => {
    if (one.protocol !== protocol) return false;
    if (one.port === undefined) return true;
    if (typeof one.port === 'number') return one.port <= number && number <= (one.endPort ?? one.port);
    return named.some((own) => own.name === one.port && own.protocol === protocol && own.number === number);
  });
}

/** The end that a direction judges: the destination for ingress. */
export function endsOf(
  direction: PolicyDirection,
  { from, to }: PolicyConnection,
): { readonly self: PolicyEnd; readonly other: PolicyEnd } {
  return direction === 'ingress' ? { self: to, other: from } : { self: from, other: to };
}

export function judgeRule(question: RuleQuestion): JudgedRule {
  const { namespace, rule, index, direction, self, connection, numbers } = question;
  const { peers, ports } = rule;
  const destinations = direction === 'egress' || namespace === '' ? undefined : namespace;
  const { other } = endsOf(direction, connection);
  const isPod = isPodPeer(question, other);
  // An address of a block is not known as a pod, so that its ports have no names.
  const ofOther = isPod ? (other.pod?.namedPorts ?? []) : [];
  const namedPorts = (direction === 'ingress' ? self.namedPorts : ofOther).filter(({ protocol, name, number }) =>
    numbers.hasNumber(namedPortKey(destinations, protocol, name), number),
  );
  const isAddress = peers === undefined || blocksContain(peers.blocks, other.address);
  return {
    field: `spec.${direction}[${index}]`,
    isPeer: isAddress || isPod,
    isPort: isPort(rule, connection, namedPorts),
    peers,
    ports,
    namedPorts,
    flaw: hasTooManyNetworks(peers?.blocks) ? tooManyNetworks : tooManyNumbers(numbers, rule, destinations),
  };
}

/** The policies that isolate the end of this direction, sorted by name; none if it is open. */
export function judge(
  policies: ReadonlyMap<string, PolicyRules>,
  direction: PolicyDirection,
  connection: PolicyConnection,
  numbers: PortNumbers,
): readonly JudgedPolicy[] {
  const { pod: self } = endsOf(direction, connection).self;
  if (self === undefined) return [];
  const labels = policyLabels(self, self.namespaceLabels);
  const judged: JudgedPolicy[] = [];
  for (const [name, policy] of policies) {
    const { namespace, pods, providers, [direction]: rules } = policy;
    if (rules === undefined || !matchesSelector(selectorWithin(namespace, pods), labels)) continue;
    if (providers !== undefined && !providers.includes(self.provider)) continue;
    const questions = rules.map((rule, index) => ({ namespace, rule, index, direction, self, connection, numbers }));
    judged.push({ name, rules: questions.map(judgeRule) });
  }
  return judged.sort((a, b) => (a.name < b.name ? -1 : 1));
}
