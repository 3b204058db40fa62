/** For tests: the fields of foreign kinds that rooms read, to generate objects. */
import { z } from 'zod';
import { condition, labelSelector } from './api/kinds/shared.ts';
import type { ObjectSchemas } from './testing-fuzz.ts';

const phase = z.enum(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']);

export const podSchemas: ObjectSchemas = {
  spec: z.object({ nodeName: z.string().optional(), hostNetwork: z.boolean().optional() }),
  status: z.object({
    phase: phase.optional(),
    podIP: z.string().optional(),
    podIPs: z.array(z.object({ ip: z.string() })).optional(),
    conditions: z.array(condition).optional(),
  }),
};

export const nodeSchemas: ObjectSchemas = {
  spec: z.object({ podCIDR: z.string().optional(), unschedulable: z.boolean().optional() }),
  status: z.object({
    addresses: z
      .array(z.object({ type: z.enum(['InternalIP', 'ExternalIP', 'Hostname']), address: z.string() }))
      .optional(),
    conditions: z.array(condition).optional(),
  }),
};

export const attachmentSchemas: ObjectSchemas = { spec: z.object({ config: z.string().optional() }) };

const protocol = z.enum(['TCP', 'UDP', 'SCTP']);

const policyRule = (peers: 'from' | 'to') =>
  z.object({
    [peers]: z
      .array(
        z.object({
          podSelector: labelSelector.optional(),
          namespaceSelector: labelSelector.optional(),
          ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).optional() }).optional(),
        }),
      )
      .optional(),
    ports: z
      .array(
        z.object({
          protocol: protocol.optional(),
          port: z.union([z.int(), z.string()]).optional(),
          endPort: z.int().optional(),
        }),
      )
      .optional(),
  });

export const networkPolicySchemas: ObjectSchemas = {
  spec: z.object({
    podSelector: labelSelector.optional(),
    policyTypes: z.array(z.enum(['Ingress', 'Egress'])).optional(),
    ingress: z.array(policyRule('from')).optional(),
    egress: z.array(policyRule('to')).optional(),
  }),
};

const namespacedPod = z.object({ namespaceSelector: labelSelector, podSelector: labelSelector });
const clusterSubject = z.object({ namespaces: labelSelector.optional(), pods: namespacedPod.optional() });
const portRange = z.object({ start: z.int(), end: z.int() });
const protocolPort = z
  .object({ destinationPort: z.object({ number: z.int().optional(), range: portRange.optional() }).optional() })
  .optional();

const clusterRule = (peers: 'from' | 'to', actions: readonly [string, ...string[]], ports: z.ZodRawShape) =>
  z.object({
    name: z.string().optional(),
    action: z.enum(actions),
    [peers]: z.array(
      clusterSubject.extend(
        peers === 'from'
          ? {}
          : {
              nodes: labelSelector.optional(),
              networks: z.array(z.string()).optional(),
              domainNames: z.array(z.string()).optional(),
            },
      ),
    ),
    ...ports,
  });

/** ClusterNetworkPolicies of v1alpha2. */
export const clusterPolicySchemas: ObjectSchemas = {
  spec: z.object({
    tier: z.enum(['Admin', 'Baseline']),
    priority: z.int(),
    subject: clusterSubject,
    ...directions(['Accept', 'Deny', 'Pass'], {
      protocols: z
        .array(
          z.object({
            tcp: protocolPort,
            udp: protocolPort,
            sctp: protocolPort,
            destinationNamedPort: z.string().optional(),
          }),
        )
        .optional(),
    }),
  }),
};

/** AdminNetworkPolicies and BaselineAdminNetworkPolicies of v1alpha1. */
export const adminPolicySchemas: ObjectSchemas = {
  spec: z.object({
    priority: z.int(),
    subject: clusterSubject,
    ...directions(['Allow', 'Deny', 'Pass'], {
      ports: z
        .array(
          z.object({
            portNumber: z.object({ protocol, port: z.int() }).optional(),
            portRange: portRange.extend({ protocol: protocol.optional() }).optional(),
            namedPort: z.string().optional(),
          }),
        )
        .optional(),
    }),
  }),
};

function directions(actions: readonly [string, ...string[]], ports: z.ZodRawShape): z.ZodRawShape {
  return {
    ingress: z.array(clusterRule('from', actions, ports)).optional(),
    egress: z.array(clusterRule('to', actions, ports)).optional(),
  };
}

export const serviceSchemas: ObjectSchemas = {
  spec: z.object({
    type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']).optional(),
    clusterIP: z.string().optional(),
    clusterIPs: z.array(z.string()).optional(),
    externalIPs: z.array(z.string()).optional(),
    externalTrafficPolicy: z.enum(['Cluster', 'Local']).optional(),
    internalTrafficPolicy: z.enum(['Cluster', 'Local']).optional(),
    ports: z
      .array(
        z.object({
          name: z.string().optional(),
          protocol: protocol.optional(),
          port: z.int(),
          nodePort: z.int().optional(),
        }),
      )
      .optional(),
    sessionAffinity: z.enum(['None', 'ClientIP']).optional(),
    sessionAffinityConfig: z
      .object({ clientIP: z.object({ timeoutSeconds: z.int().optional() }).optional() })
      .optional(),
    loadBalancerClass: z.string().optional(),
    loadBalancerSourceRanges: z.array(z.string()).optional(),
    healthCheckNodePort: z.int().optional(),
    trafficDistribution: z.string().optional(),
  }),
  status: z.object({
    loadBalancer: z
      .object({ ingress: z.array(z.object({ ip: z.string().optional(), ipMode: z.string().optional() })).optional() })
      .optional(),
    conditions: z.array(condition).optional(),
  }),
};

export const configMapSchemas: ObjectSchemas = { data: z.record(z.string(), z.string()) };

const named = z.array(z.object({ name: z.string() }));

export const endpointSliceSchemas: ObjectSchemas = {
  endpoints: z.array(
    z.object({
      addresses: z.array(z.string()),
      nodeName: z.string().optional(),
      zone: z.string().optional(),
      conditions: z
        .object({ ready: z.boolean().optional(), serving: z.boolean().optional(), terminating: z.boolean().optional() })
        .optional(),
      hints: z.object({ forNodes: named.optional(), forZones: named.optional() }).optional(),
      targetRef: z.object({ kind: z.string().optional(), name: z.string().optional() }).optional(),
    }),
  ),
  ports: z.array(z.object({ name: z.string().optional(), protocol: protocol.optional(), port: z.int().optional() })),
};

export const eipSchemas: ObjectSchemas = {
  spec: z.object({
    v4ip: z.string().optional(),
    v6ip: z.string().optional(),
    v4Ip: z.string().optional(),
    v6Ip: z.string().optional(),
  }),
  status: z.object({
    ready: z.boolean().optional(),
    ip: z.string().optional(),
    v4Ip: z.string().optional(),
    v6Ip: z.string().optional(),
  }),
};
