import { annotation, joinSubnet, nodePortName } from '../../../lib/api/names.ts';
import { addressText } from '../address/texts.ts';
import { cidrText, gatewayText } from '../../settle/subnet/accepted-note.ts';
import type { View } from '../../model/view.ts';
import { joinAllocation, serviceAllocation } from '../../settle/node/join.ts';

/** The annotations that the node's daemon reads, with null for those to remove; undefined while the node has no address. */
export function planNodeAnnotations(view: View, name: string): Readonly<Record<string, string | null>> | undefined {
  const allocation = joinAllocation(view, name);
  const net = view.verdicts.get(joinSubnet)?.net;
  if (allocation === undefined || net === undefined) return undefined;
  const service = serviceAllocation(view, name);
  return {
    [annotation.allocated]: 'true',
    [annotation.ipAddress]: addressText(allocation),
    [annotation.macAddress]: allocation.mac,
    [annotation.cidr]: cidrText(net),
    [annotation.gateway]: gatewayText(net),
    [annotation.logicalSwitch]: joinSubnet,
    [annotation.portName]: nodePortName(name),
    [annotation.serviceAddress]: service === undefined ? null : addressText(service),
  };
}
