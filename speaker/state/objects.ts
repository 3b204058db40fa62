// The speaker's view of the cluster: what the routes of this node depend on, and the passwords of its sessions.
import type { BgpState } from '../../lib/bgp/objects.ts';

/** Texts by key; `missing` where there is no such Secret, `unread` before it was looked for. */
export type PasswordSecret = ReadonlyMap<string, string> | 'missing' | 'unread';

export interface SpeakerState extends BgpState {
  /** All Secrets that this speaker may read, by name. */
  readonly secrets: ReadonlyMap<string, PasswordSecret>;
}
