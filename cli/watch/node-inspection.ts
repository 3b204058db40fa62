/** Inspects the machine it runs on, possibly in a pod with host network. Read-only. Called by `isthmus nodes inspect`. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { networkInterfaces, release } from 'node:os';
import { join } from 'node:path';
import { switchModules, type NodeInspection } from '../model/node-inspection.ts';
import { parseSockets } from './sockets.ts';

export interface Places {
  /** Folder of kernel modules, `/lib/modules` of the node. */
  readonly modules: string;
  /** Folder of CNI configurations of the node. */
  readonly cni: string;
  readonly proc: string;
  readonly sys: string;
  readonly kernel: string;
}

export const usualPlaces: Omit<Places, 'cni' | 'modules'> = { proc: '/proc', sys: '/sys', kernel: release() };

export async function inspectNode(places: Places): Promise<NodeInspection> {
  const unreadable: string[] = [];
  /** A missing file counts as empty; a file without read permission is reported. */
  const read = async <T>(what: string, request: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await request;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') unreadable.push(`${what}: ${message}`);
      return otherwise;
    }
  };
  const text = (path: string): Promise<string> => read(path, readFile(path, 'utf8'), '');
  const folder = join(places.modules, places.kernel);
  const [builtin, loadable] = await Promise.all([
    text(join(folder, 'modules.builtin')),
    text(join(folder, 'modules.dep')),
  ]);
  const modules: Record<string, NodeInspection['modules'][string]> = {};
  for (const name of switchModules) {
    const isLoaded = await read(name, stat(join(places.sys, 'module', name)).then(Boolean), false);
    modules[name] =
      isLoaded || namesIn(builtin).has(name) ? 'loaded' : namesIn(loadable).has(name) ? 'loadable' : 'absent';
  }
  const listening: NodeInspection['listening'] = [];
  for (const [file, protocol] of [
    ['tcp', 'TCP'],
    ['tcp6', 'TCP'],
    ['udp', 'UDP'],
    ['udp6', 'UDP'],
  ] as const)
    listening.push(...parseSockets(protocol, await text(join(places.proc, 'net', file))));
  const names = await read(places.cni, readdir(places.cni), []);
  return {
    kernel: places.kernel,
    modules,
    interfaces: await interfacesOf(places, text),
    listening,
    cni: names.filter((name) => /\.(?:conf|conflist|json)$/.test(name)).toSorted(),
    unreadable,
  };
}

async function interfacesOf(
  { sys }: Places,
  text: (path: string) => Promise<string>,
): Promise<NodeInspection['interfaces']> {
  const found: NodeInspection['interfaces'] = [];
  for (const [name, addresses = []] of Object.entries(networkInterfaces())) {
    const mtu = Number((await text(join(sys, 'class/net', name, 'mtu'))).trim());
    found.push({ name, mtu, addresses: addresses.map(({ address }) => address) });
  }
  return found;
}

/** Names of modules in a list of paths: `kernel/net/openvswitch/vport-geneve.ko.xz: …`. */
function namesIn(list: string): ReadonlySet<string> {
  const names = list.split('\n').map((line) => /([^/:]+)\.ko(?:\.\w+)?(?::|$)/.exec(line)?.[1] ?? '');
  return new Set(names.map((name) => name.replaceAll('-', '_')));
}
