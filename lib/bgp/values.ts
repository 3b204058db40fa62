// Sessions that the values of the chart ask for, as one BgpInstance and a BgpPeer for each neighbour. There is no such object in the
// cluster: speakers have them in memory and tell of them in the BgpNodeState of their node. They are judged like objects, and real
// ones go before them.
import { z } from 'zod';
import type { RawObject } from '../kube/types.ts';
import type { BgpInstance, BgpPeer, BgpState } from './objects.ts';
import { parseBgpInstance, parseBgpPeer } from './parse/own-kinds.ts';

/** No object can have it. */
export const valuesName = '(flags)';
/** Younger than any object, which therefore go before. */
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

/** What others need to make the same objects; undefined where the values ask for none. */
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

/** Undefined for what no speaker wrote. */
export function valuesOfText(text: string): ObjectsOfValues | undefined {
  try {
    const { data } = valuesText.safeParse(JSON.parse(text));
    return data && objectsOfValues(data.instance, data.peers);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
