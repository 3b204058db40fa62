/** A write waits for databases that do not answer. */
export class DatabasesSilent extends Error {
  readonly code = 'DatabasesSilent';
  override name = 'DatabasesSilent';
}

/** The hub cannot run with its flags or with what it found; the message says what to do. */
export class HubStateError extends Error {
  readonly code = 'HubStateError';
  override name = 'HubStateError';
}
