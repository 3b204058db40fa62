/**
 * A test bed for the controller: a real API server with the chart's CRDs and the controller's RBAC roles, a real northbound
 * database, and the controller as a separate process that tests can kill.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOvsdb } from 'ovsdb-client';
import type { OvsdbClient, Row } from 'ovsdb-client';
import { parse, parseAllDocuments } from 'yaml';
import { openKube } from '../../lib/kube/client.ts';
import {
  apiVersionOf,
  collectionPath,
  events,
  ipPools,
  ips,
  loadBalancerPools,
  namespaces,
  nodes,
  objectPath,
  pods,
  providerNetworks,
  securityGroups,
  services,
  subnets,
  switchLbRules,
  transitSwitches,
  vips,
  vlans,
  vpcDnses,
  vpcs,
} from '../../lib/kube/resources.ts';
import { startApiServer } from '../../lib/kube/testing.ts';
import type { TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import { schemaFile, startOvsdbServer } from '../../lib/ovsdb/src/testing.ts';
import type { TestServer } from '../../lib/ovsdb/src/testing.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { outsideKinds } from './outside-kinds.ts';

const root = join(import.meta.dirname, '../..');
const system = 'kube-system';
/** The controller's longest delay of status writes after many changes, with some margin. */
const longestWaitMs = 1100;
/** Longer than the controller takes from an object to its rows. */
const writeMs = 200;
/** Between two looks at what it has written. */
const lookMs = 20;
const tables = [
  'BFD',
  'Chassis_Template_Var',
  'Gateway_Chassis',
  'Load_Balancer',
  'Load_Balancer_Group',
  'Load_Balancer_Health_Check',
  'Logical_Router',
  'Logical_Router_Port',
  'Logical_Router_Policy',
  'Logical_Router_Static_Route',
  'Logical_Switch',
  'Logical_Switch_Port',
  'NAT',
  'Port_Group',
  'DHCP_Options',
  'QoS',
  'ACL',
  'Address_Set',
];

export interface PodOptions {
  readonly namespace?: string;
  readonly node?: string | null;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly hostNetwork?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  /** Of its container. */
  readonly ports?: readonly object[];
  readonly owner?: { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string };
}

export function nameOf(row: Row | undefined): string {
  return typeof row?.['name'] === 'string' ? row['name'] : '';
}

/** A reader of the tables that tests look at. */
export function readNorthbound(remote: string): Promise<OvsdbClient> {
  const monitor = Object.fromEntries(tables.map((table) => [table, undefined]));
  return openOvsdb({ remotes: [remote], database: 'OVN_Northbound', monitor });
}

export class ControllerBed {
  readonly api: TestApiServer;
  readonly kube: KubeClient;
  readonly server: TestServer;
  readonly nb: OvsdbClient;
  /** Rows changed by any client since the start. */
  changes = 0;
  #controller: ChildProcess | undefined;
  #starts = 0;

  private constructor(api: TestApiServer, server: TestServer, nb: OvsdbClient) {
    this.api = api;
    this.kube = openKube({ kubeconfig: api.kubeconfig, userAgent: 'isthmus-test' });
    this.server = server;
    this.nb = nb;
    nb.subscribe((changes) => {
      this.changes += changes.length;
    });
  }

  /** @param flags of kube-apiserver, beside those of all tests */
  static async open(flags: readonly string[] = []): Promise<ControllerBed> {
    const [api, server] = await Promise.all([
      startApiServer({ flags }),
      startOvsdbServer({ schema: schemaFile('ovn-nb') }),
    ]);
    const bed = new ControllerBed(api, server, await readNorthbound(server.remote));
    try {
      await bed.#install();
    } catch (error) {
      // The caller never receives this bed and cannot close it.
      await bed.close();
      throw error;
    }
    return bed;
  }

  async close(): Promise<void> {
    await this.kill();
    await this.nb.close();
    await this.kube.close();
    await Promise.all([this.server.stop(), this.api.stop()]);
  }

