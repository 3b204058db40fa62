/** A known reason to end the process; the message names the cause. Every other error that reaches `runRoom` is a defect. */
export abstract class FatalError extends Error {
  abstract readonly code: string;
}
