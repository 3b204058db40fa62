/** What is wrong with one object, as a value: it becomes a condition, an event and a metric. */
export interface Problem {
  /** CamelCase, a condition's or event's reason: `CidrOverlap`, `NoAvailableAddress`. */
  readonly code: string;
  /** One sentence: what was tried on which object, the cause, and what to do. */
  readonly message: string;
}
