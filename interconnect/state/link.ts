/**
 * The link to the hub: how it stands and what the hub was told. In: every step of the membership. Out: the state, a call when it
 * is another, and the message for the hub, with a revision that grows with each message that differs from the one before.
 */
import { noLink, type LinkState } from '../model/link-state.ts';
import type { MemberState } from '../model/messages.ts';

export class Link {
  readonly #onChange: () => void;
  #state: LinkState = noLink;
  #told: Omit<MemberState, 'revision'> | undefined;
  #revision = 0;
  /** A certificate that the hub no longer takes: a new token may replace it. */
  rejected: string | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Of the messages for the hub, the newest. */
  get revision(): number {
    return this.#revision;
  }

  /** The newest message for the hub; undefined before the first. */
  get message(): MemberState | undefined {
    return this.#told === undefined ? undefined : { ...this.#told, revision: this.#revision };
  }

  set(state: LinkState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    this.#onChange();
  }

  /** Another name is wanted: what kept the one before is no reason any more. */
  forgetRenaming(): void {
    const { renaming: _, ...state } = this.#state;
    this.#state = state;
  }

  /** Returns whether the hub is to be told something new. */
  tell(state: Omit<MemberState, 'revision'>): boolean {
    if (JSON.stringify(state) === JSON.stringify(this.#told)) return false;
    this.#told = state;
    this.#revision += 1;
    return true;
  }

  /** The next hub knows nothing: what was told counts for nothing. */
  forgetMessage(): void {
    this.#told = undefined;
  }
}
