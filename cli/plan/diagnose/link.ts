/** Steps from the object to the hub: whether a membership exists, an agent serves it, and the hub accepts it. */
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { conditionOf, falseCondition, isHidden, isProblem, specOf, type Snapshot } from '../../model/snapshot.ts';
import { hubCause } from './hub-causes.ts';
import { fixOfRefusal } from './refusals.ts';
import { instant } from '../../model/units.ts';
import { cause, failedIf, judged, ok, unknown, type Cause, type Outcome, type Side } from './step.ts';

const skewMs = 5000;
const day = 86_400_000;

export function checkMembership({ near }: Side): Outcome {
  const { interconnect } = near;
  if (interconnect === undefined)
    return failedIf(
      [
        cause(
          'NotAMember',
          `${near.label} has no Interconnect "default": it has not joined a network of clusters`,
          'join with `isthmus ic join TOKEN`, or with the chart: --set interconnect.hub=…,interconnect.token=…',
        ),
      ],
      '',
    );
  if (isProblem(interconnect.spec))
    return failedIf(
      [cause(interconnect.spec.code, interconnect.spec.message, 'correct the spec of Interconnect default')],
      '',
    );
  const { clusterName, hub } = interconnect.spec;
  if (!interconnect.isDeleting) return ok(`${clusterName}, hub ${hub}`);
  const message = `${clusterName} is leaving: Interconnect default waits for the finalizer ${interconnect.finalizers.join(', ')}`;
  const fix =
    'the agent removes it once the hub has ended the membership; use `isthmus ic leave --force` if the hub is gone for good';
  return failedIf([cause('Leaving', message, fix)], '');
}

/** Compares the agent's clock and this machine's clock by the lease, and the hub's clock by its certificate. */
export function checkClock({ near }: Side): Outcome {
  const { lease, identity, probe, nowMs } = near;
  const causes: Cause[] = [];
  const fix = 'synchronize the clocks (chrony or ntpd on the nodes, the hub and this machine)';
  const aheadMs = lease === undefined ? 0 : lease.renewedMs - nowMs;
  if (aheadMs > skewMs)
    causes.push(
      cause('ClockSkew', `the agent of ${near.label} is ${seconds(aheadMs)} ahead of this machine's clock`, fix),
    );
  // A lease that is renewed belongs to a live agent, however old it looks.
  if (lease?.movement === 'moving' && -aheadMs > skewMs)
    causes.push(
      cause('ClockSkew', `the agent of ${near.label} is ${seconds(-aheadMs)} behind this machine's clock`, fix),
    );
  if (identity !== undefined && !isProblem(identity) && identity.notBeforeMs > nowMs) {
    const message = `the certificate of ${near.label} is not valid before ${instant(identity.notBeforeMs)}: the hub that signed it is ahead of this clock`;
    causes.push(cause('CertificateNotYetValid', message, fix));
  }
  const isOpen = conditionOf(near.interconnect?.status.conditions, 'HubReachable')?.status === 'True';
  if (!isOpen && probe?.outcome === 'answered' && probe.notBeforeMs > nowMs) {
    const message = `the certificate of the hub is not valid before ${instant(probe.notBeforeMs)}: its clock is ahead of this one`;
    causes.push(cause('CertificateNotYetValid', message, fix));
  }
  return failedIf(causes, 'no clock differs');
}

export function checkAgent({ near }: Side): Outcome {
  const { lease, nowMs, namespace } = near;
  const pods = near.workloads.filter(({ component }) => component === 'isthmus-interconnect');
  const ill = pods
    .filter(({ isReady }) => !isReady)
    .map(({ pod, reason }) => `${pod} (${reason === '' ? 'not ready' : reason})`);
  const seen = ill.length === 0 ? '' : `; not ready: ${ill.join(', ')}`;
  const fix = `look at the agent: kubectl -n ${namespace} get pods,lease -l app.kubernetes.io/name=isthmus-interconnect; kubectl -n ${namespace} logs deployment/isthmus-interconnect`;
  if (lease === undefined) {
    if (isHidden(near, 'leases')) return unknown('no permission to read the lease of the agent');
    return failedIf(
      [
        cause(
          'AgentNotRunning',
          `no agent has ever been the leader here: there is no Lease ${namespace}/isthmus-interconnect${seen}`,
          fix,
        ),
      ],
      '',
    );
  }
  if (lease.holder === '')
    return failedIf([cause('AgentNotRunning', `no agent leads: the last one gave up the lease${seen}`, fix)], '');
  const ageMs = nowMs - lease.renewedMs;
  if (lease.movement === 'still') {
    const message = `the agent ${lease.holder} does not renew its lease (age ${seconds(Math.max(0, ageMs))}): it is dead, frozen or cut off from the API server${seen}`;
    return failedIf([cause('AgentNotRunning', message, fix)], '');
  }
  return ok(`${lease.holder} leads, lease renewed ${seconds(Math.max(0, ageMs))} ago`);
}

