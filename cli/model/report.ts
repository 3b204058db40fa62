/** A file of a report, with its path in the archive. */
export interface ReportFile {
  readonly path: string;
  readonly text: string;
}

/** What `isthmus report` found. */
export interface ReportReading {
  readonly files: readonly ReportFile[];
  /** What could not be read, and why. */
  readonly unread: readonly string[];
}
