/**
 * Writes GatewayKeySlices. In: the wanted slices by name. Out: creates, patches and deletes where the objects differ; the same slices
 * again write nothing.
 */
import { KubeApiError } from '../../lib/kube/errors.ts';
import { apiVersionOf, gatewayKeySlices } from '../../lib/kube/resources.ts';
import type { KubeClient, Reflector } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { KeySlice, KeySliceObject } from '../model/key-slice.ts';
import { madeByAgent } from '../model/objects.ts';
import { isSameJson } from './compare.ts';

export interface KeySliceWriterOptions {
  readonly client: Pick<KubeClient, 'create' | 'patch' | 'delete'>;
  readonly writer: Pick<ObjectWriter, 'enqueue'>;
  readonly slices: Pick<Reflector<KeySliceObject>, 'get' | 'entries'>;
}

export class KeySliceWriter {
  readonly #options: KeySliceWriterOptions;
  /** Writes that the watch has not shown yet; undefined for a deletion. */
  readonly #sent = new Map<string, KeySlice | undefined>();

  constructor(options: KeySliceWriterOptions) {
    this.#options = options;
  }

  /** The watch has shown a version of the object. */
  seen(name: string): void {
    this.#sent.delete(name);
  }

  write(wanted: ReadonlyMap<string, KeySlice>): void {
    const { slices } = this.#options;
    const present = new Map(slices.entries());
    for (const name of new Set([...present.keys(), ...this.#sent.keys(), ...wanted.keys()])) {
      const object = present.get(name);
      const before = this.#sent.has(name) ? this.#sent.get(name) : object && dataOf(object);
      const after = wanted.get(name);
      if (isSameJson(before, after)) continue;
      this.#sent.set(name, after);
      void this.#options.writer
        .enqueue(`${gatewayKeySlices.kind}/${name}`, () => this.#put(name, object?.uid, after))
        .then((outcome) => {
          if (outcome !== 'written' && this.#sent.get(name) === after) this.#sent.delete(name);
        });
    }
  }

  async #put(name: string, uid: string | undefined, after: KeySlice | undefined): Promise<void> {
    const { client } = this.#options;
    if (after === undefined) {
      await client.delete(gatewayKeySlices, { name });
      return;
    }
    const object = { apiVersion: apiVersionOf(gatewayKeySlices), kind: gatewayKeySlices.kind, ...after };
    if (uid === undefined) {
      try {
        await client.create(gatewayKeySlices, { ...object, metadata: { name, labels: madeByAgent } });
        return;
      } catch (error) {
        // A write that was tried again may have made it already.
        if (!(error instanceof KubeApiError) || error.status !== 409) throw error;
      }
    }
    await client.patch(gatewayKeySlices, { name }, 'merge', after);
  }
}

function dataOf({ cidr, isOwn, gateways }: KeySliceObject): KeySlice {
  return { cidr, isOwn, gateways };
}
