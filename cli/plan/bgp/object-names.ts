/** Converts between users' object names, `pod/default/web`, and the route table's names, `Pod default/web`. Pure. */
import type { BgpState, ObjectRef } from '../../../lib/bgp/objects.ts';
import { objectsOf } from '../../../lib/bgp/offers/view.ts';

const kinds: readonly {
  readonly source: ObjectRef['source'];
  /** Prefix of the keys of this kind within its source. */
  readonly keyPrefix: string;
  readonly isNamespaced: boolean;
  /** The first word is used in output. */
  readonly words: readonly string[];
}[] = [
  { source: 'Subnet', keyPrefix: '', isNamespaced: false, words: ['subnet', 'subnets'] },
  { source: 'Pod', keyPrefix: '', isNamespaced: true, words: ['pod', 'pods', 'po'] },
  { source: 'Service', keyPrefix: '', isNamespaced: true, words: ['service', 'services', 'svc'] },
  {
    source: 'Eip',
    keyPrefix: 'OvnEip/',
    isNamespaced: false,
    words: ['ovn-eip', 'ovn-eips', 'ovneip', 'ovneips', 'oeip', 'eip', 'eips'],
  },
  {
    source: 'Eip',
    keyPrefix: 'IptablesEIP/',
    isNamespaced: false,
    words: ['iptables-eip', 'iptables-eips', 'iptableseip', 'iptableseips', 'eip', 'eips'],
  },
  {
    source: 'Interconnect',
    keyPrefix: '',
    isNamespaced: false,
    words: ['remotecluster', 'remoteclusters', 'cluster'],
  },
];

export function objectName({ source, key }: ObjectRef): string {
  const kind = kinds.find((each) => each.source === source && key.startsWith(each.keyPrefix));
  return `${kind?.words[0] ?? source}/${key.slice(kind?.keyPrefix.length)}`;
}

/** The user's name of an object that the route table names so. */
export function nameOfTable(object: string): string {
  const space = object.indexOf(' ');
  return objectName({ source: object.slice(0, space) as ObjectRef['source'], key: object.slice(space + 1) });
}

/**
 * Finds existing objects by name: `pod/default/web`, `pod/web` in the namespace default, `default/web` for a pod or a
 * service, `web` for any kind.
 */
export function findObjects(state: BgpState, text: string): readonly ObjectRef[] {
  const parts = text.split('/');
  const [word = ''] = parts;
  const named = parts.length > 1 ? kinds.filter(({ words }) => words.includes(word.toLowerCase())) : [];
  const rest = named.length > 0 ? parts.slice(1) : parts;
  return (named.length > 0 ? named : kinds)
    .flatMap(({ source, keyPrefix, isNamespaced }) => {
      const key = keyIn(rest, isNamespaced);
      return key === undefined ? [] : [{ source, key: `${keyPrefix}${key}` }];
    })
    .filter((ref) => isThere(state, ref));
}

function keyIn(parts: readonly string[], isNamespaced: boolean): string | undefined {
  if (parts.length > (isNamespaced ? 2 : 1)) return undefined;
  return isNamespaced && parts.length === 1 ? `default/${parts[0]}` : parts.join('/');
}

function isThere(state: BgpState, { source, key }: ObjectRef): boolean {
  return objectsOf(state)[source].has(key);
}
