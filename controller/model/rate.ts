/** Rates and bursts of OVN's meters, in kbit/s and kbit. */

const kbitPerMbit = 1000;
/** The column holds 32 bits. */
const maxKbit = 4_294_967_295;
/** The default burst as a share of the rate, as tools of Kube-OVN's users expect. */
const defaultBurst = 0.8;

/** Kilobits of a number of megabits, or of units of so many kilobits; zero if there is none, undefined if it is no such number. */
export function kbitOf(text: string, kbitPerUnit: number = kbitPerMbit): number | undefined {
  if (text === '') return 0;
  if (!/^\d{1,7}(\.\d{1,3})?$/.test(text)) return undefined;
  const kbit = Math.round(Number(text) * kbitPerUnit);
  return kbit <= maxKbit ? kbit : undefined;
}

/** At least 1: the column takes no zero. */
export function defaultBurstOf(rate: number): number {
  return Math.max(1, Math.round(rate * defaultBurst));
}
