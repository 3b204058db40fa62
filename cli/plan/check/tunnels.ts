/** Checks that the types of tunnels suit the rest of the values, and the nodes that run already. Pure. */
import { encapTypes, hasShortKeys, haveTunnels } from '../../../lib/net/tunnel-overhead.ts';
import { isMember } from '../../model/chart-values.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import { outcome, type Outcome, type Question } from './outcome.ts';

export function judgeTunnels({ facts, values }: Question): Outcome {
  const { encapType } = values.networking;
  const problems: Cause[] = [];
  if (hasShortKeys(encapType) && isMember(values)) {
    const message = `networking.encapType is ${encapType}, and this cluster is to be a member of an interconnect: keys of transit switches have more bits than VXLAN carries`;
    problems.push(cause('TunnelTypeUnsupported', message, '--set networking.encapType=geneve'));
  }
  const present = facts.controllers?.find(({ name, isOurs }) => isOurs && name === 'isthmus-daemon')?.encapType;
  const running = encapTypes.find((type) => type === present);
  if (running !== undefined && !haveTunnels(running, encapType)) {
    const message = `nodes have tunnels of type ${running}, and networking.encapType is ${encapType}: a node with the one has no tunnel to a node with the other while isthmus-daemon rolls`;
    const fix =
      "change in two steps: --set 'networking.encapType=geneve\\,vxlan', and the new type once all nodes have that";
    problems.push(cause('NoCommonTunnelType', message, fix));
  }
  return outcome(encapType, { problems });
}
