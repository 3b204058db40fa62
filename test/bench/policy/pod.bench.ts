/**
 * A pod is created under a hundred policies: the time until it reaches and is reached as they allow, and what passes that they deny. Its interface is there before it, so that
 * OVN lets its first packet through as soon as it has the port.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Policy } from '../../model/network-policies.ts';
import { median, quantile } from '../row.ts';
import { deletePort, insertPort, portRowsOf, type PortRows } from './bare-port.ts';
import { numbers, type Measurement, type PolicyRow } from './measurement.ts';
import { allowedPort, deniedPort, ProbeBed, type ProbedPod } from './probe-bed.ts';
import type { FlowAnswers, ProbeFlow } from './probe.ts';
import type { Probing } from './prober.ts';
import { sizes } from './sizes.ts';

const policyCount = 100;
/** Before a pod is created, from when it is reachable until it is deleted, and after that. */
const [beforeMs, duringMs, afterMs] = [100, 500, 500];
const [closed, open] = ['shop', 'free'] as const;

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Policies of all pods of a namespace. The first one allows what is probed, the others other pods and ports. */
function policyAt(at: number): Policy {
  const peer = {
    namespaceSelector: { matchLabels: { team: 'ops' } },
    podSelector: { matchLabels: at === 0 ? { role: 'client' } : { app: `app-${String(at)}` } },
  };
  const ports = [{ protocol: 'UDP', port: allowedPort - at }] as const;
  return {
    metadata: { namespace: closed, name: `policy-${String(at)}` },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [peer], ports }],
      egress: [{ to: [peer], ports }],
    },
  };
}

interface Clients {
  /** On the node of the pods, and on the other one: policies allow them. */
  readonly near: ProbedPod;
  readonly far: ProbedPod;
  /** Policies deny it. */
  readonly stranger: ProbedPod;
}

/** Datagrams of one pod. */
interface Sender {
  readonly from: ProbedPod;
  readonly flows: readonly { readonly to: ProbedPod; readonly port: number }[];
}

interface Seen {
  /** From the creation until all that is allowed has been answered. */
  readonly reachedMs: number;
  readonly sent: number;
  /** That were allowed, and not answered after another one of the flow had been. */
  readonly missed: number;
  /** That were denied, and arrived before the pod was deleted. */
  readonly passed: number;
  /** And since then: its program goes on sending. */
  readonly late: number;
}

function beginAll(senders: readonly Sender[]): readonly Probing[] {
  return senders.map(({ from, flows }) =>
    from.prober.begin(flows.map(({ to, port }): ProbeFlow => ({ address: to.address, port }))),
  );
}

async function endAll(all: readonly Probing[]): Promise<readonly FlowAnswers[]> {
  return (await Promise.all(all.map((one) => one.end()))).flat();
}

/** Of what these send, how much has arrived. `when`: milliseconds of what the printed lines compare with. */
async function arrived(senders: readonly Sender[], when: Readonly<Record<string, number>>): Promise<number> {
  let sum = 0;
  for (const { from, flows } of senders)
    for (const { to, port } of flows) {
      const seen = await to.prober.arrivals(from.address, port);
      if (seen === undefined) continue;
      sum += seen.count;
      const times = Object.entries({ first: seen.firstMs, last: seen.lastMs, ...when });
      const text = times.map(([what, at]) => `${what} ${(at - (when['created'] ?? 0)).toFixed(0)} ms`).join(', ');
      console.error(`           ${from.name} → ${to.name} ${String(port)}: ${String(seen.count)} passed; ${text}`);
    }
  return sum;
}

/** How a pod comes and goes. */
interface Way {
  readonly namespace: string;
  readonly create: (pod: ProbedPod) => Promise<void>;
  readonly remove: (pod: ProbedPod) => Promise<void>;
}

async function measurePod(bed: ProbeBed, clients: Clients, way: Way, number: number): Promise<Seen> {
  const { namespace } = way;
  const { controller } = bed.services;
  const { near, far, stranger } = clients;
  const name = `p${String(number)}`;
  const pod = await bed.wirePod(name, { namespace, node: 'n1', labels: { app: 'new' } }, number);
  const allowed: readonly Sender[] = [
    { from: near, flows: [{ to: pod, port: allowedPort }] },
    { from: far, flows: [{ to: pod, port: allowedPort }] },
    { from: pod, flows: [near, far].map((to) => ({ to, port: allowedPort })) },
  ];
  const denied: readonly Sender[] = [
    { from: near, flows: [{ to: pod, port: deniedPort }] },
    { from: stranger, flows: [{ to: pod, port: allowedPort }] },
    {
      from: pod,
      flows: [
        { to: stranger, port: allowedPort },
        { to: near, port: deniedPort },
      ],
    },
  ];
  const [good, bad] = [beginAll(allowed), beginAll(denied)];
  await pause(beforeMs);
  await way.create(pod);
  const created = nowMs();
  const reached = Math.max(...(await Promise.all(good.map(({ answered }) => answered))));
  await pause(duringMs);
  const answers = await endAll(good);
  const isClosed = namespace === closed;
  const passed = isClosed ? await arrived(denied, { created, reached }) : 0;
  const [deleted, changes] = [nowMs(), controller.changes];
  await way.remove(pod);
  await bed.services.untilWritten(changes);
  await pause(afterMs);
  const others = await endAll(bad);
  const all = isClosed ? await arrived(denied, { created, reached, deleted }) : 0;
  await bed.removeWired(pod);
  const missed = answers.flatMap(({ first, missedMs }) => missedMs.filter((at) => at > (first?.sentMs ?? 0)));
  const sent = [...answers, ...others].reduce((sum, one) => sum + one.sent, 0);
  return { reachedMs: reached - created, sent, missed: missed.length, passed, late: all - passed };
}