export function checkCertificate({ near, far }: Side): Outcome | undefined {
  const { identity, nowMs } = near;
  const condition = falseCondition(near, 'CertificateValid');
  if (identity === undefined) return condition === undefined ? undefined : failedIf([causeOf(condition)], '');
  const anew = `make a token at the hub (isthmus ic token --cluster ${near.label} --replace …) and join with it (isthmus ic join TOKEN)`;
  if (isProblem(identity)) return failedIf([cause('CertificateInvalid', identity.message, anew)], '');
  const causes: Cause[] = [];
  const leftMs = identity.notAfterMs - nowMs;
  if (leftMs <= 0)
    causes.push(
      cause('CertificateExpired', `the certificate of ${near.label} expired at ${instant(identity.notAfterMs)}`, anew),
    );
  else if (condition !== undefined) causes.push(causeOf(condition));
  const stranger = strangerOf(near, far, identity.authority);
  if (stranger !== undefined) {
    const message = `${near.label} expects a hub with the authority ${short(identity.authority)}…, but ${stranger}`;
    causes.push(
      cause(
        'HubNotTrusted',
        message,
        `check spec.hub and that nothing intercepts it; after a hub was recreated, every cluster must join again: ${anew}`,
      ),
    );
  }
  return failedIf(causes, `valid for ${Math.floor(leftMs / day)} days more`);
}

/** The hub's authority, if its Secret can be read and the hub lists this cluster as a member. */
function strangerOf(near: Snapshot, far: Snapshot | undefined, trusted: string): string | undefined {
  const reachable = conditionOf(near.interconnect?.status.conditions, 'HubReachable');
  const home = [near, far].find((side) => side?.authority !== undefined);
  // An open session proves that both sides trust each other.
  if (reachable?.status === 'True' || home?.authority === undefined || home.authority === trusted) return undefined;
  // A cluster may contain the Secret of an unused hub; only the hub's list of members proves that it is this hub.
  const isItsHub = home.members.some(({ name }) => name === near.label);
  return isItsHub ? `that of the hub in ${home.label} is ${short(home.authority)}…` : undefined;
}

export function checkHub({ near, far }: Side): Outcome {
  const condition = conditionOf(near.interconnect?.status.conditions, 'HubReachable');
  const hub = specOf(near)?.hub ?? '';
  if (condition === undefined) return unknown('the agent has not reported whether it reaches the hub');
  if (condition.status === 'True') return ok(`a session with ${hub} is open`);
  if (condition.status === 'Unknown' || condition.reason === 'Waiting')
    return unknown(condition.message ?? 'the agent does not know');
  const found = hubCause(near, far, hub, condition);
  return found === undefined ? ok(`${hub} answers; what it reports follows below`) : failedIf([found], '');
}

export function checkJoined({ near }: Side): Outcome {
  const joined = conditionOf(near.interconnect?.status.conditions, 'Joined');
  const reachable = falseCondition(near, 'HubReachable');
  const refused =
    reachable?.reason !== undefined && fixOfRefusal(reachable.reason, near.label) !== undefined ? reachable : undefined;
  if (joined?.status === 'True' && refused === undefined) return ok('the hub has admitted this cluster');
  const condition = joined?.status === 'False' ? joined : refused;
  if (condition === undefined) return unknown('the agent has not reported whether the cluster has joined');
  return judged([causeOf(condition, near), ...tokenCauses(near, condition)], [], '');
}

function causeOf(condition: Condition, near?: Snapshot): Cause {
  const code = condition.reason ?? condition.type;
  const fix =
    fixOfRefusal(code, near?.label ?? 'NAME') ?? 'the message names the cause; the log of the agent has the details';
  return cause(code, condition.message ?? `${condition.type} is False`, fix);
}

/** Problems of the token itself, unless the hub's answer names them already. */
function tokenCauses(near: Snapshot, condition: Condition): readonly Cause[] {
  const { token, nowMs, label } = near;
  const wanted = specOf(near);
  const found: Cause[] = [];
  const add = (code: string, message: string): void => {
    if (condition.reason !== code) found.push(cause(code, message, fixOfRefusal(code, label) ?? ''));
  };
  if (token === undefined) {
    if (!isHidden(near, 'secrets') && wanted !== undefined)
      add(
        'TokenMissing',
        `Secret ${near.namespace}/${wanted.tokenSecretRef.name} has no key ${wanted.tokenSecretRef.key}`,
      );
    return found;
  }
  if (isProblem(token)) {
    add(token.code, token.message);
    return found;
  }
  if (token.expiresMs < nowMs) add('TokenExpired', `the join token expired at ${instant(token.expiresMs)}`);
  if (wanted !== undefined && token.cluster !== wanted.clusterName)
    add(
      'TokenForOtherCluster',
      `the join token is for "${token.cluster}", but clusterName of the Interconnect is "${wanted.clusterName}"`,
    );
  return found;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

function short(fingerprint: string): string {
  return fingerprint.slice(0, 12);
}
