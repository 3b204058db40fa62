/** Domain names that policies name, and what the DNS of pods says about them. */
import type { Answer } from '../../lib/dns/message.ts';
import type { Family } from '../../lib/net/ip.ts';

/** The code of the problem that servers have not answered about a name yet. */
export const pendingNames = 'DomainNamesPending';

/** What one server says about the addresses of one family. */
export interface DomainAnswer {
  readonly name: string;
  readonly family: Family;
  /** `address:port` of the server. */
  readonly server: string;
  readonly answer: Answer;
}

/** The addresses of a name, of both families, as the database keeps them. */
export interface DomainRecord {
  /** For new connections. */
  readonly current: readonly string[];
  /** Former ones, to which connections stay → until when, in milliseconds since 1970. */
  readonly left: ReadonlyMap<string, number>;
}

/** The beginning of the entries of a row's external_ids that keep its former addresses. */
export const leftEntry = 'left:';

/** These entries, by the time of each address. */
export function leftEntries(left: ReadonlyMap<string, number>): Readonly<Record<string, string>> {
  const entries = [...left].map(([address, untilMs]) => [leftEntry + address, String(untilMs)]);
  return Object.fromEntries(entries) as Readonly<Record<string, string>>;
}

/** Former addresses by a row's external_ids; entries that are no times are left out. */
export function leftOf(externalIds: Readonly<Record<string, string>>): ReadonlyMap<string, number> {
  const left = new Map<string, number>();
  for (const [entry, text] of Object.entries(externalIds)) {
    if (entry.startsWith(leftEntry) && /^\d{1,15}$/.test(text)) left.set(entry.slice(leftEntry.length), Number(text));
  }
  return left;
}
