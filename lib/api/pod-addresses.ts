/**
 * The condition by which the controller vouches for the addresses of a pod, or reports why there are none. It is in the status of the
 * pod, which the API server empties when a pod is created and which users' roles cannot write. Annotations alone prove nothing,
 * because the author of a pod writes them, too. Written by the controller, read by the daemon. Pure.
 */
import { createHash } from 'node:crypto';
import { annotation, interfaceAnnotation } from './names.ts';

/** Type of the condition. `True`: the message vouches for interfaces. `False`: reason and message say why there is no address. */
export const addressCondition = 'isthmus.network/AddressAllocated';

/** Types of the conditions about the address outside that an annotation of a pod names. `True`: the message is the address. */
export const outsideConditions = { eip: 'isthmus.network/Eip', snat: 'isthmus.network/Snat' } as const;

export interface PodCondition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Annotations of an interface that the controller writes, without those that the user writes. */
const written = [
  annotation.allocated,
  annotation.routed,
  annotation.ipAddress,
  annotation.macAddress,
  annotation.cidr,
  annotation.gateway,
  annotation.logicalSwitch,
  annotation.logicalRouter,
  annotation.podNicType,
  annotation.vlanId,
  annotation.providerNetwork,
];

type Annotations = Readonly<Record<string, string | null | undefined>>;

/** Of the annotations of one interface, and of the virtual machine whose port it is. `name` is `ovn`, or `<attachment>.<namespace>.ovn` and so on. */
function digestOf(annotations: Annotations, name: string): string {
  const values = written.map((key) => annotations[interfaceAnnotation(name, key)] ?? null);
  const text = JSON.stringify([annotations[annotation.virtualMachine] ?? null, ...values]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** `ovn/Zm9v… red.default.ovn/YmFy…`: vouches for these annotations of these interfaces. */
export function vouchFor(annotations: Annotations, names: readonly string[]): string {
  return names.map((name) => `${name}/${digestOf(annotations, name)}`).join(' ');
}

/** Whether the controller wrote these annotations of this interface, and they are unchanged. */
export function isVouchedFor(condition: PodCondition | undefined, annotations: Annotations, name: string): boolean {
  if (condition?.status !== 'True') return false;
  return condition.message.split(' ').includes(vouchFor(annotations, [name]));
}

/** The condition about a pod's addresses, in its status from the API server. */
export function addressConditionOf(status: unknown): PodCondition | undefined {
  return podConditionOf(status, addressCondition);
}

/** A condition of a type in a pod's status from the API server. */
export function podConditionOf(status: unknown, wanted: string): PodCondition | undefined {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  for (const one of Array.isArray(conditions) ? (conditions as readonly unknown[]) : []) {
    const { type, status: is, reason, message } = (one ?? {}) as Readonly<Record<string, unknown>>;
    if (type !== wanted || typeof is !== 'string') continue;
    const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
    return { status: is, reason: textOf(reason), message: textOf(message) };
  }
  return undefined;
}

/** Reasons that only an edit of the pod can resolve: waiting does not help. */
export const permanentRefusals: ReadonlySet<string> = new Set([
  'InvalidAnnotation',
  'InvalidAddress',
  'InvalidIPFamily',
  'AddressOutOfRange',
  'NotSupported',
]);
