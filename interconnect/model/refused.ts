/** How many rejections a list stands for. In: rejections from the hub. Out: a number. Pure. */
import type { Rejection } from './messages.ts';

/** Code of a rejection that stands for as many more of its kind as its value says: the hub does not list all. */
export const moreRefused = 'MoreRefused';

export function countRefused(rejections: readonly Pick<Rejection, 'code' | 'value'>[]): number {
  return rejections.reduce((sum, { code, value }) => sum + (code === moreRefused ? Number(value) : 1), 0);
}
