/**
 * The link to the hub: its state and the message for the hub. In: each step of the membership. Out: the state, a call
 * when it changes, and the message, whose revision grows whenever it differs from the one before.
 */
import { noLink, type LinkState } from '../model/link-state.ts';
import type { MemberState } from '../model/messages.ts';

export class Link {
  readonly #onChange: () => void;
  #state: LinkState = noLink;
  #message: Omit<MemberState, 'revision'> | undefined;
  #revision = 0;
  /** A certificate that the hub no longer takes: a new token may replace it. */
  rejected: string | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Revision of the newest message. */
  get revision(): number {
    return this.#revision;
  }

  /** The newest message for the hub; undefined before the first. */
  get message(): MemberState | undefined {
    return this.#message === undefined ? undefined : { ...this.#message, revision: this.#revision };
  }

  set(state: LinkState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    this.#onChange();
  }

  /** Another name is wanted: the reason that held up the one before is out of date. */
  forgetRenaming(): void {
    const { renaming: _, ...state } = this.#state;
    this.#state = state;
  }

  /** Returns whether the message is a new one. */
  setMessage(state: Omit<MemberState, 'revision'>): boolean {
    if (JSON.stringify(state) === JSON.stringify(this.#message)) return false;
    this.#message = state;
    this.#revision += 1;
    return true;
  }

  /** The next hub has received no message. */
  forgetMessage(): void {
    this.#message = undefined;
  }
}
