/**
 * The prefixes of a RemoteCluster as programs read them: the controller for overlaps, daemons for forwarding, speakers for
 * announcements. In: the raw object. Out: each prefix once, and the networks that hold prefixes the object has no room for. Pure.
 */
import { z } from 'zod';
import type { RawObject } from '../kube/types.ts';
import { formatCidr, parseCidr, type Cidr } from '../net/cidr.ts';
import { remotePrefixes, unlistedPrefixes } from './kinds/remote-cluster.ts';

export interface RemotePrefix {
  readonly cidr: Cidr;
  readonly transitSwitch: string;
  /** Packets go there now. */
  readonly isActive: boolean;
  readonly origin: string;
  readonly tags: readonly string[];
}

/** A network in which a cluster has prefixes that are not listed: any part of it may be one of them. */
export interface UnlistedNetwork {
  readonly cidr: Cidr;
  readonly transitSwitch: string;
}

export interface RemotePrefixes {
  /** Those that are not rejected. */
  readonly listed: readonly RemotePrefix[];
  readonly unlisted: readonly UnlistedNetwork[];
}

// What cannot be read is passed over by itself: the rest is none the worse for it.
const entries = z.array(z.unknown()).optional().catch(undefined);
const shape = z.looseObject({ routes: entries, prefixes: entries, unlisted: entries });
/** As an agent of a release without `prefixes` has written it: one entry for each next hop. */
const hop = remotePrefixes.omit({ cidrs: true }).extend({ prefix: z.string() });

export function readRemotePrefixes(raw: RawObject): RemotePrefixes {
  const { routes, prefixes, unlisted } = shape.safeParse(raw['status']).data ?? {};
  const listed = new Map<string, RemotePrefix>();
  const add = (text: string, { transitSwitch, ...rest }: Omit<RemotePrefix, 'cidr'>): void => {
    const cidr = parseCidr(text);
    if (cidr === undefined) return;
    const key = `${transitSwitch} ${formatCidr(cidr)}`;
    const isActive = rest.isActive || listed.get(key)?.isActive === true;
    listed.set(key, { cidr, transitSwitch, ...rest, isActive });
  };
  const hops = (): readonly z.infer<typeof remotePrefixes>[] =>
    readEach(routes, hop).map(({ prefix, ...kind }) => ({ ...kind, cidrs: [prefix] }));
  const groups = prefixes === undefined ? hops() : readEach(prefixes, remotePrefixes);
  for (const { transitSwitch, state, origin = '', tags = [], cidrs } of groups)
    for (const text of cidrs) add(text, { transitSwitch, isActive: state === 'Active', origin, tags });
  const networks = readEach(unlisted, unlistedPrefixes).flatMap(({ transitSwitch, within }) =>
    within.flatMap((text) => {
      const cidr = parseCidr(text);
      return cidr === undefined ? [] : [{ cidr, transitSwitch }];
    }),
  );
  return { listed: [...listed.values()], unlisted: networks };
}

function readEach<T>(values: readonly unknown[] | undefined, schema: z.ZodType<T>): readonly T[] {
  return (values ?? []).flatMap((value) => {
    const { data } = schema.safeParse(value);
    return data === undefined ? [] : [data];
  });
}
