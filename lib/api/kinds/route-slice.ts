/** What slices of routes have in common: objects that hold a part of a long list each, as EndpointSlices do. */
import { z } from 'zod';
import { matchesWhole, pattern } from './address.ts';
import { mapList, rules } from './shared.ts';

/** A change of one route writes one slice anew, and every reader reads that slice again. */
export const mostRoutesInSlice = 500;

export const prefixField = z
  .string()
  .max(49)
  .meta(
    rules({
      rule: matchesWhole('self', pattern.cidr),
      message: 'prefix must be a CIDR such as 10.0.0.0/8 or fd00::/48',
    }),
  );

/** Fields named by `keys` tell the routes of a slice apart. */
export function sliceRoutes<Route extends z.ZodObject>(route: Route, ...keys: readonly string[]): z.ZodArray<Route> {
  return z
    .array(route)
    .max(mostRoutesInSlice)
    .meta(mapList(...keys));
}
