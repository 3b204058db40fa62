/** The fix for each refusal by the hub or by the agent's own checks, by its code. Pure. */

/** Undefined if the code is none of these. */
export function fixOfRefusal(code: string, cluster: string): string | undefined {
  const token = `isthmus ic token --cluster ${cluster} --hub HOST:PORT`;
  const join = 'join with it: isthmus ic join TOKEN';
  const fixes: Readonly<Record<string, string>> = {
    TokenMissing: `make a token at the hub (${token}) and put it into the Secret that spec.tokenSecretRef names, or ${join}`,
    TokenMalformed: `paste the whole line that \`${token}\` printed, and ${join}`,
    TokenForOtherCluster: `make a token for this name: ${token}; then ${join}`,
    TokenExpired: `make a new token: ${token}; then ${join}`,
    TokenRedeemed: `it was already used with another key: make a new token: ${token}; then ${join}`,
    TokenSpent: `its membership has ended: make a new token: ${token}; then ${join}`,
    TokenForeign: `spec.hub is not the hub that made the token: correct spec.hub, or make a token there: ${token}`,
    ClusterNameTaken: `choose another clusterName, let the holder leave, or replace it: ${token} --replace`,
    NotAMember: `the hub has let this cluster go: make a token (${token}) and ${join}`,
    CertificateInvalid: `make a token that replaces the membership (${token} --replace) and ${join}`,
    HubNotTrusted:
      'correct spec.hub, and look for a program that intercepts the connection; a recreated hub needs new tokens for all clusters',
    HubAddressInvalid: 'write spec.hub as host:port, such as 192.0.2.10:6650',
    SecretUnavailable: 'let the agent read its Secrets: compare its Role with that of the chart',
    IdentityDamaged: `restore the Secret isthmus-interconnect-identity from a backup; or delete it, make a token that replaces the membership (${token} --replace), and ${join}`,
    HubUnavailable: 'the hub cannot read its own Kubernetes API now: look at the API server of the cluster of the hub',
    SessionReplaced: 'two agents use one identity: look for a second cluster restored from a copy of this one',
    FormerNameListed: 'have the new name listed beside the former one where the message says, or set clusterName back',
    DuplicateIdentity:
      'a copy of a cluster needs an identity of its own: delete its Interconnect and its Secret isthmus-interconnect-identity, and join with a token and a name of its own',
    Renaming: 'wait: the agent is asking the hub for the new name',
    RequestInvalid: 'agent and hub are of different releases: upgrade the older one',
  };
  return Object.hasOwn(fixes, code) ? fixes[code] : undefined;
}

/** The fix if two clusters claim something that only one can have, by the code of the refusal. */
export function conflictFix(reason: string): string {
  const fixes: Readonly<Record<string, string>> = {
    DuplicateChassis:
      'give one of the two Open vSwitches another system-id (external_ids:system-id) and restart its ovn-controller',
    DuplicateEncap: 'give one of the two nodes another tunnel address (external_ids:ovn-encap-ip)',
    ClusterNameTaken: 'choose another clusterName: leave, then join by the new name',
    PrefixOverlap: 'one of the two subnets needs other addresses; or do not share it: disableInterConnection: true',
    Overlap: 'one of the two subnets needs other addresses; or do not share it: disableInterConnection: true',
    PrefixNotAllowed: 'the hub allows this cluster other prefixes only: change spec.allowedPrefixes of its HubMember',
    MaxPrefixes: 'raise maxPrefixes (HubMember at the hub, RoutePolicy here), or aggregate',
    TransitOverlap: 'give the hub another --transit-cidr (hub.transitCIDR), or the TransitSwitch another spec.cidr',
    TransitExhausted: 'the transit network has no address left: a larger one at the hub, or a member has to leave',
    Denied: 'a RoutePolicy denies it: change its rules, or keep it if intended',
  };
  return fixes[reason] ?? 'the message names what is held by whom: one of the two has to change';
}
