/**
 * Allowed imports between the folders of a room. A room is a list of folders, lowest first: files of a folder import files of
 * the same folder and of those before it. Files that lie directly in a room (`main.ts` and the rest of the wiring)
 * import everything, and no folder imports them. A folder that is not listed has no place, which the test reports.
 */

export interface Room {
  readonly path: string;
  /** Lowest first. */
  readonly order: readonly string[];
  /** Folders that `watch/` may import. It only feeds the state, so most folders before it in the order are excluded. */
  readonly watchImports: readonly string[];
  /** Folders of another room's path that this one stands on. */
  readonly standsOn?: readonly string[];
}

export const rooms: readonly Room[] = [
  {
    path: 'lib',
    order:
      'net run rounds dns netlink gobgp ovsdb kube api services slices ovn desired pki store policies route-policy bgp'.split(
        ' ',
      ),
    watchImports: [],
  },
  room('central'),
  // `ipam/` allocates the addresses of one subnet: a data structure that model/ speaks of.
  room('controller', { ipam: 'lib' }),
  // `host/` and `ovs/` apply plans to the kernel and to the local switch; `cni/` uses both to serve the runtime.
  room('daemon', { host: 'plan', ovs: 'host', cni: 'apply' }, ['host']),
  // `link/` is the session between agent and hub; its messages are values in model/, which all stages speak.
  room('interconnect', { link: 'model' }),
  { ...room('interconnect/hub'), standsOn: ['interconnect/link', 'interconnect/model'] },
  room('speaker'),
  // `command/` parses a command line; each command in `commands/` is a wiring of its own; `render/` makes text of answers.
  room('cli', { command: 'lib', render: 'apply', commands: 'status' }, ['command']),
];

/** @param own folders that only this room has → the folder they come after; `lib`: they come first */
function room(path: string, own: Readonly<Record<string, string>> = {}, watchImports: readonly string[] = []): Room {
  const order = ['model', 'state', 'settle', 'plan', 'watch', 'apply', 'status'];
  for (const [folder, after] of Object.entries(own)) order.splice(order.indexOf(after) + 1, 0, folder);
  return { path, order, watchImports: ['model', ...watchImports] };
}

/** Tests and test beds import the code under test. */
export function isTestFile(file: string): boolean {
  return /\.test\.ts$|(?:^|\/)testing[^/]*\.ts$|-bed\.ts$|(?:^|\/)fake-server\.ts$/.test(file);
}

/** The room of a file: that with the longest path. */
export function roomOf(file: string): Room | undefined {
  const found = rooms.filter(({ path }) => file.startsWith(`${path}/`));
  return found.sort((a, b) => b.path.length - a.path.length)[0];
}

/** The room's path and the folder in it; the path alone where the file lies directly in the room. */
export function folderOf(file: string, { path }: Room): string {
  const [folder, ...rest] = file.slice(path.length + 1).split('/');
  return rest.length === 0 ? path : `${path}/${folder}`;
}

/** Why a file must not import another; undefined if the import is allowed. The linter checks imports between rooms. */
export function objectionTo(from: string, to: string): string | undefined {
  const [room, target] = [roomOf(from), roomOf(to)];
  if (room === undefined || target === undefined || isTestFile(from)) return undefined;
  const [folder, imported] = [folderOf(from, room), folderOf(to, target)];
  if (folder === imported || folder === room.path || (target.path === 'lib' && room.path !== 'lib')) return undefined;
  const arrow = `${folder} → ${imported}`;
  const name = folder.slice(room.path.length + 1);
  if (!room.order.includes(name)) return `${folder} has no place`;
  if (target !== room) return (room.standsOn ?? []).includes(imported) ? undefined : arrow;
  const importedName = imported.slice(room.path.length + 1);
  const allowed = name === 'watch' ? room.watchImports : room.order.slice(0, room.order.indexOf(name));
  return allowed.includes(importedName) ? undefined : arrow;
}
