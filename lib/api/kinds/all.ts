import { bgpAdvertisementKind, bgpInstanceKind, bgpPeerKind } from './bgp.ts';
import { interconnectKind, remoteClusterKind, transitSwitchKind } from './interconnect.ts';
import { ipKind } from './ip.ts';
import { ipPoolKind } from './ippool.ts';
import { securityGroupKind } from './security-group.ts';
import type { Kind } from './shared.ts';
import { subnetKind } from './subnet.ts';
import { vipKind } from './vip.ts';
import { vpcKind } from './vpc.ts';

/** Every kind Isthmus serves, in the order the documentation shows them. */
export const allKinds: readonly Kind[] = [
  vpcKind,
  subnetKind,
  ipKind,
  ipPoolKind,
  vipKind,
  securityGroupKind,
  interconnectKind,
  remoteClusterKind,
  transitSwitchKind,
  bgpInstanceKind,
  bgpPeerKind,
  bgpAdvertisementKind,
];
