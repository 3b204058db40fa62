/** HubMember objects as the registry needs them. An invalid status is read as an absent one. */
import { z } from 'zod';
import {
  allocatedPath,
  hubMemberSpec,
  hubMemberStatus,
  type HubMemberStatus,
} from '../../../lib/api/kinds/hub-member.ts';
import { readAs } from '../../../lib/api/read-as.ts';
import type { RawObject } from '../../../lib/kube/types.ts';
import { noLimits, type Membership, type StoredMember } from '../model/store.ts';

/** A HubMember with its present status, so that only differences are written. */
export interface HubMember extends StoredMember {
  readonly status: HubMemberStatus;
}

const ports = z.array(allocatedPath);

export function parseHubMember(raw: RawObject): HubMember {
  const { name: handle, uid, creationTimestamp } = raw.metadata;
  const spec = readAs(hubMemberSpec, raw['spec'] ?? {});
  const status = readAs(hubMemberStatus, raw['status'] ?? {}).data ?? {};
  const cluster = status.clusterName ?? handle;
  return {
    cluster,
    handle,
    uid,
    createdMs: Date.parse(creationTimestamp ?? '') || 0,
    spec: spec.data ?? noLimits,
    membership: membershipOf(cluster, status),
    ports: readAs(ports, status.ports).data ?? [],
    isStale: status.conditions?.some(({ type, reason }) => type === 'Connected' && reason === 'Stale') === true,
    status,
  };
}

function membershipOf(cluster: string, status: HubMemberStatus): Membership | undefined {
  const { fingerprint, token, joined, leaving, formerName } = status;
  if (fingerprint === undefined || token === undefined) return undefined;
  const former = formerName === undefined ? {} : { formerName };
  return { cluster, ...former, fingerprint, token, joinedMs: Date.parse(joined ?? '') || 0, leaving: leaving === true };
}
