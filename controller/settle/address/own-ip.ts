import {
  healthCheckPortName,
  joinSubnet,
  label,
  nodePortName,
  querierPortName,
  u2oPortPrefix,
} from '../../../lib/api/names.ts';
import type { IpObject } from '../../model/objects.ts';

/** Whether this room created the object, and no user asked to keep it. */
export function isOwnIp(ip: IpObject): boolean {
  const { podName, namespace, subnet, podType } = ip.spec;
  if (ip.labels[label.subnet] !== subnet || ip.labels[label.ipReserved] === 'true') return false;
  if (namespace === '') {
    const isNode = ip.name === nodePortName(podName) && subnet === joinSubnet;
    const isRouter = ip.name.startsWith(u2oPortPrefix) && ip.name.endsWith(`.${subnet}`);
    const isOfSubnet = ip.name === querierPortName(subnet) || ip.name === healthCheckPortName(subnet);
    return isNode || (podName === '' && (isRouter || isOfSubnet));
  }
  if (podType === 'VirtualMachine') return ip.name.includes(`.${namespace}`);
  return `${ip.name}.`.startsWith(`${podName}.${namespace}.`);
}
