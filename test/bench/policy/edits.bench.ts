/** A policy is edited again and again while connections that every version of it allows, or none of them, are probed each millisecond. */
import { setTimeout as pause } from 'node:timers/promises';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { randomOf } from '../../../lib/testing-random.ts';
import type { ClusterWorld } from '../../model/cluster-policies.ts';
import type { Connection, Host, Policy } from '../../model/network-policies.ts';
import { nextVersion, type EditOptions } from './edits.ts';
import { numbers, type Measurement, type PolicyRow } from './measurement.ts';
import { allowedPort, deniedPort, otherPort, ProbeBed, type ProbedPod } from './probe-bed.ts';
import type { ProbeFlow } from './probe.ts';
import type { Probing } from './prober.ts';
import { sizes } from './sizes.ts';

const seed = 7;
/** An edit that changes no row is not waited for longer. */
const rowsMs = 5000;
/** Between an edit that the nodes have and the next one. */
const mostPauseMs = 20;
/** How long the same is probed without edits. */
const stillMs = 60_000;
const sameGapMs = 50;

/** A connection that is probed. */
interface ThirdParty {
  readonly from: ProbedPod;
  readonly to: ProbedPod;
  readonly port: number;
  readonly isAllowed: boolean;
  readonly isFresh?: boolean;
}

/** Pods of a Namespace, by the policy that is not edited, serve clients at one port and may ask them there. */
const constant: Policy = (() => {
  const client = {
    namespaceSelector: { matchLabels: { team: 'ops' } },
    podSelector: { matchLabels: { role: 'client' } },
  };
  const ports = [{ protocol: 'UDP', port: allowedPort }] as const;
  return {
    metadata: { namespace: 'shop', name: 'constant' },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [client], ports }],
      egress: [{ to: [client], ports }],
    },
  };
})();

interface EditBed {
  readonly bed: ProbeBed;
  readonly thirdParties: readonly ThirdParty[];
  readonly options: EditOptions;
}

async function prepare(bed: ProbeBed, namespaces: ClusterWorld['namespaces']): Promise<EditBed> {
  const web = await bed.addPod('web', { namespace: 'shop', node: 'n1', labels: { app: 'web' } });
  const db = await bed.addPod('db', { namespace: 'shop', node: 'n2', labels: { app: 'db' } });
  const near = await bed.addPod('near', { namespace: 'ops', node: 'n1', labels: { role: 'client' } });
  const far = await bed.addPod('far', { namespace: 'ops', node: 'n2', labels: { role: 'client' } });
  const stranger = await bed.addPod('stranger', { namespace: 'ops', node: 'n2', labels: { role: 'other' } });
  const thirdParties: readonly ThirdParty[] = [
    // By the other policy.
    { from: near, to: web, port: allowedPort, isAllowed: true },
    { from: far, to: web, port: allowedPort, isAllowed: true, isFresh: true },
    { from: web, to: near, port: allowedPort, isAllowed: true },
    { from: far, to: db, port: allowedPort, isAllowed: true },
    // By a rule that all versions have.
    { from: far, to: web, port: otherPort, isAllowed: true },
    { from: near, to: web, port: otherPort, isAllowed: true, isFresh: true },
    // By none.
    { from: stranger, to: web, port: allowedPort, isAllowed: false },
    { from: near, to: web, port: deniedPort, isAllowed: false },
    { from: web, to: stranger, port: allowedPort, isAllowed: false },
    { from: stranger, to: db, port: deniedPort, isAllowed: false },
  ];
  const host = ({ name, namespace, labels }: ProbedPod): Host => ({ name, namespace, labels, ports: [] });
  const connectionOf = ({ from, to, port }: ThirdParty): Connection => ({
    from: host(from),
    to: host(to),
    source: from.address,
    destination: to.address,
    protocol: 'UDP',
    port,
  });
  const kept = {
    peers: [{ namespaceSelector: { matchLabels: { team: 'ops' } }, podSelector: { matchLabels: { role: 'client' } } }],
    ports: [{ protocol: 'UDP', port: otherPort } as const],
  };
  const options: EditOptions = {
    random: randomOf(seed),
    metadata: { namespace: 'shop', name: 'edited' },
    kept,
    world: { policies: [constant], clusterPolicies: [], namespaces, nodes: [] },
    thirdParties: thirdParties.map((one) => ({ connection: connectionOf(one), isAllowed: one.isAllowed })),
    selected: [
      { matchLabels: { app: 'web' } },
      {},
      { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'db'] }] },
    ],
    addresses: [web, db, near, far, stranger].map(({ address }) => address),
  };
  return { bed, thirdParties, options };
}

/** Waits until rows have changed, then until the nodes have them, as `--wait=hv` does. */
class Nodes {
  readonly #nb: OvsdbClient;

  private constructor(nb: OvsdbClient) {
    this.#nb = nb;
  }

  static async open(remote: string): Promise<Nodes> {
    const monitor = {
      NB_Global: ['nb_cfg', 'hv_cfg'],
      ACL: ['match'],
      Address_Set: ['addresses'],
      Port_Group: ['ports'],
    };
    return new Nodes(await openOvsdb({ remotes: [remote], database: 'OVN_Northbound', monitor }));
  }

  close(): Promise<void> {
    return this.#nb.close();
  }

