/** What was to be written waits for databases that do not answer. */
export class DatabasesSilent extends Error {
  readonly code = 'DatabasesSilent';
  override name = 'DatabasesSilent';
}

/** The hub cannot run with what it was told or found; the message says what to do. */
export class HubStateError extends Error {
  readonly code = 'HubStateError';
  override name = 'HubStateError';
}
