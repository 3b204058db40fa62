// Our own kinds at the edge: raw objects come in, values with a usable spec or a problem go out. The schema that made the CRD reads the
// spec, so defaults and limits are those of the documentation, also for objects older than the CRD.
import type { z } from 'zod';
import { asnProblem, attributesProblem } from '../../route-policy/bgp-attributes.ts';
import { bgpAdvertisementSpec } from '../../api/kinds/bgp-advertisement.ts';
import { bgpInstanceSpec, type BgpInstanceSpec } from '../../api/kinds/bgp-instance.ts';
import { bgpPeerSpec, type BgpPeerSpec } from '../../api/kinds/bgp-peer.ts';
import type { Condition } from '../../api/kinds/shared.ts';
import { readAs } from '../../api/read-as.ts';
import type { Problem } from '../../desired/problem.ts';
import type { RawObject } from '../../kube/types.ts';
import { hasHostBits, parseCidr } from '../../net/cidr.ts';
import type { BgpAdvertisement, BgpInstance, BgpPeer, NodeInstance, NodeSession } from '../objects.ts';
import { canonicalIp } from './node.ts';

export function parseBgpInstance(raw: RawObject): BgpInstance {
  const status = statusOf(raw) as { nodes?: readonly NodeInstance[]; conditions?: readonly Condition[] };
  return {
    ...headOf(raw),
    spec: checked(parseSpec(bgpInstanceSpec, raw), instanceProblem),
    status: { nodes: status.nodes ?? [], conditions: status.conditions ?? [] },
  };
}

export function parseBgpPeer(raw: RawObject): BgpPeer {
  const status = statusOf(raw) as {
    nodes?: readonly NodeSession[];
    established?: string;
    conditions?: readonly Condition[];
  };
  const spec = checked(parseSpec(bgpPeerSpec, raw), peerProblem);
  return {
    ...headOf(raw),
    spec: 'value' in spec ? { value: { ...spec.value, ...canonicalAddresses(spec.value) } } : spec,
    status: { nodes: status.nodes ?? [], conditions: status.conditions ?? [], established: status.established ?? '' },
  };
}

export function parseBgpAdvertisement(raw: RawObject): BgpAdvertisement {
  const status = statusOf(raw) as Partial<BgpAdvertisement['status']>;
  return {
    ...headOf(raw),
    spec: checked(parseSpec(bgpAdvertisementSpec, raw), ({ attributes }) =>
      attributesProblem(attributes, 'spec.attributes'),
    ),
    status: { ...status, conditions: status.conditions ?? [] },
  };
}

/** Checks that only rules of the CRD make, because an object may be older than these rules. */
function checked<Spec>(spec: SpecOf<Spec>, problemOf: (spec: Spec) => Problem | undefined): SpecOf<Spec> {
  const problem = 'problem' in spec ? undefined : problemOf(spec.value);
  return problem === undefined ? spec : { problem: { ...problem, message: `${problem.message}; correct the object` } };
}

function instanceProblem({ localASN, ownedPrefixes = [] }: BgpInstanceSpec): Problem | undefined {
  const asn = asnProblem(localASN, 'spec.localASN');
  if (asn !== undefined) return asn;
  const bad = ownedPrefixes.find((text) => parseCidr(text) === undefined || hasHostBits(text));
  if (bad === undefined) return undefined;
  return {
    code: 'PrefixInvalid',
    message: `spec.ownedPrefixes: '${bad}' is not a network such as 192.0.2.0/24 or fd00::/48`,
  };
}

function peerProblem({ asn, localASN }: BgpPeerSpec): Problem | undefined {
  return asnProblem(asn, 'spec.asn') ?? asnProblem(localASN, 'spec.localASN');
}

function canonicalAddresses({ address, sourceAddress }: BgpPeerSpec): Pick<BgpPeerSpec, 'address' | 'sourceAddress'> {
  return {
    ...(address !== undefined && { address: canonicalIp(address) ?? address }),
    ...(sourceAddress !== undefined && { sourceAddress: canonicalIp(sourceAddress) ?? sourceAddress }),
  };
}

function headOf({ metadata }: RawObject): Pick<BgpPeer, 'name' | 'uid' | 'generation' | 'createdAt' | 'labels'> {
  return {
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    createdAt: metadata.creationTimestamp ?? '',
    labels: metadata.labels ?? {},
  };
}

function statusOf(raw: RawObject): object {
  return raw['status'] ?? {};
}

function parseSpec<Schema extends z.ZodType>(schema: Schema, raw: RawObject): SpecOf<z.output<Schema>> {
  const parsed = readAs(schema, raw['spec'] ?? {});
  if (parsed.success) return { value: parsed.data };
  const faults = parsed.error.issues.map((issue) => `spec.${issue.path.join('.')}: ${issue.message}`);
  return { problem: { code: 'InvalidSpec', message: `${faults.join('; ')}; correct the object` } };
}

type SpecOf<Value> = { readonly value: Value } | { readonly problem: Problem };
