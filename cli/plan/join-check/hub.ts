/** The token, the hub, the clocks and the releases, before a cluster joins. Pure. */
import type { JoinQuestion, Surveyed } from '../../model/join-question.ts';
import { conditionOf, specOf } from '../../model/snapshot.ts';
import { instant, span } from '../../model/units.ts';
import { notSeen, outcome, type Outcome } from '../check/outcome.ts';
import { cause } from '../diagnose/step.ts';

/** Certificates and tokens are judged by the clock of their reader. */
const mostApartMs = 60_000;
/** A kubelet renews the Lease of its node every ten seconds. */
const heartbeatMs = 20_000;
const soonMs = 60_000;

export function judgeToken({ token, isSigned, nowMs, far }: JoinQuestion): Outcome | undefined {
  if (token === undefined) return undefined;
  const { cluster, hub, expiresMs } = token;
  const again = `create a new one in the cluster of the hub: isthmus ic token --cluster ${cluster} --hub ${hub}`;
  if (expiresMs <= nowMs)
    return outcome('', {
      problems: [cause('TokenExpired', `the token for ${cluster} expired at ${instant(expiresMs)}`, again)],
    });
  if (isSigned === false)
    return outcome('', {
      problems: [
        cause(
          'TokenForeign',
          `the hub in ${far?.snapshot.label ?? 'the other cluster'} did not create the token`,
          again,
        ),
      ],
    });
  const warnings =
    expiresMs - nowMs < soonMs
      ? [cause('TokenExpiresSoon', `the token can be redeemed for ${span(expiresMs - nowMs)} only`, again)]
      : [];
  return outcome(`for ${cluster}, until ${instant(expiresMs)}`, { warnings });
}

/** Whether the name is free, and this cluster no member of another hub. */
export function judgeName({ near, far, token }: JoinQuestion): Outcome | undefined {
  if (token === undefined) return undefined;
  const spec = specOf(near.snapshot);
  const isJoined = conditionOf(near.snapshot.interconnect?.status.conditions, 'Joined')?.status === 'True';
  if (spec !== undefined && isJoined && spec.hub !== token.hub) {
    const message = `this cluster is a member of the hub at ${spec.hub}; the token is for ${token.hub}`;
    return outcome('', { problems: [cause('OtherHub', message, 'leave that hub first: isthmus ic leave')] });
  }
  if (spec !== undefined && isJoined && spec.clusterName !== token.cluster) {
    const message = `this cluster is a member as "${spec.clusterName}"; the token is for "${token.cluster}"`;
    return outcome('', {
      problems: [cause('ClusterNameFixed', message, 'isthmus ic join TOKEN --rename, or a token for the present name')],
    });
  }
  const held = far?.snapshot.members.find(({ name }) => name === token.cluster);
  if (held !== undefined && !isJoined && !token.replace) {
    const message = `the hub has a member ${token.cluster}: it refuses another key for that name`;
    const fix = `if that cluster is gone, isthmus ic remove ${token.cluster}; if this is its successor, create the token with --replace; otherwise choose another name`;
    return outcome('', { problems: [cause('ClusterNameTaken', message, fix)] });
  }
  return outcome(isJoined ? `${token.cluster} is a member already` : `${token.cluster} joins`);
}

const outcomes = {
  refused: ['HubRefused', 'nothing listens at that port'],
  timeout: ['HubTimeout', 'packets are dropped on the way'],
  unresolved: ['HubUnresolved', 'the name does not resolve'],
  unreachable: ['HubUnroutable', 'there is no route'],
  'no-tls': ['HubNotTls', 'what listens there is no hub'],
} as const;

