/** All features of the room. To add one: a folder beside this file, and its line here. */
import { ipFeature } from './address/ip-object.ts';
import { ipPoolFeature } from './address/ip-pool.ts';
import type { Feature } from './feature.ts';
import { distributedGatewayFeature } from './gateway/distributed.ts';
import { namespaceFeature } from './namespace/namespace.ts';
import { nodeFeature } from './node/node.ts';
import { podFeature } from './pod/pod.ts';
import { subnetFeature } from './subnet/subnet.ts';
import { vipFeature } from './vip/vip.ts';
import { vpcFeature } from './vpc/vpc.ts';

export const features: readonly Feature[] = [
  vpcFeature,
  subnetFeature,
  distributedGatewayFeature,
  nodeFeature,
  podFeature,
  namespaceFeature,
  ipFeature,
  ipPoolFeature,
  vipFeature,
];
