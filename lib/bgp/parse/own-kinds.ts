// Our own kinds at the edge: raw objects come in, values with a usable spec or a problem go out. The schema that made the CRD reads the
// spec, so defaults and limits are those of the documentation, also for objects older than the CRD.
import type { z } from 'zod';
import { attributesProblem } from '../../api/bgp-attributes.ts';
import { bgpAdvertisementSpec } from '../../api/kinds/bgp-advertisement.ts';
import { bgpInstanceSpec } from '../../api/kinds/bgp-instance.ts';
import { bgpPeerSpec, type BgpPeerSpec } from '../../api/kinds/bgp-peer.ts';
import type { Condition } from '../../api/kinds/shared.ts';
import type { Problem } from '../../desired/problem.ts';
import type { RawObject } from '../../kube/types.ts';
import type { BgpAdvertisement, BgpInstance, BgpPeer, NodeInstance, NodeSession } from '../objects.ts';
import { canonicalIp } from './node.ts';

export function parseBgpInstance(raw: RawObject): BgpInstance {
  const status = statusOf(raw) as { nodes?: readonly NodeInstance[]; conditions?: readonly Condition[] };
  return {
    ...headOf(raw),
    spec: parseSpec(bgpInstanceSpec, raw),
    status: { nodes: status.nodes ?? [], conditions: status.conditions ?? [] },
  };
}

export function parseBgpPeer(raw: RawObject): BgpPeer {
  const status = statusOf(raw) as {
    nodes?: readonly NodeSession[];
    established?: string;
    conditions?: readonly Condition[];
  };
  const spec = parseSpec(bgpPeerSpec, raw);
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
    spec: checkedAdvertisement(parseSpec(bgpAdvertisementSpec, raw)),
    status: { ...status, conditions: status.conditions ?? [] },
  };
}

function checkedAdvertisement(spec: BgpAdvertisement['spec']): BgpAdvertisement['spec'] {
  if ('problem' in spec) return spec;
  const problem = attributesProblem(spec.value.attributes, 'spec.attributes');
  return problem === undefined ? spec : { problem: { ...problem, message: `${problem.message}; correct the object` } };
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
  const parsed = schema.safeParse(raw['spec'] ?? {});
  if (parsed.success) return { value: parsed.data };
  const faults = parsed.error.issues.map((issue) => `spec.${issue.path.join('.')}: ${issue.message}`);
  return { problem: { code: 'InvalidSpec', message: `${faults.join('; ')}; correct the object` } };
}

type SpecOf<Value> = { readonly value: Value } | { readonly problem: Problem };
