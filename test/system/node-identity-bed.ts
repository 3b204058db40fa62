/** A real API server with the chart's accounts, roles and policies, two nodes, and tokens bound like those of kubelet and the lab. */
import { readFileSync } from 'node:fs';
import { openKube } from '../../lib/kube/client.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { parseManifests, renderChart } from '../charts/render.ts';
import { applyAll, isLabKind, type Manifest } from '../lab/objects.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

export type Account = 'isthmus-controller' | 'isthmus-daemon' | 'isthmus-central' | 'isthmus-speaker';

/** One request. */
export interface Try {
  readonly what?: string;
  readonly method?: 'PATCH' | 'POST' | 'DELETE' | 'GET';
  readonly path: string;
  readonly body?: unknown;
  /** The format of the body; `merge-patch+json` by default for a patch. */
  readonly format?: 'merge-patch+json' | 'apply-patch+yaml' | 'json-patch+json';
}

/** The path and the apiVersion of the kinds of `isthmus.network`. */
export const ours = '/apis/isthmus.network/v1alpha1';
export const apiVersion = 'isthmus.network/v1alpha1';
export const serviceAccounts = '/api/v1/namespaces/kube-system/serviceaccounts';
export const time = '2026-01-01T00:00:00Z';

/** `done`, or the status and message of the refusal. */
export async function verdict(client: KubeClient, { method = 'PATCH', path, body, format }: Try): Promise<string> {
  const contentType = `application/${format ?? (method === 'PATCH' ? 'merge-patch+json' : 'json')}`;
  try {
    await client.request(method, path, body, { contentType });
    return 'done';
  } catch (error) {
    if (error instanceof KubeApiError) return `${String(error.status)}: ${error.message}`;
    throw error;
  }
}

export class IdentityBed {
  readonly admin: KubeClient;
  readonly #server: TestApiServer;
  readonly #opened: KubeClient[] = [];
  #events = 0;

  private constructor(server: TestApiServer) {
    this.#server = server;
    this.admin = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
  }

  /** Starts the bed; resolves when the policies are in force. */
  static async start(): Promise<IdentityBed> {
    const bed = new IdentityBed(await startApiServer());
    const chart = parseManifests(renderChart([])) as readonly Manifest[];
    await applyAll(bed.admin, chart.filter(isLabKind));
    await bed.#makeObjects();
    const daemon = await bed.inPod('isthmus-daemon', 'n1');
    const taken: Try = { path: '/api/v1/nodes/n2?dryRun=All', body: { metadata: { labels: { a: 'b' } } } };
    await eventually(
      'the policies to be in force',
      async () => (await verdict(daemon, taken)) !== 'done' || notYet('not yet'),
    );
    return bed;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#opened, this.admin].map((client) => client.close()));
    await this.#server.stop();
  }

  /** A client with the token that kubelet gives to the account's pod on that node. @param as the user to impersonate */
  async inPod(account: Account, node: string, as?: string): Promise<KubeClient> {
    const pod = podOf('kube-system', `${account}-${node}`, node, account);
    await applyAll(this.admin, [pod]);
    return this.boundTo(account, { apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name }, as);
  }

  /** A client with a token that is bound to this object, or unbound. */
  async boundTo(account: Account, boundObjectRef: object | undefined, as?: string): Promise<KubeClient> {
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600, ...(boundObjectRef && { boundObjectRef }) },
    };
    const answer = await this.admin.request('POST', `${serviceAccounts}/${account}/token`, body);
    const { token } = (answer as { status: { token: string } }).status;
    return this.#withUser({ token, ...(as !== undefined && { as }) });
  }

  /** A client of the administrator that impersonates another user. */
  actingAs(user: string): KubeClient {
    return this.#withUser({ ...this.#config().users[0]?.user, as: user });
  }

  async write(method: 'PATCH' | 'POST', path: string, body: object): Promise<unknown> {
    return this.admin.request(
      method,
      path,
      body,
      method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {},
    );
  }

  /** A request that creates an event. */
  eventOf(
    component: string,
    host: string,
    about: { readonly kind: string; readonly name: string; readonly namespace?: string },
  ): Try {
    const { namespace = 'default' } = about;
    this.#events += 1;
    const body = {
      metadata: { name: `test.${String(this.#events)}`, namespace },
      involvedObject: about,
      reason: 'Test',
      message: 'a test',
      type: 'Normal',
      source: { component, host },
      reportingComponent: component,
      reportingInstance: host,
    };
    return { method: 'POST', path: `/api/v1/namespaces/${namespace}/events`, body };
  }

  #config(): { readonly users: readonly { readonly user: object }[] } {
    return JSON.parse(readFileSync(this.#server.kubeconfig, 'utf8')) as { users: { user: object }[] };
  }

  #withUser(user: object): KubeClient {
    const content = { ...this.#config(), users: [{ name: 'admin', user }] };
    const client = openKube({ kubeconfig: { source: 'test', content }, userAgent: 'isthmus-test' });
    this.#opened.push(client);
    return client;
  }

  async #makeObjects(): Promise<void> {
    const spec = { instance: 'default', address: '192.0.2.1', asn: 65000 };
    await applyAll(this.admin, [
      ...['n1', 'n2'].map((name) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { rack: 'r1' } } })),
      { apiVersion, kind: 'BgpInstance', metadata: { name: 'default' }, spec: { localASN: 65001 } },
      { apiVersion, kind: 'BgpPeer', metadata: { name: 'tor' }, spec },
      podOf('default', 'web', 'n1'),
    ]);
    await Promise.all(['n1', 'n2'].map((name) => this.#describeNode(name)));
    await this.write('POST', `${ours}/bgpnodestates`, { apiVersion, kind: 'BgpNodeState', metadata: { name: 'n2' } });
    const nodes = ['n2', 'gone'].map((node) => ({ node, ready: true }));
    await this.write('PATCH', `${ours}/bgpinstances/default/status`, { status: { nodes } });
    const event = this.eventOf('kubelet', 'n1', { kind: 'Pod', namespace: 'default', name: 'web' });
    const metadata = { name: 'kubelets', namespace: 'default' };
    await this.write('POST', event.path, { ...(event.body as object), metadata });
  }

  async #describeNode(name: string): Promise<void> {
    const ready = { type: 'Ready', status: 'True', reason: 'Test', lastHeartbeatTime: time, lastTransitionTime: time };
    const status = {
      capacity: { cpu: '4' },
      addresses: [{ type: 'InternalIP', address: '192.0.2.11' }],
      conditions: [ready],
    };
    await this.write('PATCH', `/api/v1/nodes/${name}`, {
      spec: { taints: [{ key: 'reserved', effect: 'NoSchedule' }] },
    });
    await this.write('PATCH', `/api/v1/nodes/${name}/status`, { status });
    const gateways = `${ours}/interconnectgateways`;
    await this.write('POST', gateways, { apiVersion, kind: 'InterconnectGateway', metadata: { name } });
    await this.write('PATCH', `${gateways}/${name}/status`, { status: { chassis: 'c1', peers: [peer] } });
  }
}

const peer = { cluster: 'west', chassis: 'c9', address: '192.0.2.99' };

export function podOf(namespace: string, name: string, node: string, account = 'default'): Manifest {
  const containers = [{ name: 'main', image: 'none' }];
  const spec = { nodeName: node, serviceAccountName: account, hostNetwork: true, containers };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name }, spec };
}