  async #install(): Promise<void> {
    for (const file of globSync('charts/isthmus/crds/*.yaml', { cwd: root })) {
      await this.#post(
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        parse(readFileSync(join(root, file), 'utf8')),
      );
    }
    for (const resource of [
      vpcs,
      subnets,
      vlans,
      providerNetworks,
      ips,
      ipPools,
      vips,
      securityGroups,
      transitSwitches,
      loadBalancerPools,
      switchLbRules,
      vpcDnses,
      ...outsideKinds,
    ]) {
      await eventually(`${resource.plural} are served`, async () => this.kube.list(resource).catch(() => undefined));
    }
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'isthmus-controller', namespace: system },
    };
    await eventually('kube-system', () => this.#post(`/api/v1/namespaces/${system}/serviceaccounts`, account));
    const rbac = readFileSync(join(root, 'charts/isthmus/templates/controller-rbac.yaml'), 'utf8')
      .replaceAll('{{ .Release.Namespace }}', system)
      .replaceAll(/^.*\{\{.*\}\}.*$/gm, '');
    for (const document of parseAllDocuments(rbac)) {
      const object = document.toJS() as RawObject;
      const scope = object.metadata.namespace === undefined ? '' : `/namespaces/${object.metadata.namespace}`;
      await this.#post(`/apis/rbac.authorization.k8s.io/v1${scope}/${object.kind?.toLowerCase()}s`, object);
    }
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
    const answer = (await this.#post(
      `/api/v1/namespaces/${system}/serviceaccounts/isthmus-controller/token`,
      request,
    )) as { status: { token: string } };
    const config = JSON.parse(readFileSync(this.api.kubeconfig, 'utf8')) as { users: unknown[] };
    config.users = [{ name: 'admin', user: { token: answer.status.token } }];
    writeFileSync(this.#kubeconfig, JSON.stringify(config), { mode: 0o600 });
  }

  get #kubeconfig(): string {
    return join(this.api.dir, 'controller.kubeconfig');
  }

  #post(path: string, body: unknown): Promise<unknown> {
    return this.kube.request('POST', path, body);
  }

  /** Starts the controller with `more` arguments; resolves when its first round is done. */
  async start(more: readonly string[] = []): Promise<void> {
    this.#starts += 1;
    const log = join(this.api.dir, `controller-${this.#starts}.log`);
    const args = [
      'controller/main.ts',
      '--kubeconfig',
      this.#kubeconfig,
      '--nb',
      this.server.remote,
      '--identity',
      `test-${this.#starts}`,
    ];
    const child = spawn(process.execPath, [...args, ...more, '--metrics-address', '127.0.0.1:0'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#controller = child;
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      appendFileSync(log, chunk);
    });
    await eventually('the first round of the controller', () => {
      if (child.exitCode !== null) throw new Error(`the controller ended: ${output}`);
      return output.includes('first round done');
    });
  }

  /** The output of `--dry-run`: the changes that a start would make. */
  async dryRun(): Promise<string> {
    const args = ['controller/main.ts', '--dry-run', '--kubeconfig', this.#kubeconfig, '--nb', this.server.remote];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let [output, errors] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const [code] = (await once(child, 'close')) as [number | null];
    assert.equal(code, 0, errors);
    return output;
  }

  /** Kills the controller, like a crash. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
    // Otherwise the next controller would wait until the lease expires.
    await this.kube.delete(
      { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease', namespaced: true },
      { namespace: system, name: 'isthmus-controller' },
    );
  }

  /** Stops the controller gracefully. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#controller;
    this.#controller = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  get isRunning(): boolean {
    return this.#controller !== undefined && this.#controller.exitCode === null;
  }

  rows(table: string): readonly Row[] {
    return [...this.nb.cache.table(table).rows.values()];
  }

  row(table: string, name: string): Row | undefined {
    return this.rows(table).find((row) => row['name'] === name);
  }

  policy(match: string): Row | undefined {
    return this.rows('Logical_Router_Policy').find((row) => row['match'] === match);
  }

  /** The names of the ports in a port group. */
  members(group: string): readonly string[] {
    const uuids = (this.row('Port_Group', group)?.['ports'] ?? []) as readonly string[];
    return uuids.map((uuid) => nameOf(this.nb.cache.table('Logical_Switch_Port').rows.get(uuid))).sort();
  }

  async createNode(name: string, address: string): Promise<void> {
    await this.kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const status = { addresses: [{ type: 'InternalIP', address }] };
    await this.kube.request(
      'PATCH',
      objectPath(nodes, { name }, 'status'),
      { status },
      { contentType: 'application/merge-patch+json' },
    );
  }

  async createNamespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  }

  async createSubnet(name: string, spec: object): Promise<void> {
    await this.kube.create(subnets, { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', metadata: { name }, spec });
  }

  async createPod(
    name: string,
    {
      namespace = 'default',
      node = 'n1',
      annotations = {},
      labels = {},
      ports = [],
      hostNetwork,
      owner,
    }: PodOptions = {},
  ): Promise<void> {
    const spec = {
      containers: [{ name: 'c', image: 'none', ports }],
      ...(node === null ? {} : { nodeName: node }),
      ...(hostNetwork === undefined ? {} : { hostNetwork }),
    };
    const ownerReferences = owner === undefined ? [] : [{ ...owner, controller: true }];
    const metadata = { name, namespace, annotations, labels, ownerReferences };
    await this.kube.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
  }

  /** Creates an object of any kind, without a status. */
  async create(resource: Resource, name: string, spec: object, namespace?: string): Promise<void> {
    const metadata = namespace === undefined ? { name } : { name, namespace };
    await this.kube.create(resource, { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, spec });
  }

  /** The status of an object; the mirror then has all rows that were written before it. */
  async status(resource: Resource, name: string): Promise<Readonly<Record<string, unknown>>> {
    const object = await this.kube.get(resource, { name });
    await this.#catchUp();
    return (object['status'] ?? {}) as Readonly<Record<string, unknown>>;
  }

  /** A round trip: the mirror then has all earlier rows, so that a test may look for the rows behind a status or annotation. */
  async #catchUp(): Promise<void> {
    await this.nb.transact([{ op: 'comment', comment: 'a round trip' }]);
  }

  /** Deletes a pod like the kubelet does after the containers have ended. */
  async deletePod(name: string, namespace = 'default'): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
    await this.kube.request('DELETE', objectPath(pods, { namespace, name }), body);
  }

  async annotations(resource: Resource, name: string, namespace?: string): Promise<Readonly<Record<string, string>>> {
    const object = await this.kube.get(resource, namespace === undefined ? { name } : { namespace, name });
    return object.metadata.annotations ?? {};
  }

  /** The pod's address, once its annotations report it. */
  address(name: string, namespace = 'default'): Promise<string> {
    return eventually(`an address of ${namespace}/${name}`, async () => {
      const annotations = await this.annotations(pods, name, namespace);
      if (annotations['ovn.kubernetes.io/allocated'] !== 'true') return undefined;
      await this.#catchUp();
      return annotations['ovn.kubernetes.io/ip_address'];
    });
  }

  /** The message of an event with this reason about an object. */
  event(reason: string, name: string, pattern: RegExp): Promise<string> {
    return eventually(`an event ${reason} about ${name} like ${pattern}`, async () => {
      const found = (await this.kube.list(events)).find((event) => {
        const about = event['involvedObject'] as { name?: string };
        return event['reason'] === reason && about.name === name && pattern.test(String(event['message']));
      });
      if (found !== undefined) await this.#catchUp();
      return found === undefined ? undefined : String(found['message']);
    });
  }

  /** The reasons of the events about an object. */
  async eventsAbout(uid: string): Promise<readonly string[]> {
    const all = await this.kube.list(events);
    return all
      .filter((event) => (event['involvedObject'] as { uid?: string }).uid === uid)
      .map((event) => String(event['reason']));
  }

  async condition(
    name: string,
    type: string,
  ): Promise<{ status: string; reason: string; message: string } | undefined> {
    const status = (await this.status(subnets, name)) as {
      conditions?: { type: string; status: string; reason: string; message: string }[];
    };
    return status.conditions?.find((condition) => condition.type === type);
  }

  async untilCondition(name: string, type: string, status: string, reason?: string): Promise<string> {
    return eventually(`${type}=${status} ${reason ?? ''} of subnet ${name}`, async () => {
      const condition = await this.condition(name, type);
      const isSo = condition?.status === status && (reason === undefined || condition.reason === reason);
      if (!isSo) throw new Error(JSON.stringify(condition));
      return condition.message === '' ? ' ' : condition.message;
    });
  }

  /** The version of each object that the controller may write, with its content, so that failures show the difference. */
  async versions(): Promise<Readonly<Record<string, string>>> {
    const versions: Record<string, string> = {};
    const kinds = [
      pods,
      services,
      loadBalancerPools,
      switchLbRules,
      nodes,
      namespaces,
      subnets,
      vlans,
      providerNetworks,
      vpcs,
      ips,
      ipPools,
      vips,
      securityGroups,
      ...outsideKinds,
    ];
    const read = async (resource: Resource): Promise<void> => {
      const answer = (await this.kube.request('GET', collectionPath(resource))) as { items: RawObject[] };
      for (const { metadata, ...rest } of answer.items) {
        const { resourceVersion, annotations, labels } = metadata;
        const key = `${resource.kind}/${metadata.namespace ?? ''}/${metadata.name}`;
        versions[key] = `${resourceVersion} ${JSON.stringify({ annotations, labels, ...rest })}`;
      }
    };
    await Promise.all([...kinds, events].map(read));
    return versions;
  }

  /** Waits until rows have changed since `before`, a value of `changes`, and no more do; a second at most for the first change. */
  async untilWritten(before: number): Promise<void> {
    const startMs = performance.now();
    while (this.changes === before && performance.now() - startMs < 5 * writeMs) await sleep(lookMs);
    let [seen, sinceMs] = [this.changes, performance.now()];
    while (performance.now() - sinceMs < writeMs) {
      await sleep(lookMs);
      if (this.changes !== seen) [seen, sinceMs] = [this.changes, performance.now()];
    }
  }

  /** Waits until neither objects nor rows have changed for a while. */
  async quiet(): Promise<void> {
    let before: Readonly<Record<string, string>> = {};
    await eventually(
      'quiet',
      async () => {
        const begunMs = performance.now();
        const now = { ...(await this.versions()), rows: String(this.changes) };
        const readMs = performance.now() - begunMs;
        const names = new Set([...Object.keys(before), ...Object.keys(now)]);
        const changed = [...names].filter((name) => before[name] !== (now as Record<string, string>)[name]);
        before = now;
        if (changed.length === 0) return true;
        await sleep(Math.max(longestWaitMs, 20 * readMs));
        throw new Error(`still changing: ${changed.join(' ')}`);
      },
      120_000,
    );
  }

  /** Asserts that no address is used twice, and that pods, IP objects and rows agree. */
  async assertConsistent(): Promise<void> {
    const ports = this.rows('Logical_Switch_Port').filter((row) => row['type'] === '');
    const addresses = ports.map((row) => String((row['addresses'] as string[])[0]));
    const all = addresses.flatMap((text) => text.split(' '));
    assert.equal(new Set(all).size, all.length, `an address twice: ${all.sort().join(' ')}`);
    const objects = await this.kube.list(ips);
    const second = new Map<string, string>();
    for (const { metadata } of await this.kube.list(nodes)) {
      const address = metadata.annotations?.['isthmus.network/service-address'];
      if (address !== undefined) second.set(`node-${metadata.name}`, ` ${address.replace(',', ' ')}`);
    }
    const recorded = objects.map((ip) => {
      const spec = ip['spec'] as Record<string, string>;
      const own = `${spec['macAddress']} ${spec['ipAddress']?.replace(',', ' ')}`;
      return `${ip.metadata.name} ${own}${second.get(ip.metadata.name) ?? ''}`;
    });
    assert.deepEqual(recorded.sort(), ports.map((row, index) => `${nameOf(row)} ${addresses[index]}`).sort());
    for (const pod of await this.kube.list(pods)) {
      const { name, namespace, annotations = {} } = pod.metadata;
      const isFinished = (pod['status'] as { phase?: string }).phase === 'Succeeded';
      if (isFinished || annotations['ovn.kubernetes.io/allocated'] !== 'true') continue;
      const text = `${annotations['ovn.kubernetes.io/mac_address']} ${annotations['ovn.kubernetes.io/ip_address']?.replace(',', ' ')}`;
      assert.deepEqual(this.row('Logical_Switch_Port', `${name}.${namespace}`)?.['addresses'], [text]);
    }
  }
}