  /** Gives whether `change` led to another row. */
  async after(change: () => Promise<void>): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), rowsMs);
    const unsubscribe = this.#nb.subscribe((changes) => {
      if (changes.some(({ table }) => table !== 'NB_Global')) resolve(true);
    });
    await change();
    const isChanged = await promise;
    clearTimeout(timer);
    unsubscribe();
    await this.#untilInstalled();
    return isChanged;
  }

  async #untilInstalled(): Promise<void> {
    const global = (): Readonly<Record<string, unknown>> =>
      [...this.#nb.cache.table('NB_Global').rows.values()][0] ?? {};
    const wanted = Number(global()['nb_cfg']) + 1;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const look = (): void => void (Number(global()['hv_cfg']) >= wanted && resolve(undefined));
    const unsubscribe = this.#nb.subscribe(look);
    await this.#nb.transact([{ op: 'update', table: 'NB_Global', where: [], row: { nb_cfg: wanted } }]);
    look();
    await promise;
    unsubscribe();
  }
}

interface Wrong {
  readonly sent: number;
  /** Of allowed ones, without an answer. */
  readonly missed: number;
  /** Of denied ones, at their destination. */
  readonly passed: number;
}

function beginAll(all: readonly ThirdParty[]): readonly Probing[] {
  return all.map(({ from, to, port, isFresh = false }) => {
    const flow: ProbeFlow = { address: to.address, port, isFresh };
    return from.prober.begin([flow]);
  });
}

/** Losses in words, those that are near each other as one, with the seconds since the begin. */
function gapsOf(missedMs: readonly number[], begunMs: number): readonly string[] {
  const gaps: { readonly first: number; last: number; count: number }[] = [];
  for (const at of missedMs) {
    const gap = gaps.at(-1);
    if (gap !== undefined && at - gap.last < sameGapMs) {
      gap.last = at;
      gap.count += 1;
    } else gaps.push({ first: at, last: at, count: 1 });
  }
  return gaps.map(({ first, last, count }) => {
    const seconds = ((first - begunMs) / 1000).toFixed(3);
    return `${String(count)} lost within ${(last - first).toFixed(0)} ms, after ${seconds} s`;
  });
}

/** Probes while `work` runs. */
async function probeDuring(all: readonly ThirdParty[], work: () => Promise<void>): Promise<Wrong> {
  const denied = all.filter(({ isAllowed }) => !isAllowed);
  const arrivals = (): Promise<readonly number[]> =>
    Promise.all(denied.map(async ({ from, to, port }) => (await to.prober.arrivals(from.address, port))?.count ?? 0));
  const before = await arrivals();
  const begunMs = Number(process.hrtime.bigint()) / 1e6;
  const probing = beginAll(all);
  await work();
  const answers = (await Promise.all(probing.map((one) => one.end()))).flat();
  const after = await arrivals();
  const passed = after.map((count, at) => count - (before[at] ?? 0));
  const missed = answers.map(({ missedMs }, at) => (all[at]?.isAllowed === true ? missedMs.length : 0));
  for (const [at, { from, to, port, isAllowed }] of all.entries()) {
    const what = `           ${from.name} → ${to.name} ${String(port)}`;
    if (isAllowed) for (const gap of gapsOf(answers[at]?.missedMs ?? [], begunMs)) console.error(`${what}: ${gap}`);
    else {
      const count = passed[denied.indexOf(all[at] as ThirdParty)] ?? 0;
      if (count > 0) console.error(`${what}: ${String(count)} arrived`);
    }
  }
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  return { sent: sum(answers.map(({ sent }) => sent)), missed: sum(missed), passed: sum(passed) };
}

async function measure(): Promise<readonly PolicyRow[]> {
  const labels = { shop: { team: 'shop' }, ops: { team: 'ops' } };
  const named = Object.entries(labels).map(
    ([name, own]) => [name, { ...own, 'kubernetes.io/metadata.name': name }] as const,
  );
  const bed = await ProbeBed.open(labels);
  try {
    const { thirdParties, options } = await prepare(bed, new Map(named));
    const nodes = await Nodes.open(bed.services.controller.server.remote);
    let version: Policy | undefined;
    const edit = async (): Promise<boolean> => {
      const next = nextVersion(options, version);
      version = next;
      return nodes.after(() => bed.apply(next));
    };
    await nodes.after(() => bed.apply(constant));
    await edit();
    let [changed, seconds] = [0, 0];
    const ours = await probeDuring(thirdParties, async () => {
      const begun = performance.now();
      for (const _ of numbers(sizes.edits)) {
        if (await edit()) changed += 1;
        await pause(options.random(mostPauseMs));
      }
      seconds = (performance.now() - begun) / 1000;
    });
    const still = await probeDuring(thirdParties, () => pause(stillMs));
    await nodes.close();
    return rowsOf({ ours, still, changed, seconds, count: thirdParties.length });
  } finally {
    await bed.close();
  }
}

interface Figures {
  readonly ours: Wrong;
  /** For a minute, while nothing is edited. */
  readonly still: Wrong;
  readonly changed: number;
  readonly seconds: number;
  readonly count: number;
}

function rowsOf({ ours, still, changed, seconds, count }: Figures): readonly PolicyRow[] {
  const edits = `${sizes.edits.toLocaleString('en')} edits of a policy in ${seconds.toFixed(0)} s (${changed.toLocaleString('en')} changed rows), ${String(count)} connections of third parties probed every millisecond, ${ours.sent.toLocaleString('en')} datagrams`;
  const floorIs = 'a minute without an edit';
  const row = (text: string, of: (wrong: Wrong) => number): PolicyRow => ({
    what: `${edits}: ${text}`,
    unit: 'packets',
    ours: of(ours),
    floor: of(still),
    floorIs,
    target: 0,
  });
  return [
    row('denied by every version and arrived', ({ passed }) => passed),
    row('allowed by every version and not answered', ({ missed }) => missed),
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'edits', measure }];