async function measure(): Promise<readonly PolicyRow[]> {
  const bed = await ProbeBed.open({ [closed]: { team: 'shop' }, [open]: {}, ops: { team: 'ops' } });
  try {
    const client = { namespace: 'ops', labels: { role: 'client' } };
    const clients = {
      near: await bed.addPod('near', { ...client, node: 'n1' }),
      far: await bed.addPod('far', { ...client, node: 'n2' }),
      stranger: await bed.addPod('stranger', { namespace: 'ops', labels: { role: 'other' }, node: 'n2' }),
    };
    // The other pods of a namespace have been there before.
    for (const namespace of [closed, open])
      await bed.addPod(`old-${namespace}`, { namespace, node: 'n2', labels: { app: 'old' } });
    const before = bed.services.controller.changes;
    for (const at of numbers(policyCount)) await bed.apply(policyAt(at));
    await bed.services.untilWritten(before);
    const { controller } = bed.services;
    const addressesOf = ({ name }: ProbedPod): readonly string[] => bed.services.addressesOf(name);
    let rows: PortRows | undefined;
    const remove = async (pod: ProbedPod): Promise<void> => {
      if (pod.namespace === closed) rows = portRowsOf(controller, pod, addressesOf(pod));
      await controller.deletePod(pod.name, pod.namespace);
    };
    const create = (pod: ProbedPod): Promise<void> => bed.createPod(pod);
    const [ours, without, bare]: [Seen[], Seen[], Seen[]] = [[], [], []];
    let number = 0;
    const measureOne = (way: Way): Promise<Seen> => measurePod(bed, clients, way, (number += 1));
    for (const at of numbers(sizes.created)) {
      const both = [
        async () => void ours.push(await measureOne({ namespace: closed, create, remove })),
        async () => void without.push(await measureOne({ namespace: open, create, remove })),
      ];
      // Each first in turn.
      for (const one of at % 2 === 0 ? both : both.toReversed()) await one();
    }
    await controller.stop();
    for (const _ of numbers(sizes.created)) {
      const known = rows;
      if (known === undefined) break;
      const way = {
        namespace: closed,
        create: (pod: ProbedPod) => insertPort(controller, known, pod, addressesOf(pod)),
        remove: ({ name }: ProbedPod) => deletePort(controller, known, `${name}.${closed}`),
      };
      bare.push(await measureOne(way));
    }
    return rowsOf({ ours, without, bare });
  } finally {
    await bed.close();
  }
}

interface Figures {
  readonly ours: readonly Seen[];
  readonly without: readonly Seen[];
  readonly bare: readonly Seen[];
}

function rowsOf({ ours, without, bare }: Figures): readonly PolicyRow[] {
  const times = (all: readonly Seen[]): readonly number[] => all.map(({ reachedMs }) => reachedMs);
  const sum = (all: readonly Seen[], of: 'sent' | 'missed' | 'passed' | 'late'): number =>
    all.reduce((total, one) => total + one[of], 0);
  const what = `Pod created under ${String(policyCount)} policies → as reachable as they allow`;
  const floorIs = 'a pod under no policy, each in turn';
  const probes = `each of 8 connections probed every millisecond, ${sum(ours, 'sent').toLocaleString('en')} datagrams`;
  return [
    {
      what: `${what}, median of ${String(ours.length)}`,
      unit: 'ms',
      ours: median(times(ours)),
      floor: median(times(without)),
      floorIs,
      target: { timesFloor: 1.2 },
    },
    {
      what: `${what}, median of ${String(ours.length)}`,
      unit: 'ms',
      ours: median(times(ours)),
      floor: median(times(bare)),
      floorIs: 'a bare transaction with the same rows, from when the database has them',
      target: undefined,
    },
    {
      what: `${what}, 99th percentile of ${String(ours.length)}`,
      unit: 'ms',
      ours: quantile(times(ours), 0.99),
      floor: quantile(times(without), 0.99),
      floorIs,
      target: undefined,
    },
    {
      what: `Pods created under ${String(policyCount)} policies: denied and arrived (${probes})`,
      unit: 'packets',
      ours: sum(ours, 'passed'),
      floor: 0,
      floorIs: 'none',
      target: 0,
    },
    {
      what: `Pods created under ${String(policyCount)} policies: allowed and lost, after the first one had arrived`,
      unit: 'packets',
      ours: sum(ours, 'missed'),
      floor: sum(without, 'missed'),
      floorIs,
      target: 0,
    },
    {
      what: `Pods under ${String(policyCount)} policies deleted by force while their programs go on: denied and arrived`,
      unit: 'packets',
      ours: sum(ours, 'late'),
      floor: sum(bare, 'late'),
      floorIs: 'as many ports deleted by a bare transaction',
      target: 0,
    },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'pod', measure }];