/** From this machine: the agent runs on a node, from which the hub may be reached or not. */
export function judgeHub({ hub, probe, token, nowMs }: JoinQuestion): Outcome {
  if (hub === undefined) return notSeen('the address of the hub (TOKEN)');
  const fix = `check hub.address and the Service of the hub, firewalls for tcp ${hub.slice(hub.lastIndexOf(':') + 1)}, and try from a node: isthmus runs there too`;
  if (probe === undefined)
    return outcome('', { problems: [cause('HubAddressInvalid', `"${hub}" is no host:port`, fix)] });
  if (probe.outcome !== 'answered') {
    const [code, why] = outcomes[probe.outcome];
    return outcome('', {
      problems: [cause(code, `the hub at ${hub} is not reached from this machine: ${why} (${probe.detail})`, fix)],
    });
  }
  if (token !== undefined && !probe.authorities.includes(token.ca)) {
    const message = `the server at ${hub} presents a certificate of another authority than the hub that created the token`;
    const how =
      'check the address; something in between may intercept TLS; after a restore of the hub create a new token';
    return outcome('', { problems: [cause('HubNotTrusted', message, how)] });
  }
  if (probe.notBeforeMs > nowMs || probe.notAfterMs < nowMs) {
    const message = `the certificate of the hub is valid from ${instant(probe.notBeforeMs)} to ${instant(probe.notAfterMs)}; the clock here says ${instant(nowMs)}`;
    return outcome('', { problems: [cause('HubCertificateDate', message, 'set the clocks here and at the hub')] });
  }
  return outcome(
    `${hub} answers in ${Math.round(probe.tookMs)}ms with the authority ${token === undefined ? 'unverified' : 'of the token'}`,
  );
}

/** By the last heartbeats of nodes, which are up to ten seconds old. */
export function judgeClocks({ near, far }: JoinQuestion): Outcome {
  const known = [near, ...(far === undefined ? [] : [far])].flatMap(({ snapshot, heartbeatMs: beat, readMs }) =>
    beat === undefined ? [] : [{ label: snapshot.label, aheadMs: beat - readMs }],
  );
  if (known.length === 0) return notSeen('the Leases of nodes, which show their clocks,');
  const warnings = known.flatMap(({ label, aheadMs }) => {
    if (aheadMs <= mostApartMs && aheadMs >= -(mostApartMs + heartbeatMs)) return [];
    const message = `the clocks of the nodes of ${label} are ${span(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine, or its kubelets are silent`;
    return [cause('ClocksApart', message, 'synchronise the clocks (NTP): certificates and tokens depend on them')];
  });
  return outcome(known.map(({ label }) => label).join(', '), { warnings });
}

function releaseOf({ facts }: Surveyed, name: string): string | undefined {
  return facts.controllers?.find((one) => one.name === name && one.isOurs)?.version;
}

/** A hub serves agents of its release and of the one before. */
export function judgeReleases({ near, far }: JoinQuestion): Outcome {
  const agent = releaseOf(near, 'isthmus-interconnect');
  if (agent === undefined && near.snapshot.lease === undefined) {
    const message = `no agent has run in ${near.snapshot.label}: there is no Deployment isthmus-interconnect`;
    return outcome('', {
      problems: [cause('AgentMissing', message, 'helm upgrade with interconnect.enabled=true, then join')],
    });
  }
  const hub = far === undefined ? undefined : releaseOf(far, 'isthmus-hub');
  if (agent === undefined || hub === undefined) return notSeen('the release of the agent here, or that of the hub,');
  const evidence = `agent ${agent}, hub ${hub}`;
  const [ours, theirs] = [minorOf(agent), minorOf(hub)];
  if (ours === undefined || theirs === undefined || ours === theirs) return outcome(evidence);
  if (ours > theirs) {
    const message = `the agent (${agent}) is newer than the hub (${hub}): it may ask for what the hub does not know`;
    return outcome(evidence, { warnings: [cause('AgentNewer', message, 'upgrade the cluster of the hub first')] });
  }
  if (theirs - ours === 1) return outcome(evidence);
  const message = `the agent (${agent}) is more than one release older than the hub (${hub}), which does not support it`;
  return outcome(evidence, { problems: [cause('AgentTooOld', message, 'upgrade Isthmus in this cluster first')] });
}

/** Major and minor version as one number; undefined if the text is no release. */
function minorOf(release: string): number | undefined {
  const match = /^v?(\d+)\.(\d+)\./.exec(release);
  return match === null ? undefined : Number(match[1]) * 1000 + Number(match[2]);
}
