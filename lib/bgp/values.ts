// Sessions from the values of the chart, as one BgpInstance and a BgpPeer for each neighbour. The cluster has no such objects: speakers
// keep them in memory and report them in the BgpNodeState of their node. They are evaluated like objects, and real objects take
// precedence.
import { z } from 'zod';
import type { RawObject } from '../kube/types.ts';
import type { BgpInstance, BgpPeer, BgpState } from './objects.ts';
import { parseBgpInstance, parseBgpPeer } from './parse/own-kinds.ts';

/** No object can have this name. */
export const valuesName = '(flags)';
/** Younger than any object, so that objects take precedence. */
const createdAt = '9999-12-31T23:59:59Z';

/** Of a BgpPeer, without its instance. */
export interface PeerSpec {
  readonly address: string;
  readonly [field: string]: unknown;
}

export interface ObjectsOfValues {
  readonly instance: BgpInstance;
  readonly peers: readonly BgpPeer[];
}

export function objectsOfValues(instance: object, peers: readonly PeerSpec[]): ObjectsOfValues {
  const raw = (name: string, spec: object): RawObject => ({
    metadata: { name, uid: '', resourceVersion: '', creationTimestamp: createdAt },
    spec,
  });
  return {
    instance: parseBgpInstance(raw(valuesName, instance)),
    peers: peers.map((spec) => parseBgpPeer(raw(`${valuesName} ${spec.address}`, { ...spec, instance: valuesName }))),
  };
}

/** Text from which `valuesOfText` restores the same objects; undefined if the values define none. */
export function textOfValues({ instances, peers }: Pick<BgpState, 'instances' | 'peers'>): string | undefined {
  const instance = instances.get(valuesName);
  if (!instance || 'problem' in instance.spec) return undefined;
  const specs = [...peers.values()].flatMap(({ spec }) => ('value' in spec ? spec.value : []));
  return JSON.stringify({
    instance: instance.spec.value,
    peers: specs.filter((spec) => spec.instance === valuesName),
  });
}

const valuesText = z.object({ instance: z.looseObject({}), peers: z.array(z.looseObject({ address: z.string() })) });

/** Undefined for text that no speaker wrote. */
export function valuesOfText(text: string): ObjectsOfValues | undefined {
  try {
    const { data } = valuesText.safeParse(JSON.parse(text));
    return data && objectsOfValues(data.instance, data.peers);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
