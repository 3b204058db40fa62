import { Counter, Gauge, type Registry } from 'prom-client';
import type { SpeakerView } from './view.ts';

export type Put = (labels: Readonly<Record<string, string>>, value: number) => void;

/** A series and the function that computes it at a scrape; labels without a value have no series. */
export interface Scraped {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** Whether it is a counter that another module keeps. */
  readonly isCounter?: boolean;
  readonly fill: (view: SpeakerView, put: Put) => void;
}

/** Registers series that are computed from the view at a scrape, so that a change of routes costs nothing here. */
export function registerScraped(
  registry: Registry,
  all: readonly Scraped[],
  look: () => SpeakerView | undefined,
): void {
  for (const { name, help, labelNames = [], isCounter = false, fill } of all) {
    const options = { name, help, labelNames: [...labelNames], registers: [registry] };
    const read = (clear: () => void, put: Put): void => {
      clear();
      const view = look();
      if (view) fill(view, put);
    };
    if (isCounter) {
      const counter: Counter = new Counter({
        ...options,
        collect: () =>
          read(
            () => counter.reset(),
            (labels, value) => counter.inc(labels, value),
          ),
      });
    } else {
      const gauge: Gauge = new Gauge({
        ...options,
        // Otherwise a series without labels would be 0.
        collect: () =>
          read(
            () => (labelNames.length === 0 ? gauge.remove() : gauge.reset()),
            (labels, value) => gauge.set(labels, value),
          ),
      });
    }
  }
}
