export interface MatchProblem {
  /** UTF-16 units from the start of the text; the message counts positions from 1. */
  readonly offset: number;
  readonly message: string;
}

/** A place in the text as people count, from 1. */
export function at(offset: number): string {
  return `at position ${offset + 1}`;
}

/** A quotation of a user's text for messages: on one line, at most 48 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 48 ? `${text.slice(0, 45)}...` : text).replaceAll('\\"', '"');
}
