/** Checks that each node has its own address by which tunnels can reach it. Pure. */
import { formatIp, parseIp, type Family } from '../../../lib/net/ip.ts';
import type { Machine } from '../../model/cluster-facts.ts';
import { networksOf } from '../../model/chart-values.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import { few, notSeen, outcome, type Outcome, type Question } from './outcome.ts';
import { ownMachines } from './selected.ts';

export function judgeNodeAddresses(question: Question): Outcome {
  const machines = ownMachines(question);
  if (machines === undefined) return notSeen('Nodes');
  const without = machines.filter(({ addresses }) => addresses.length === 0).map(({ name }) => name);
  const problems: Cause[] = [];
  if (without.length > 0) {
    const message = `no InternalIP: ${few(without)}; a node’s tunnels end at its first InternalIP`;
    problems.push(cause('NodeAddressMissing', message, 'give kubelet --node-ip there'));
  }
  problems.push(...sharedAddresses(machines), ...mixedTunnels(machines));
  const evidence = few(machines.map(({ name, addresses }) => `${name} ${addresses.join(' ')}`));
  return outcome(evidence, { problems, warnings: missingFamilies(machines, question) });
}

function sharedAddresses(machines: readonly Machine[]): readonly Cause[] {
  const holders = new Map<string, string[]>();
  for (const { name, addresses } of machines)
    for (const address of addresses) {
      const ip = parseIp(address);
      const key = ip === undefined ? address : formatIp(ip);
      holders.set(key, [...(holders.get(key) ?? []), name]);
    }
  return [...holders].flatMap(([address, names]) =>
    names.length < 2
      ? []
      : [
          cause(
            'NodeAddressShared',
            `${few(names)} all have the InternalIP ${address}: tunnels to it reach only one of them`,
            'give each an address of its own (kubelet --node-ip); machines behind one NAT need addresses at which nodes reach each other',
          ),
        ],
  );
}

/** Tunnels connect the first addresses, which must be of one family. */
function mixedTunnels(machines: readonly Machine[]): readonly Cause[] {
  const byFamily = new Map<Family, string[]>();
  for (const { name, addresses } of machines) {
    const family = parseIp(addresses[0] ?? '')?.family;
    if (family !== undefined) byFamily.set(family, [...(byFamily.get(family) ?? []), name]);
  }
  if (byFamily.size < 2) return [];
  const message = `the first InternalIP is IPv4 on ${few(byFamily.get(4) ?? [])} and IPv6 on ${few(byFamily.get(6) ?? [])}: no tunnel joins the two`;
  return [cause('NodeFamiliesMixed', message, 'give kubelet --node-ip with the same family first on all nodes')];
}

function missingFamilies(machines: readonly Machine[], { values }: Question): readonly Cause[] {
  return networksOf(values.networking.podCIDR).flatMap(({ family }) => {
    const lacking = machines.filter(
      ({ addresses }) => addresses.length > 0 && !addresses.some((address) => parseIp(address)?.family === family),
    );
    if (lacking.length === 0) return [];
    const message = `networking.podCIDR has IPv${family} and ${few(lacking.map(({ name }) => name))} ${lacking.length === 1 ? 'has' : 'have'} no InternalIP of that family: pods there leave the cluster by IPv${family} only where the machine has an address that kubelet does not report`;
    return [
      cause(
        'NodeFamilyMissing',
        message,
        `give kubelet both addresses (--node-ip), or take IPv${family} out of networking.podCIDR`,
      ),
    ];
  });
}
