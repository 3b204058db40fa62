/**
 * Reports how the paths of this cluster stand. In: events about RemoteClusters, whose statuses it reads. Out: a report for the
 * hub, every two seconds at most: nobody waits for it, and paths that flap must not keep the hub busy.
 */
import type { PathReport } from '../model/messages.ts';
import type { Report } from '../model/objects.ts';
import { pathReport } from './path-report.ts';

const spacingMs = 2000;

export interface PathReporterOptions {
  readonly version: string;
  readonly remoteClusters: { entries(): Iterable<readonly [string, Pick<Report, 'status'>]> };
  readonly send: (report: PathReport) => void;
}

export class PathReporter {
  readonly #options: PathReporterOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PathReporterOptions) {
    this.#options = options;
  }

  /** The status of a RemoteCluster may be another one. */
  changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#report();
    }, spacingMs);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #report(): void {
    const { version, remoteClusters, send } = this.#options;
    const report = pathReport(
      version,
      Array.from(remoteClusters.entries(), ([name, { status }]) => [name, status] as const),
    );
    send(report);
  }
}
