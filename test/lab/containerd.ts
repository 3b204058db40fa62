/** The containerd of a node: a process in the node's network namespace, with folders, socket and image of its own. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cniBin, cniConf } from './cni-folder.ts';
import { type Component, startAndWait } from './component.ts';
import { CriClient } from './cri/client.ts';
import { busyboxImage, imageName } from './cri/image.ts';
import { mountsBelow } from './leftovers.ts';
import type { NodeLayout } from './layout.ts';
import { cniSocket } from './rooms.ts';
import { run } from './run.ts';

/** containerd's own namespace for objects created through the CRI. */
export const criNamespace = 'k8s.io';

/** Where a node's containerd answers. */
export function containerdSocket(node: Pick<NodeLayout, 'dir'>): string {
  return join(node.dir, 'containerd.sock');
}

export function runsContainerd(node: NodeLayout): boolean {
  return node.runtime === 'containerd';
}

/** As a node's status has it, such as `1.6.20~ds1`. */
export async function containerdVersion(): Promise<string> {
  return (await run(['containerd', '--version'])).split(' ')[2] ?? '';
}

function stateDir(node: Pick<NodeLayout, 'dir'>): string {
  return join(node.dir, 'containerd/state');
}

/** Starts a node's containerd and imports the image of its pods. @throws Error with its last log lines */
export async function startContainerd(node: NodeLayout): Promise<void> {
  const { dir, netns } = node;
  const config = join(dir, 'containerd.toml');
  mkdirSync(cniConf(node), { recursive: true });
  writeFileSync(config, containerdConfig(placesOf(node)));
  const component: Component = {
    dir,
    name: 'containerd',
    netns,
    argv: ['containerd', '--config', config],
    // Plugins inherit the variable: it gives ours the socket of this node's daemon.
    env: { ISTHMUS_SOCKET: cniSocket(node) },
  };
  await startAndAsk(node, component);
  const archive = join(dir, 'containerd/image.tar');
  writeFileSync(archive, busyboxImage());
  await run(['ctr', '--address', containerdSocket(node), '--namespace', criNamespace, 'image', 'import', archive]);
}

/** Starts a containerd and waits until it answers: it listens before it has loaded its state. @throws Error with its last log lines */
export async function startAndAsk(node: NodeLayout, component: Component): Promise<void> {
  const cri = new CriClient({ socket: containerdSocket(node), timeoutMs: 5000 });
  const answers = async (): Promise<true> => {
    await cri.listPodSandbox();
    return true;
  };
  try {
    await startAndWait(component, answers);
  } finally {
    cri.close();
  }
}

/** Folders of a containerd. */
export interface ContainerdPlaces {
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly cniBin: string;
  readonly cniConf: string;
  /** Network namespaces of pods in `state`, in place of the folder that the whole machine has for them. */
  readonly hasOwnNamespaces: boolean;
}

function placesOf(node: NodeLayout): ContainerdPlaces {
  return {
    root: join(node.dir, 'containerd/root'),
    state: stateDir(node),
    socket: containerdSocket(node),
    cniBin: cniBin(node),
    cniConf: cniConf(node),
    hasOwnNamespaces: true,
  };
}

export function containerdConfig(places: ContainerdPlaces): string {
  const text = (value: string): string => JSON.stringify(value);
  return `version = 2
root = ${text(places.root)}
state = ${text(places.state)}
# Those that would look for disks, or make folders of their own elsewhere on the machine.
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.restart",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]
[grpc]
address = ${text(places.socket)}
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = ${text(imageName)}
netns_mounts_under_state_dir = ${places.hasOwnNamespaces}
# A machine that is itself a container may not let a process be spared from the kernel's memory killer.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = ${text(places.cniBin)}
conf_dir = ${text(places.cniConf)}
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
Root = ${text(join(places.state, '../runc'))}
`;
}

/** The network namespaces of sandboxes, as mounts in the state of a node's containerd. */
export function sandboxNamespaces(node: Pick<NodeLayout, 'dir'>): string[] {
  return mountsBelow(join(stateDir(node), 'io.containerd.grpc.v1.cri/netns'));
}
