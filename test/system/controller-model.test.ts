/**
 * Random sequences of creates, updates, deletes and crashes against a model, on a real API server and a real northbound
 * database. When the controller is idle, no address is used twice, holders keep their addresses, each pod without an address
 * has a reason, nothing is orphaned, and a dry run from scratch finds nothing to write.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  ipPools,
  ips,
  nodes,
  objectPath,
  pods,
  securityGroups,
  statefulSets,
  subnets,
  vips,
  vpcs,
} from '../../lib/kube/resources.ts';
import { addressConditionOf } from '../../lib/api/pod-addresses.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { ControllerBed, nameOf } from './controller-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const seed = Number(process.env['ISTHMUS_MODEL_SEED'] ?? 1);
const steps = Number(process.env['ISTHMUS_MODEL_STEPS'] ?? 160);
const ovn = (key: string): string => `ovn.kubernetes.io/${key}`;
const merge = { contentType: 'application/merge-patch+json' };

/** A pseudorandom generator: the same seed gives the same sequence. */
function generator(start: number): (below: number) => number {
  let state = start >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface KnownPod {
  readonly uid: string;
  readonly isFinished: boolean;
}

/** Reads the condition, because the pod's author may forge annotations. */
function hasAnswer(pod: RawObject): boolean {
  return addressConditionOf(pod['status'])?.status === 'True';
}

class Model {
  readonly #bed: ControllerBed;
  readonly #random = generator(seed);
  readonly #pods = new Map<string, KnownPod>();
  readonly #sets = new Map<string, { uid: string; replicas: number }>();
  readonly #nodes = new Set<string>(['n1', 'n2']);
  /** The first address of each replica, which it keeps while the StatefulSet wants the replica. */
  readonly kept = new Map<string, string>();
  #count = 0;
  readonly log: string[] = [];

  constructor(bed: ControllerBed) {
    this.#bed = bed;
  }

  #one<T>(list: readonly T[]): T | undefined {
    return list[this.#random(Math.max(1, list.length))];
  }

  /** Does one random action. */
  async step(): Promise<void> {
    const actions: readonly (readonly [number, () => Promise<string | undefined>])[] = [
      [40, () => this.#createPod()],
      [28, () => this.#deletePod()],
      [6, () => this.#finishPod()],
      [8, () => this.#createReplica()],
      [4, () => this.#scale()],
      [4, () => this.#togglePool()],
      [4, () => this.#toggleVip()],
      [4, () => this.#toggleNode()],
      [4, () => this.#toggleSubnet()],
      [4, () => this.#exclude()],
      [4, () => this.#toggleGroup()],
      [4, () => this.#toggleVpc()],
      [4, () => this.#edit()],
      [16, () => this.#createForged()],
      [12, () => this.#tamper()],
    ];
    let at = this.#random(actions.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, act] of actions) {
      at -= weight;
      if (at >= 0) continue;
      const done = await act();
      if (done !== undefined) this.log.push(done);
      return;
    }
  }

  async #createPod(): Promise<string> {
    const name = `p${(this.#count += 1)}`;
    const namespace = this.#one(['default', 'default', 'blue', 'tiny']) ?? 'default';
    const wishes: readonly (() => Readonly<Record<string, string>>)[] = [
      () => ({}),
      () => ({}),
      () => ({ [ovn('ip_address')]: `10.16.0.${2 + this.#random(12)}` }),
      () => ({ [ovn('ip_pool')]: 'pool' }),
      () => ({ [ovn('ip_pool')]: '10.16.0.20,10.16.0.21,10.16.0.22' }),
      () => ({ [ovn('vip')]: 'shared' }),
      () => ({ [ovn('ip_address')]: 'nonsense' }),
      () => ({ [ovn('security_groups')]: 'web' }),
      () => ({ [ovn('logical_switch')]: 'own' }),
    ];
    const annotations = this.#one(wishes)?.() ?? {};
    await this.#create(name, { namespace, annotations });
    return `create ${namespace}/${name} ${JSON.stringify(annotations)}`;
  }

  /** Annotations like the controller's, forged by an author who wants an address of another pod. */
  #forgery(): Readonly<Record<string, string>> {
    const addresses = [
      `10.16.0.${this.#random(32)}`,
      `10.16.0.${this.#random(32)}`,
      `10.60.0.${this.#random(8)}`,
      `100.64.0.${1 + this.#random(4)}`,
      `10.16.0.${this.#random(32)},fd00::${this.#random(9)}`,
      'junk',
      '',
    ];
    const all: Readonly<Record<string, string>> = {
      allocated: this.#one(['true', 'true', 'false', 'junk']) ?? 'true',
      routed: 'true',
      ip_address: this.#one(addresses) ?? '',
      mac_address: this.#one(['', '', 'junk', `0a:00:00:00:00:0${this.#random(4)}`]) ?? '',
      logical_switch: this.#one(['ovn-default', 'ovn-default', 'blue', 'own', 'join', 'none']) ?? '',
      cidr: this.#one(['10.0.0.0/8', 'junk']) ?? '',
      gateway: this.#one(['10.16.0.3', 'junk']) ?? '',
      logical_router: 'apart',
      virtualmachine: this.#one(['p1', '']) ?? '',
    };
    return Object.fromEntries(Object.entries(all).map(([key, value]) => [ovn(key), value]));
  }

  async #createForged(): Promise<string> {
    const name = `p${(this.#count += 1)}`;
    const annotations = this.#forgery();
    await this.#create(name, { annotations });
    return `forge ${name} ${JSON.stringify(annotations)}`;
  }

  /** Forges the annotations of an existing pod, which may be running. */
  async #tamper(): Promise<string | undefined> {
    const key = this.#one([...this.#pods.keys()]);
    if (key === undefined) return undefined;
    const [namespace = '', name = ''] = key.split('/');
    const annotations = this.#forgery();
    await this.#bed.kube.patch(pods, { namespace, name }, 'merge', { metadata: { annotations } });
    return `tamper with ${key} ${JSON.stringify(annotations)}`;
  }

  async #create(name: string, options: Parameters<ControllerBed['createPod']>[1] & object): Promise<void> {
    const { namespace = 'default' } = options;
    await this.#bed.createPod(name, { ...options, node: this.#one(['n1', 'n2']) ?? 'n1' });
    const { uid } = (await this.#bed.kube.get(pods, { namespace, name })).metadata;
    this.#pods.set(`${namespace}/${name}`, { uid, isFinished: false });
  }

  async #deletePod(): Promise<string | undefined> {
    const key = this.#one([...this.#pods.keys()]);
    if (key === undefined) return undefined;
    const [namespace = '', name = ''] = key.split('/');
    await this.#bed.deletePod(name, namespace);
    this.#pods.delete(key);
    return `delete ${key}`;
  }

  async #finishPod(): Promise<string | undefined> {
    const key = this.#one([...this.#pods.keys()].filter((one) => !one.includes('/db-')));
    const pod = key === undefined ? undefined : this.#pods.get(key);
    if (key === undefined || pod === undefined) return undefined;
    const [namespace = '', name = ''] = key.split('/');
    await this.#bed.kube.request(
      'PATCH',
      objectPath(pods, { namespace, name }, 'status'),
      { status: { phase: 'Failed' } },
      merge,
    );
    this.#pods.set(key, { ...pod, isFinished: true });
    return `finish ${key}`;
  }

  async #createReplica(): Promise<string | undefined> {
    const set = this.#sets.get('db') ?? (await this.#createSet());
    const free = [...Array(set.replicas).keys()].filter((ordinal) => !this.#pods.has(`default/db-${ordinal}`));
    const ordinal = this.#one(free);
    if (ordinal === undefined) return undefined;
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: set.uid };
    await this.#create(`db-${ordinal}`, { owner });
    return `replica ${ordinal}`;
  }

  async #createSet(): Promise<{ uid: string; replicas: number }> {
    const labels = { app: 'db' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'none' }] } };
    const spec = { replicas: 3, serviceName: 'db', selector: { matchLabels: labels }, template };
    await this.#bed.create(statefulSets, 'db', spec, 'default');
    const { uid } = (await this.#bed.kube.get(statefulSets, { namespace: 'default', name: 'db' })).metadata;
    const set = { uid, replicas: 3 };
    this.#sets.set('db', set);
    return set;
  }

  async #scale(): Promise<string | undefined> {
    const set = this.#sets.get('db');
    if (set === undefined) return undefined;
    set.replicas = 1 + this.#random(4);
    await this.#bed.kube.patch(statefulSets, { namespace: 'default', name: 'db' }, 'merge', {
      spec: { replicas: set.replicas },
    });
    for (const name of this.kept.keys()) if (!this.#isKept(name)) this.kept.delete(name);
    return `scale ${set.replicas}`;
  }

  async #toggle(resource: typeof ipPools, name: string, spec: object): Promise<string> {
    const isThere = (await this.#bed.kube.list(resource)).some(({ metadata }) => metadata.name === name);
    if (isThere) await this.#bed.kube.delete(resource, { name });
    else await this.#bed.create(resource, name, spec);
    return `${isThere ? 'delete' : 'create'} ${resource.kind} ${name}`;
  }

  #togglePool(): Promise<string> {
    return this.#toggle(ipPools, 'pool', {
      subnet: 'ovn-default',
      ips: ['10.16.0.8..10.16.0.15'],
      enableAddressSet: true,
    });
  }

  #toggleVip(): Promise<string> {
    return this.#toggle(vips, 'shared', { subnet: 'ovn-default', v4ip: '10.16.0.30' });
  }

  async #toggleSubnet(): Promise<string | undefined> {
    const blue = (await this.#bed.kube.list(subnets)).find(({ metadata }) => metadata.name === 'blue');
    if (blue?.metadata.deletionTimestamp !== undefined) return undefined;
    return this.#toggle(subnets, 'blue', { cidrBlock: '10.60.0.0/29', namespaces: ['blue'] });
  }

  async #toggleNode(): Promise<string> {
    const isThere = this.#nodes.has('n2');
    if (isThere) await this.#bed.kube.delete(nodes, { name: 'n2' });
    else await this.#bed.createNode('n2', '172.30.1.12');
    if (isThere) this.#nodes.delete('n2');
    else this.#nodes.add('n2');
    return `${isThere ? 'delete' : 'create'} node n2`;
  }

  #toggleGroup(): Promise<string> {
    const rule = { ipVersion: 'ipv4', protocol: 'tcp', priority: 10, remoteType: 'address', policy: 'allow' };
    const ingressRules = [{ ...rule, remoteAddress: '10.16.0.0/16', portRangeMin: 80, portRangeMax: 90 }];
    return this.#toggle(securityGroups, 'web', { ingressRules, allowSameGroupTraffic: true });
  }

  /** A VPC whose only subnet has the same addresses as a subnet of another VPC. */
  async #toggleVpc(): Promise<string | undefined> {
    const own = (await this.#bed.kube.list(subnets)).find(({ metadata }) => metadata.name === 'own');
    const vpc = (await this.#bed.kube.list(vpcs)).find(({ metadata }) => metadata.name === 'apart');
    if ([own, vpc].some((one) => one?.metadata.deletionTimestamp !== undefined)) return undefined;
    const routes = [{ cidr: '0.0.0.0/0', nextHopIP: '10.60.0.6' }];
    if (vpc === undefined) await this.#bed.create(vpcs, 'apart', { staticRoutes: routes });
    return this.#toggle(subnets, 'own', { cidrBlock: '10.60.0.0/29', vpc: 'apart' });
  }

  /** Edits the spec of a subnet that has pods. */
  async #edit(): Promise<string> {
    const specs = [
      { private: true, allowSubnets: ['10.61.0.0/30'] },
      { private: false },
      { gatewayType: 'centralized', gatewayNode: 'n2,n1' },
      { gatewayType: 'distributed' },
      { enableDHCP: true },
      { acls: [{ direction: 'to-lport', priority: 1500, match: 'ip4.src == 10.16.0.3', action: 'drop' }] },
      { acls: [{ direction: 'to-lport', priority: 1500, match: 'ip4.scr == 10.16.0.3', action: 'drop' }] },
    ];
    const spec = this.#one(specs) ?? {};
    await this.#bed.kube.patch(subnets, { name: 'tiny' }, 'merge', { spec });
    return `edit tiny ${JSON.stringify(spec)}`;
  }

  async #exclude(): Promise<string> {
    const first = 2 + this.#random(20);
    const excludeIps = ['10.16.0.1', `10.16.0.${first}..10.16.0.${first + 5}`];
    await this.#bed.kube.patch(subnets, { name: 'ovn-default' }, 'merge', { spec: { excludeIps } });
    return `exclude ${excludeIps[1]}`;
  }

  /** Whether the StatefulSet still wants this replica, which must then keep its address. */
  #isKept(name: string): boolean {
    const ordinal = /^db-(\d+)$/.exec(name)?.[1];
    return ordinal !== undefined && Number(ordinal) < (this.#sets.get('db')?.replicas ?? 0);
  }

  /** The invariants of an idle controller. */
  async check(): Promise<void> {
    const live = await this.#bed.kube.list(pods);
    const used = new Map<string, string>();
    const take = (address: string, who: string): void => {
      assert.equal(used.get(address) ?? who, who, `${address} is used twice`);
      used.set(address, who);
    };
    for (const pod of live) await this.#checkPod(pod, take);
    this.#checkKept(live);
    await this.#checkOrphans(live);
    const text = await this.#bed.dryRun();
    assert.match(text, /adopt 0, insert 0, update 0, mutate 0, delete 0\n/, text);
    const statuses = (await this.#bed.kube.list(subnets)).map(({ metadata, status }) => [metadata.name, status]);
    assert.match(text, /Kubernetes: 0 objects made, 0 objects written/, text + JSON.stringify(statuses));
  }

  async #checkPod(pod: RawObject, take: (address: string, who: string) => void): Promise<void> {
    const { name, namespace = '', uid, annotations = {} } = pod.metadata;
    const port = `${name}.${namespace}`;
    const row = this.#bed.row('Logical_Switch_Port', port);
    if (this.#pods.get(`${namespace}/${name}`)?.isFinished === true) {
      assert.equal(row, undefined, `${port} has finished`);
      return;
    }
    if (!hasAnswer(pod)) {
      assert.equal(row, undefined, `${port} has a port and does not know`);
      assert.equal(addressConditionOf(pod['status'])?.status, 'False', `${port} has no address and does not know why`);
      // A problem that only the user can fix is an annotation of the pod.
      if (annotations['isthmus.network/problem'] !== undefined) return;
      await eventually(`a reason for ${port}`, async () =>
        (await this.#bed.eventsAbout(uid)).some((reason) => reason === 'AcquireAddressFailed'),
      );
      return;
    }
    assert.equal(annotations[ovn('virtualmachine')], undefined, port);
    const address = annotations[ovn('ip_address')] ?? '';
    take(annotations[ovn('logical_router')] === 'apart' ? `${address} of apart` : address, port);
    const isClosed = this.#bed.members('ovn.sg.kubeovn_deny_all').includes(port);
    assert.equal(isClosed, annotations[ovn('security_groups')] !== undefined, `${port} and its security group`);
    assert.deepEqual(row?.['addresses'], [`${annotations[ovn('mac_address')]} ${address}`], port);
    if (this.#isKept(name)) {
      assert.equal(this.kept.get(name) ?? address, address, `${name} got another address`);
      this.kept.set(name, address);
    }
  }

  /** The address of a wanted replica is allocated to no other pod, even while the replica does not exist. */
  #checkKept(live: readonly RawObject[]): void {
    for (const pod of live) {
      const { name, namespace, annotations = {} } = pod.metadata;
      const isFinished = this.#pods.get(`${namespace}/${name}`)?.isFinished === true;
      if (!hasAnswer(pod) || isFinished) continue;
      const owner = [...this.kept].find(([, address]) => address === annotations[ovn('ip_address')])?.[0];
      assert.equal(owner ?? name, name, `${name} has the address of ${owner}`);
    }
  }

  async #checkOrphans(live: readonly RawObject[]): Promise<void> {
    const wanted = new Set(live.map(({ metadata }) => `${metadata.name}.${metadata.namespace}`));
    for (const node of this.#nodes) wanted.add(`node-${node}`);
    for (const row of this.#bed.rows('Logical_Switch_Port')) {
      if (row['type'] === '') assert.ok(wanted.has(nameOf(row)), `${nameOf(row)} is an orphan`);
    }
    // A replica may have come and gone between two checks; its IP object stays.
    for (let ordinal = 0; ordinal < (this.#sets.get('db')?.replicas ?? 0); ordinal += 1)
      wanted.add(`db-${ordinal}.default`);
    for (const { metadata } of await this.#bed.kube.list(ips)) {
      assert.ok(wanted.has(metadata.name), `IP ${metadata.name} is an orphan`);
    }
    // Where ACLs have tiers, a port group of the subnets' router ports passes packets without a verdict.
    for (const row of this.#bed.rows('Logical_Switch_Port')) if (row['type'] === 'router') wanted.add(nameOf(row));
    for (const group of this.#bed.rows('Port_Group')) {
      for (const member of this.#bed.members(nameOf(group)))
        assert.ok(wanted.has(member), `${member} in ${nameOf(group)}`);
    }
  }

  get random(): (below: number) => number {
    return this.#random;
  }
}

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await bed.createNode('n2', '172.30.1.12');
  await bed.createNamespace('blue');
  await bed.createNamespace('tiny');
  await bed.createSubnet('tiny', { cidrBlock: '10.61.0.0/30', namespaces: ['tiny'] });
  await bed.createSubnet('blue', { cidrBlock: '10.60.0.0/29', namespaces: ['blue'] });
  await bed.start();
});
after(() => bed.close());

test(`the controller converges after random actions and crashes (ISTHMUS_MODEL_SEED=${seed})`, async () => {
  const model = new Model(bed);
  try {
    for (let step = 1; step <= steps; step += 1) {
      if (model.random(12) === 0) {
        model.log.push('crash');
        await bed.kill();
        for (let unseen = model.random(6); unseen > 0; unseen -= 1) await model.step();
        await bed.start();
      }
      await model.step();
      if (step % 40 !== 0) continue;
      await bed.quiet();
      await model.check();
      model.log.push('checked');
    }
  } catch (error) {
    throw new Error(`seed ${seed}, after:\n${model.log.join('\n')}`, { cause: error });
  }
});
