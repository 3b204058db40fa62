/**
 * Finds the cause why an agent has no session with its hub, from the connection of this machine and the agent's last
 * error. Pure.
 */
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { isProblem, type Snapshot } from '../../model/snapshot.ts';
import { fixOfRefusal } from './refusals.ts';
import { cause, type Cause } from './step.ts';

interface Pattern {
  readonly words: RegExp;
  readonly code: string;
  readonly says: string;
  readonly fix: string;
}

const lookAtHub =
  'in the cluster of the hub: kubectl -n kube-system get pods -l app.kubernetes.io/name=isthmus-hub, and its log';

const patterns: readonly Pattern[] = [
  {
    words: /self.signed|unable to verify|UNABLE_TO|SELF_SIGNED|certificate signature|unknown ca|HubNotTrusted/i,
    code: 'HubNotTrusted',
    says: 'presents a certificate of another authority than the one this cluster trusts',
    fix: 'correct spec.hub, and look for a program that intercepts the connection; a recreated hub needs new tokens for all clusters',
  },
  {
    words: /not yet valid|NOT_YET_VALID/i,
    code: 'CertificateNotYetValid',
    says: 'presents a certificate that is not valid yet: its clock and that of the agent differ',
    fix: 'synchronize the clocks (chrony or ntpd)',
  },
  {
    words: /certificate has expired|CERT_HAS_EXPIRED|certificate expired/i,
    code: 'CertificateExpired',
    says: 'refused or presented a certificate that has expired',
    fix: 'check the clocks of hub and agent, and the age of the certificates; then join again with a new token',
  },
  {
    words: /ECONNREFUSED|refused/i,
    code: 'HubDown',
    says: 'is not served: nothing listens there',
    fix: `start the hub, or correct spec.hub; ${lookAtHub}`,
  },
  {
    words: /ENOTFOUND|EAI_AGAIN|name resolution|getaddrinfo/i,
    code: 'HubNameUnresolved',
    says: 'has a name that does not resolve where the agent runs',
    fix: 'correct spec.hub or the DNS of the nodes; an IP address works too',
  },
  {
    words: /EHOSTUNREACH|ENETUNREACH|no route/i,
    code: 'HubUnreachable',
    says: 'cannot be reached: there is no route to it from the agent',
    fix: 'correct spec.hub, or the route and firewall between the nodes and the hub',
  },
  {
    words: /deadline|keep-?alive|connection dropped|ping timeout|ETIMEDOUT|timed? ?out|no TLS handshake|too long/i,
    code: 'HubSilent',
    says: 'does not answer: it is frozen, or packets to it are dropped on the way',
    fix: `check whether it answers other clusters; ${lookAtHub}; then the firewall between the nodes and the hub`,
  },
  {
    words: /ended the session|ECONNRESET|socket hang up|GOAWAY/i,
    code: 'HubEndedSession',
    says: 'closed the connection: it is being restarted, or a device in between resets connections',
    fix: `wait for the next attempt (seconds); ${lookAtHub}`,
  },
];

/**
 * Undefined if the hub answered with a refusal: then the connection is not the problem. The agent's error has
 * precedence over the connection from this machine, which may be in another network; that connection only distinguishes
 * causes that the error leaves open.
 */
export function hubCause(
  near: Snapshot,
  far: Snapshot | undefined,
  hub: string,
  condition: Condition,
): Cause | undefined {
  const report = condition.message ?? '';
  const reason = condition.reason ?? '';
  if (fixOfRefusal(reason, near.label) !== undefined) return undefined;
  const match = patterns.find(({ words }) => words.test(`${reason} ${report}`));
  const isOpen = match === undefined || match.code === 'HubSilent';
  const probed = isOpen ? probeCause(near, hub, report) : undefined;
  const found = probed ?? wordsCause(match, hub, report, reason);
  const more = [match?.code === 'HubNotTrusted' ? strangerOf(near) : undefined, deadHub(near, far)];
  return { ...found, message: [found.message, ...more].filter((part) => part !== undefined).join('; ') };
}

function wordsCause(match: Pattern | undefined, hub: string, report: string, reason: string): Cause {
  if (match === undefined) return cause(reason === '' ? 'HubUnreachable' : reason, report, lookAtHub);
  return cause(match.code, `the hub at ${hub} ${match.says} (the agent reports: ${report})`, match.fix);
}

/** The hub's pods, if one of the two clusters runs the hub. */
function deadHub(near: Snapshot, far: Snapshot | undefined): string | undefined {
  for (const side of [near, far]) {
    const pod = side?.workloads.find(({ component, isReady }) => component === 'isthmus-hub' && !isReady);
    if (pod === undefined) continue;
    return `pod ${pod.pod} of ${side?.label ?? ''} is not ready${pod.reason === '' ? '' : ` (${pod.reason})`}`;
  }
  return undefined;
}

/** The expected and the presented authority, by the beginnings of their fingerprints. */
function strangerOf({ identity, probe, label }: Snapshot): string | undefined {
  if (identity === undefined || isProblem(identity)) return undefined;
  const expected = `expected by ${label}: authority ${identity.authority.slice(0, 12)}…`;
  const [other] =
    probe?.outcome === 'answered' && !isTrusted(probe.authorities, identity) ? probe.authorities.slice(-1) : [];
  return other === undefined ? expected : `${expected}, met from here: ${other.slice(0, 12)}…`;
}

/** Before the first join no authority is known, so none is unexpected. */
function isTrusted(authorities: readonly string[], identity: Snapshot['identity']): boolean {
  return identity === undefined || isProblem(identity) || authorities.includes(identity.authority);
}

function probeCause({ probe, identity }: Snapshot, hub: string, report: string): Cause | undefined {
  switch (probe?.outcome) {
    case undefined:
      return undefined;
    case 'refused':
      return cause(
        'HubDown',
        `nothing listens at ${hub} (${probe.detail})`,
        `start the hub, or correct spec.hub; ${lookAtHub}`,
      );
    case 'no-tls':
      return cause(
        'HubFrozen',
        `the hub at ${hub} accepts connections but does not respond: ${probe.detail}`,
        `the process is frozen, or another program listens there; ${lookAtHub}`,
      );
    case 'unresolved':
      return cause(
        'HubNameUnresolved',
        `the name in ${hub} does not resolve: ${probe.detail}`,
        'correct spec.hub or the DNS of the nodes',
      );
    case 'timeout':
    case 'unreachable':
      return cause(
        'HubUnreachable',
        `the hub at ${hub} cannot be reached from here either: ${probe.detail}`,
        `check that it runs and that no firewall drops its port; ${lookAtHub}`,
      );
    case 'answered': {
      // From this machine, the address may belong to another host than the agent's hub.
      if (!isTrusted(probe.authorities, identity)) return undefined;
      const message = `the hub at ${hub} answers here, but not the agent, which reports: ${report}`;
      return cause(
        'HubUnreachableFromAgent',
        message,
        'allow connections from the nodes of the agent to the hub: a firewall, a NetworkPolicy or a proxy is between them; if the hub has just returned, try again in some seconds',
      );
    }
  }
}
