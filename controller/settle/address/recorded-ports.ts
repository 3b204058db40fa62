/** What is on record about ports from before this process, in the order in which it is believed. Pure; called by `Ports`. */
import { nodePortName, querierPortName, u2oPortName } from '../../../lib/api/names.ts';
import { byAge } from '../../../lib/desired/rights.ts';
import { defaultInterface, wantsNetwork } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import { podKey, vpcNameOf } from '../../model/objects.ts';
import type { IpObject, Vip } from '../../model/objects.ts';
import { vipPort } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { claimantOf, isKept, satisfies } from './claimants.ts';
import { isOwnIp } from './own-ip.ts';
import { recordOfIp, recordOfNode, recordOfPod, recordOfVip } from './records.ts';
import type { PortRecord } from './records.ts';

export interface RecordedPort {
  readonly key: string;
  readonly port: string;
  readonly record: PortRecord;
}

/** A port that outlives its pods, of a holder none of whose pods is there. */
export interface KeptPort extends RecordedPort {
  readonly holder: string;
  readonly interface: Interface;
}

interface Found {
  readonly key: string;
  readonly port: string;
  readonly record: PortRecord | undefined;
}

function* found(view: View, rows: ReadonlyMap<string, PortRecord>): Generator<Found> {
  for (const node of [...view.nodes.values()].sort(byAge)) {
    const port = nodePortName(node.name);
    yield { key: `node/${node.name}`, port, record: recordOfNode(view.ips.get(port), rows.get(port)) };
  }
  const pods = podRecords(view, rows);
  for (const one of pods) if (one.lender === undefined) yield one;
  for (const vip of [...view.vips.values()].sort(byAge)) yield vipRecord(view, vip);
  for (const one of pods) if (one.lender !== undefined) yield one;
  for (const [name, { spec }] of view.subnets) {
    const port = querierPortName(name);
    if (spec.enableMulticastSnoop) yield { key: `mcast/${name}`, port, record: recordOfIp(view.ips.get(port)) };
    const router = u2oPortName(vpcNameOf(spec), name);
    yield { key: `u2o/${name}`, port: router, record: recordOfIp(view.ips.get(router)) };
  }
}

interface FoundOfPod extends Found {
  /** The Vip whose address the port uses. */
  readonly lender: string | undefined;
}

function podRecords(view: View, rows: ReadonlyMap<string, PortRecord>): readonly FoundOfPod[] {
  const pods = [...view.pods.values()].filter(wantsNetwork).sort(byAge);
  const all = pods.flatMap((pod): readonly (FoundOfPod & { readonly rank: number })[] => {
    const key = `pod/${podKey(pod)}`;
    const claimant = claimantOf(view, key);
    return (claimant?.wants ?? []).map(({ port, interface: network, request }) => {
      const [ip, row] = [view.ips.get(port), rows.get(port)];
      const mayHave = (record: PortRecord): boolean => satisfies(request, record);
      const isInherited = claimant?.holder !== claimant?.uid;
      const lender = 'value' in request ? request.value.vip : undefined;
      const record = recordOfPod(pod, network, { ip, row, mayHave, isInherited });
      return { key, port, record, lender, rank: ip !== undefined ? 0 : row !== undefined ? 1 : 2 };
    });
  });
  return all.sort((a, b) => a.rank - b.rank);
}

/** Who may write a Vip may write its status: what is there counts as far as the spec would ask for it. */
function vipRecord(view: View, vip: Vip): Found {
  const [key, port] = [`vip/${vip.name}`, vipPort(vip.name)];
  const [record, request] = [recordOfVip(vip), claimantOf(view, key)?.wants[0]?.request];
  return { key, port, record: request !== undefined && satisfies(request, record) ? record : undefined };
}

/** Nodes, then pods, those with an IP object first, then those with a row, then Vips, whose status their authors can write, and pods that use them. */
export function* recordedPorts(view: View, rows: ReadonlyMap<string, PortRecord>): Generator<RecordedPort> {
  for (const { key, port, record } of found(view, rows)) if (record !== undefined) yield { key, port, record };
}

export function* keptPorts(view: View): Generator<KeptPort> {
  for (const ip of view.ips.values()) {
    const { podName, namespace, podType } = ip.spec;
    if (!isOwnIp(ip) || podType === '') continue;
    const owner = podType === 'StatefulSet' ? podName.replace(/-\d+$/, '') : ip.name.slice(0, ip.name.indexOf('.'));
    const holder = `${podType === 'StatefulSet' ? 'statefulset' : 'vm'}/${namespace}/${owner}`;
    const record = recordOfIp(ip);
    if (record === undefined || !isKept(view, holder, podName)) continue;
    yield { key: `pod/${namespace}/${podName}`, port: ip.name, record, holder, interface: interfaceOf(ip) };
  }
}

/** From the name: `db-0.default`, `db-0.default.net.default.ovn`, `db-0.default.net.default.ovn.net2`. */
export function interfaceOf(ip: IpObject): Interface {
  const [, provider, name] = /^[^.]+\.[^.]+\.(.+\.ovn)(?:\.([^.]+))?$/.exec(ip.name) ?? [];
  if (provider === undefined) return defaultInterface;
  return { provider, isDefault: false, ...(name === undefined ? {} : { name }) };
}
