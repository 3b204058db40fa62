/** Parses the InterconnectGateway of this node, Interconnects and TransitSwitches. */
import { z } from 'zod';
import {
  gatewayPeer,
  gatewayProbe,
  gatewayProgram,
  gatewaySibling,
  gatewayTunnel,
  gatewayWireGuard,
} from '../../lib/api/kinds/interconnect-gateway.ts';
import { labelSelector } from '../../lib/api/kinds/shared.ts';
import { readAs } from '../../lib/api/read-as.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import type { Interconnect, TransitSwitch, InterconnectGateway } from '../model/interconnect.ts';

// A field of another release that cannot be parsed counts as absent; the daemon writes its own fields again.
const shape = z.looseObject({
  spec: z
    .looseObject({ rotateKey: z.string().default('').catch(''), endpoints: z.array(z.string()).default([]).catch([]) })
    .optional(),
  status: z
    .looseObject({
      peers: z.array(gatewayPeer).optional().catch(undefined),
      wantedMTU: z.int().positive().optional().catch(undefined),
      tunnels: z.array(gatewayTunnel).optional().catch(undefined),
      probes: z.array(gatewayProbe).optional().catch(undefined),
      siblings: z.array(gatewaySibling).optional().catch(undefined),
      siblingTunnels: z.array(gatewayTunnel).optional().catch(undefined),
      silentPrograms: z.array(gatewayProgram).optional().catch(undefined),
      wireGuard: gatewayWireGuard.optional().catch(undefined),
      checkedAt: z.string().optional().catch(undefined),
    })
    .optional(),
});

export function parseGateway(raw: RawObject): InterconnectGateway {
  const { name, uid, resourceVersion } = raw.metadata;
  const { spec, status } = readAs(shape, raw).data ?? {};
  const peers = status?.peers ?? [];
  const isUsable = ({ address }: { readonly address: string }): boolean => parseIp(address) !== undefined;
  return {
    name,
    uid,
    resourceVersion,
    peers: peers.filter(isUsable),
    refused: peers
      .filter((peer) => !isUsable(peer))
      .map(
        ({ chassis, cluster, address }) =>
          `gateway ${chassis} of cluster ${cluster} has no usable tunnel address: ${JSON.stringify(address)}; its tunnel is not reported`,
      ),
    endpoints: spec?.endpoints ?? [],
    rotateKey: spec?.rotateKey ?? '',
    siblings: status?.siblings ?? [],
    wantedMtu: status?.wantedMTU,
    tunnels: status?.tunnels ?? [],
    probes: status?.probes ?? [],
    siblingTunnels: status?.siblingTunnels ?? [],
    silentPrograms: status?.silentPrograms ?? [],
    wireGuard: status?.wireGuard,
    checkedAt: status?.checkedAt,
  };
}

const interconnectShape = z.looseObject({ spec: z.looseObject({ gatewayNodeSelector: labelSelector }) });
const hubShape = z.looseObject({ spec: z.looseObject({ hub: z.string() }) });
const hourMs = 3_600_000;
/** Of an object of an earlier release, or one that cannot be read. */
const noRotation = { intervalHours: 0, maxWaitHours: 24 };
const rotationShape = z.looseObject({
  spec: z.looseObject({
    encryption: z.looseObject({
      keyRotation: z.looseObject({ intervalHours: z.int().min(0), maxWaitHours: z.int().min(0) }),
    }),
  }),
});
const vpcShape = z.looseObject({ spec: z.looseObject({ vpc: z.string().optional() }) });
const transitShape = z.looseObject({
  status: z.looseObject({ cidr: z.string().optional(), vpc: z.string().optional() }).optional(),
});

export function parseInterconnect(raw: RawObject): Interconnect {
  const { hub = '' } = readAs(hubShape, raw).data?.spec ?? {};
  const { intervalHours, maxWaitHours } = readAs(rotationShape, raw).data?.spec.encryption.keyRotation ?? noRotation;
  return {
    keyRotation: { intervalMs: intervalHours * hourMs, maxWaitMs: maxWaitHours * hourMs },
    gateways: readAs(interconnectShape, raw).data?.spec.gatewayNodeSelector,
    vpc: parseJoinedVpc(raw),
    hub: hub.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1'),
  };
}

/** The VPC of an Interconnect or a TransitSwitch. */
function parseJoinedVpc(raw: RawObject): string {
  return readAs(vpcShape, raw).data?.spec.vpc ?? defaultVpc;
}

export function parseTransitSwitch(raw: RawObject): TransitSwitch {
  // The VPC in force, as the controller and speakers read it, or the wanted one before there is one in force.
  const { cidr = '', vpc = parseJoinedVpc(raw) } = readAs(transitShape, raw).data?.status ?? {};
  return { vpc, networks: cidr.split(',').filter((text) => parseCidr(text) !== undefined) };
}
