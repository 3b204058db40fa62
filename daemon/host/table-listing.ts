/** Parses listings of our nftables tables by nft(8): elements, chains, and the rest, by which edits of other programs are detected. Pure. */
import { createHash } from 'node:crypto';
import {
  affinityMaps,
  parseLearnChain,
  parsePickChain,
  pickChainName,
  type PresentTable,
} from '../model/service-table.ts';

/** The chain, without rules, whose comment has the digest of the table as the daemon wrote it. */
export const sealChain = 'unchanged';
/** The timeout in the sample of the chains for session affinity. */
export const sampleSeconds = 1;

interface Block {
  readonly kind: string;
  readonly name: string;
  readonly lines: readonly string[];
}

export interface TableListing {
  /** Digest in the comment of the table: of the skeleton that the daemon wrote. */
  readonly skeleton: string | undefined;
  /** Digest in the comment of the seal chain. */
  readonly seal: string | undefined;
  /** Digest of all that the seal covers: everything but the elements, and the chains that equal the sealed sample of their kind. */
  readonly digest: string;
  readonly elements: PresentTable['elements'];
  readonly chains: PresentTable['chains'];
}

/** @param listing of `nft -n list table`; empty if there is no table */
export function parseListing(listing: string): TableListing {
  const elements = new Map<string, ReadonlyMap<string, string>>();
  const chains = new Set<string>();
  const samples = new Map<string, string>();
  const bodies: { readonly name: string; readonly sample: string; readonly text: string }[] = [];
  const rest: string[] = [];
  let seal: string | undefined;
  const dynamic: ReadonlySet<string> = new Set(Object.values(affinityMaps));
  for (const { kind, name, lines } of blocksOf(listing)) {
    if (kind === 'chain') {
      if (name === sealChain) {
        seal = /^\s*comment "([^"]*)"/.exec(lines[0] ?? '')?.[1];
        continue;
      }
      chains.add(name);
      const like = likenessOf(name, lines);
      if (like !== undefined) {
        samples.set(name, like.text);
        bodies.push({ name, ...like });
        if (name !== like.sample) continue;
      }
      rest.push(`chain ${name}`, ...lines);
      continue;
    }
    const at = lines.findIndex((line) => line.startsWith('elements = {'));
    rest.push(`${kind} ${name}`, ...(at < 0 ? lines : lines.slice(0, at)));
    if (at >= 0 && !dynamic.has(name)) elements.set(name, parseElements(lines.slice(at)));
  }
  // A chain that differs from its sample was edited, and becomes part of the digest.
  for (const { name, sample, text } of bodies) if (samples.get(sample) !== text) rest.push(`edited ${name}`, text);
  const skeleton = /^table [^{]*\{\n\tcomment "isthmus ([0-9a-f]+)"/.exec(listing)?.[1];
  return { skeleton, seal, digest: digestOf(rest.join('\n')), elements, chains };
}

/** Clients of one map of affinity: key → endpoint. @param listing of `nft -n list map` */
export function parseAffinity(listing: string): ReadonlyMap<string, string> {
  const clients = new Map<string, string>();
  for (const { lines } of blocksOf(listing)) {
    const at = lines.findIndex((line) => line.startsWith('elements = {'));
    if (at < 0) continue;
    for (const [key, value] of parseElements(lines.slice(at)))
      clients.set(key.replace(/ (?:timeout|expires) .*$/, ''), value);
  }
  return clients;
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function* blocksOf(listing: string): Generator<Block> {
  let open: { kind: string; name: string; lines: string[] } | undefined;
  for (const line of listing.split('\n')) {
    const [, kind, name] = /^\t(\w+) (\S+) \{$/.exec(line) ?? [];
    if (kind !== undefined && name !== undefined) open = { kind, name, lines: [] };
    else if (line === '\t}' && open !== undefined) {
      yield open;
      open = undefined;
    } else open?.lines.push(line.trim());
  }
}

/** The sample that a chain must equal, and the chain's rules with the sample's number in place of its own. */
function likenessOf(
  name: string,
  lines: readonly string[],
): { readonly sample: string; readonly text: string } | undefined {
  const text = lines.join('\n');
  const pick = parsePickChain(name);
  if (pick !== undefined) {
    const sample = pickChainName({ ...pick, width: 1 });
    return { sample, text: text.replace(`numgen random mod ${pick.width} map`, 'numgen random mod 1 map') };
  }
  const seconds = parseLearnChain(name);
  if (seconds === undefined) return undefined;
  const sample = `learn-${sampleSeconds}`;
  return {
    sample,
    text: text.replaceAll(/ timeout \S+ :/g, (time) => (secondsOf(time) === seconds ? ' timeout 1s :' : time)),
  };
}

/** ` timeout 1h2m3s :` → 3723 */
function secondsOf(time: string): number {
  const units = { d: 86_400, h: 3600, m: 60, s: 1 } as const;
  const parts = [...time.matchAll(/(\d+)([dhms])(?!s)/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units], 0);
}

/** Lines from `elements = {` on. Elements have no commas in them. */
function parseElements(lines: readonly string[]): ReadonlyMap<string, string> {
  const text = lines.join(' ');
  const body = text.slice(text.indexOf('{') + 1, text.lastIndexOf('}'));
  const elements = new Map<string, string>();
  for (const part of body.split(',')) {
    const [key = '', value = ''] = part.trim().split(/ : /);
    if (key !== '') elements.set(canonical(key), value);
  }
  return elements;
}

/** nft shows the network of one address without its prefix. */
function canonical(key: string): string {
  return key.replaceAll('"', '');
}
