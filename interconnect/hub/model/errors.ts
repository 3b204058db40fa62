/** A write waits for databases that do not answer. */
export class DatabasesSilent extends Error {
  readonly code = 'DatabasesSilent';
  override name = 'DatabasesSilent';
}

/** The hub cannot run with its flags or with the databases it found; the message says how to fix it. */
export class HubStateError extends Error {
  readonly code = 'HubStateError';
  override name = 'HubStateError';
}
