/** Writes this node's report into the ConfigMap isthmus-ovn-central when the report changes, and again if it was removed. */
import { KubeApiError } from '../../lib/kube/errors.ts';
import { configMaps } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Report } from '../model/report.ts';
import { centralName } from '../model/central-map.ts';

export interface PublisherOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly node: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #writer: ObjectWriter;
  #text: string | undefined;
  #isBusy = false;

  constructor(options: PublisherOptions) {
    this.#options = options;
    // After an outage, the API server gets the report soon.
    const timing = { maxMs: 2000 };
    this.#writer = new ObjectWriter({ signal: options.signal, log: options.log, timing });
  }

  publish(report: Report): void {
    const text = JSON.stringify(report);
    if (text === this.#text) return;
    this.#text = text;
    this.#isBusy = true;
    void this.#writer
      .enqueue(centralName, () => this.#write(text))
      .then((outcome) => {
        if (outcome === 'superseded') return;
        this.#isBusy = false;
        if (outcome !== 'written') this.#text = undefined;
      });
  }

  /** Sets the present text of this node in the ConfigMap: if it differs from the last report, the next report replaces it. */
  seen(text: string | undefined): void {
    if (!this.#isBusy && text !== this.#text) this.#text = undefined;
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  async #write(text: string): Promise<void> {
    const { client, namespace, node } = this.#options;
    const data = { [`node.${node}`]: text };
    try {
      await client.patch(configMaps, { namespace, name: centralName }, 'merge', { data });
    } catch (error) {
      if (!(error instanceof KubeApiError) || error.status !== 404) throw error;
      try {
        await client.create(configMaps, { metadata: { namespace, name: centralName }, data });
      } catch (error) {
        if (!(error instanceof KubeApiError) || error.status !== 409) throw error;
        await client.patch(configMaps, { namespace, name: centralName }, 'merge', { data });
      }
    }
  }
}
