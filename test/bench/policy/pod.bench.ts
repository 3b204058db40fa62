/**
 * A pod is created under a hundred policies: the time until it reaches and is reached as they allow, and what passes that they deny. Its interface is there before it, so that
 * OVN lets its first packet through as soon as it has the port.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Policy } from '../../model/network-policies.ts';
import { median, quantile } from '../row.ts';
import { numbers, type Measurement, type PolicyRow } from './measurement.ts';
import { allowedPort, deniedPort, ProbeBed, type ProbedPod } from './probe-bed.ts';
import type { FlowAnswers, ProbeFlow } from './probe.ts';
import type { Probing } from './prober.ts';
import { sizes } from './sizes.ts';
import { eventually } from '../../../lib/testing-eventually.ts';

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
  /** That were denied, and arrived. */
  readonly passed: number;
}

function beginAll(senders: readonly Sender[]): readonly Probing[] {
  return senders.map(({ from, flows }) =>
    from.prober.begin(flows.map(({ to, port }): ProbeFlow => ({ address: to.address, port }))),
  );
}

async function endAll(all: readonly Probing[]): Promise<readonly FlowAnswers[]> {
  return (await Promise.all(all.map((one) => one.end()))).flat();
}

/** Of what these send, how much has arrived; `sinceMs`: for the lines that tell when. */
async function arrived(senders: readonly Sender[], sinceMs: number): Promise<number> {
  let sum = 0;
  for (const { from, flows } of senders)
    for (const { to, port } of flows) {
      const seen = await to.prober.arrivals(from.address, port);
      if (seen === undefined) continue;
      sum += seen.count;
      const [first, last] = [seen.firstMs, seen.lastMs].map((at) => (at - sinceMs).toFixed(0));
      console.error(
        `           ${from.name} → ${to.name} ${String(port)}: ${String(seen.count)}, ${first} to ${last} ms after the creation`,
      );
    }
  return sum;
}

async function measurePod(bed: ProbeBed, clients: Clients, namespace: string, number: number): Promise<Seen> {
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
  await bed.createPod(pod);
  const createdMs = nowMs();
  const reachedMs = Math.max(...(await Promise.all(good.map(({ answered }) => answered))));
  await pause(duringMs);
  const answers = await endAll(good);
  await controller.deletePod(name, namespace);
  await eventually(
    'the port is gone',
    () => controller.row('Logical_Switch_Port', `${name}.${namespace}`) === undefined,
  );
  await pause(afterMs);
  const others = await endAll(bad);
  const passed = namespace === closed ? await arrived(denied, createdMs) : 0;
  await bed.removeWired(pod);
  const missed = answers.flatMap(({ first, missedMs }) => missedMs.filter((at) => at > (first?.sentMs ?? 0)));
  const sent = [...answers, ...others].reduce((sum, one) => sum + one.sent, 0);
  return { reachedMs: reachedMs - createdMs, sent, missed: missed.length, passed };
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
    const seen: Record<string, Seen[]> = { [closed]: [], [open]: [] };
    for (const at of numbers(2 * sizes.created)) {
      // Each first in turn.
      const namespace = (at + (at >> 1)) % 2 === 0 ? closed : open;
      seen[namespace]?.push(await measurePod(bed, clients, namespace, at));
    }
    return rowsOf(seen[closed] ?? [], seen[open] ?? []);
  } finally {
    await bed.close();
  }
}

function rowsOf(ours: readonly Seen[], without: readonly Seen[]): readonly PolicyRow[] {
  const times = (all: readonly Seen[]): readonly number[] => all.map(({ reachedMs }) => reachedMs);
  const sum = (all: readonly Seen[], of: 'sent' | 'missed' | 'passed'): number =>
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
      what: `${what}, 99th percentile of ${String(ours.length)}`,
      unit: 'ms',
      ours: quantile(times(ours), 0.99),
      floor: quantile(times(without), 0.99),
      floorIs,
      target: undefined,
    },
    {
      what: `Pods created under ${String(policyCount)} policies, until they are deleted: denied and arrived (${probes})`,
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
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'pod', measure }];
