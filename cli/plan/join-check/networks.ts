/** The networks of the cluster that is to join against those of the members. Pure. */
import { cidrContains, cidrCovers, cidrsOverlap, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { interconnectSpec } from '../../../lib/api/kinds/interconnect.ts';
import type { JoinQuestion, Surveyed } from '../../model/join-question.ts';
import { specOf } from '../../model/snapshot.ts';
import { plural } from '../../model/units.ts';
import { few, notSeen, outcome, type Outcome } from '../check/outcome.ts';
import { cause, type Cause } from '../diagnose/step.ts';

interface Network {
  readonly what: string;
  readonly text: string;
  readonly cidr: Cidr;
}

/** Networks of pods that a cluster offers, or would offer. */
function offeredBy({ snapshot }: Surveyed): readonly Network[] {
  const offered = snapshot.subnets.filter(({ isJoin, isDisabled, isUnderlay, vpc }) => {
    return !isJoin && !isDisabled && !isUnderlay && vpc === (specOf(snapshot)?.vpc ?? 'ovn-cluster');
  });
  return offered.flatMap(({ name, wished }) => networksOf(wished, `Subnet ${name}`));
}

function networksOf(texts: string, what: string): readonly Network[] {
  return texts.split(',').flatMap((part) => {
    const text = part.trim();
    const cidr = parseCidr(text);
    return cidr === undefined ? [] : [{ what, text, cidr }];
  });
}

/** Prefixes of all members that are known to one that can be read; a member that is checked again knows them itself. */
function remotePrefixes({ near, far, token }: JoinQuestion): readonly Network[] {
  // A successor with the name of a member that is gone does not overlap that.
  const own = new Set([near.snapshot.label, token?.cluster]);
  const known = [near, ...(far === undefined ? [] : [far])].flatMap(({ snapshot }) =>
    snapshot.remotes
      .filter(({ name }) => !own.has(name))
      .flatMap(({ name, prefixes, status }) => {
        const texts = prefixes.length > 0 ? prefixes : (status.routes ?? []);
        return texts.flatMap(({ prefix }) => networksOf(prefix, name));
      }),
  );
  const theirs = far === undefined ? [] : offeredBy(far).map((one) => ({ ...one, what: far.snapshot.label }));
  return [...new Map([...theirs, ...known].map((one) => [`${one.what} ${one.text}`, one])).values()];
}

/** Fails where pods of two clusters would have the same addresses. */
export function judgeNetworks(question: JoinQuestion): Outcome {
  const [own, theirs] = [offeredBy(question.near), remotePrefixes(question)];
  if (question.far === undefined && theirs.length === 0) return notSeen('the prefixes of the members (--peer-context)');
  const problems = overlaps(own, theirs).map(([ours, other]) =>
    cause(
      'NetworksOverlap',
      `${ours.what} (${ours.text}) overlaps ${other.text} of ${other.what}: the hub refuses the prefix of the one that comes later, and pods there are not reached`,
      `recreate ${ours.what} with another CIDR, or withhold it: kubectl patch ${ours.what.replace(' ', '/').toLowerCase()} --type merge -p '{"spec":{"disableInterConnection":true}}'`,
    ),
  );
  const isForbidden = [question.near, question.far].some((side) =>
    side?.snapshot.unreadable.some(({ what }) => what === 'subnets' || what === 'remoteclusters'),
  );
  // A cluster that is no member does not know the prefixes of the members, also if it has the hub.
  const isMember = question.far === undefined || specOf(question.far.snapshot) !== undefined;
  if (problems.length === 0 && (isForbidden || !isMember)) return notSeen('all prefixes of the members');
  return outcome(`${plural(own.length, 'network')} here, ${plural(theirs.length, 'prefix')} of members`, { problems });
}

/** What the token allows this cluster to offer. */
export function judgeLimits({ near, token }: JoinQuestion): Outcome | undefined {
  if (token === undefined || token.allowedPrefixes.length === 0) return undefined;
  const allowed = token.allowedPrefixes.flatMap((text) => parseCidr(text) ?? []);
  const outside = offeredBy(near).filter(({ cidr }) => !allowed.some((outer) => cidrCovers(outer, cidr)));
  const problems = outside.map(({ what, text }) =>
    cause(
      'NotAllowed',
      `the token does not allow ${text} (${what}): the hub would refuse it`,
      `create a token with --allow ${text}, or extend spec.allowedPrefixes of its HubMember after it has joined`,
    ),
  );
  return outcome(token.allowedPrefixes.join(', '), { problems });
}

/** Pods never reach a remote address that is also one of a Service or a node of their own cluster. */
export function judgeServices(question: JoinQuestion): Outcome {
  const { near, far } = question;
  const found = [
    ...serviceOverlaps(near, remotePrefixes(question)),
    ...(far === undefined
      ? []
      : serviceOverlaps(
          far,
          offeredBy(near).map((one) => ({ ...one, what: near.snapshot.label })),
        )),
  ];
  const { serviceRanges } = near.facts;
  if (serviceRanges === undefined) return notSeen('ServiceCIDRs');
  const evidence = serviceRanges.isKnown
    ? serviceRanges.cidrs.join(', ')
    : 'no ServiceCIDR: the addresses of the present Services were compared';
  return outcome(evidence, { problems: found });
}

function serviceOverlaps({ facts, snapshot }: Surveyed, remote: readonly Network[]): readonly Cause[] {
  const ranges = (facts.serviceRanges?.cidrs ?? []).flatMap((text) => networksOf(text, 'ServiceCIDR'));
  const fix = 'change the network of the pods: the range of Services of a cluster is fixed';
  const byRange = overlaps(ranges, remote).map(([range, other]) => {
    const message = `the Services of ${snapshot.label} (${range.text}) overlap ${other.text} of ${other.what}: pods of ${snapshot.label} reach Services there, not pods of ${other.what}`;
    return cause('ServicesOverlap', message, fix);
  });
  if (byRange.length > 0) return byRange;
  return remote.flatMap(({ text, cidr, what }) => {
    const held = (facts.serviceAddresses ?? []).filter(({ address }) => {
      const ip = parseIp(address);
      return ip !== undefined && cidrContains(cidr, ip);
    });
    if (held.length === 0) return [];
    const names = few(
      held.map(({ service }) => service),
      3,
    );
    return [
      cause('ServicesOverlap', `Services of ${snapshot.label} have addresses in ${text} of ${what}: ${names}`, fix),
    ];
  });
}

/** Addresses of imported Services exist in each cluster by itself, but no pod may have them. */
export function judgeClusterSet(question: JoinQuestion): Outcome {
  const { snapshot } = question.near;
  const text = specOf(snapshot)?.clusterSetCIDR ?? interconnectSpec.shape.clusterSetCIDR.parse(undefined);
  const own = networksOf(text, 'spec.clusterSetCIDR');
  const used = [
    ...remotePrefixes(question),
    ...snapshot.subnets.flatMap(({ name, wished }) => networksOf(wished, `Subnet ${name}`)),
  ];
  const problems = overlaps(own, used).map(([range, other]) =>
    cause(
      'ClusterSetOverlap',
      `addresses of imported Services (${range.text}) overlap ${other.text} of ${other.what}: new imports get no address, or remote pods are not reached`,
      'set another spec.clusterSetCIDR (value interconnect.clusterSetCIDR)',
    ),
  );
  return outcome(text, { problems });
}

function overlaps(own: readonly Network[], others: readonly Network[]): readonly (readonly [Network, Network])[] {
  return own.flatMap((ours) =>
    others.flatMap((other): (readonly [Network, Network])[] =>
      cidrsOverlap(ours.cidr, other.cidr) ? [[ours, other]] : [],
    ),
  );
}
