/** A kubelet that can do nothing but run OVN's programs, so that the API server has a pod of OVN in which a user may run them. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { ovnEnvironment } from 'ovsdb-client/testing';
import { createHubAuthority, issueHub } from '../../interconnect/link/certificate.ts';
import type { CommandResult } from '../../lib/kube/exec.ts';
import { nodes, objectPath, pods } from '../../lib/kube/resources.ts';
import { serveExec } from '../../lib/kube/testing-exec.ts';
import type { KubeClient } from '../../lib/kube/types.ts';

/** What the databases of the chart have for a socket. */
const socketInPod = 'unix:/run/ovn/sb.sock';

export interface ExecKubelet {
  /** Every command so far. */
  readonly commands: readonly (readonly string[])[];
  close(): Promise<void>;
}

function runHere([program = '', ...argv]: readonly string[], southbound: string): Promise<CommandResult> {
  const here = argv.map((word) => word.replace(socketInPod, southbound));
  return new Promise((resolve) => {
    execFile(program, here, { env: ovnEnvironment(), maxBuffer: 2 ** 24 }, (error, stdout, stderr) =>
      resolve({ stdout, stderr, exitCode: error === null ? 0 : Number(error.code) }),
    );
  });
}

/** Starts it for a node that has no other, and creates the pod of OVN there. */
export async function startExecKubelet(
  kube: KubeClient,
  { node, southbound }: { readonly node: string; readonly southbound: string },
): Promise<ExecKubelet> {
  const { key, certificate: cert } = await issueHub(await createHubAuthority(Date.now()), Date.now());
  const server = createServer({ key, cert });
  const sockets = new Set<Socket>();
  const commands: (readonly string[])[] = [];
  server.on('connection', (socket: Socket) => sockets.add(socket));
  serveExec(server, (command) => {
    commands.push(command);
    return runHere(command, southbound);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: Port } = server.address() as AddressInfo;
  const { status } = await kube.get(nodes, { name: node });
  const { addresses } = status as { readonly addresses: readonly object[] };
  const patch = {
    addresses: [...addresses, { type: 'Hostname', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port } },
  };
  await kube.patch(nodes, { name: node }, 'merge', { status: patch }, { subresource: 'status' });
  await createPod(kube, node);
  return {
    commands,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function createPod(kube: KubeClient, nodeName: string): Promise<void> {
  const name = { namespace: 'kube-system', name: 'isthmus-ovn-central-x7k2p' };
  const containers = ['nb', 'sb', 'northd'].map((container) => ({ name: container, image: 'none' }));
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: pods.kind,
    metadata: { ...name, labels: { 'app.kubernetes.io/name': 'isthmus-ovn-central' } },
    spec: { nodeName, hostNetwork: true, containers },
  });
  const containerStatuses = containers.map(({ name: container, image }) => ({
    name: container,
    image,
    imageID: '',
    ready: true,
    restartCount: 0,
  }));
  const body = { status: { phase: 'Running', containerStatuses } };
  await kube.request('PATCH', objectPath(pods, name, 'status'), body, {
    contentType: 'application/strategic-merge-patch+json',
  });
}
