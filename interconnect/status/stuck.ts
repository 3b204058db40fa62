/** Stalled parts of this cluster's OVN as problems; a problem that follows from another one is left out. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Stalled } from '../settle/ovn-lag.ts';

/** Code for an ovn-controller that has stopped on one gateway: it forwards with its last flows, and the other gateways work. */
export const controllerStuck = 'OvnControllerStuck';

const silent = { northbound: 'NorthboundSilent', southbound: 'SouthboundSilent' } as const;

/** Whether the code is that of a database that does not answer. */
export function isSilence(code: string): boolean {
  return Object.values<string>(silent).includes(code);
}

/** `faultOf`: why the ovn-controller of a gateway's node cannot apply changes, if the cause is known. */
export function stuckProblems(
  { northbound, southbound, northd, controllers }: Stalled,
  faultOf: (node: string) => Problem | undefined = () => undefined,
): readonly Problem[] {
  const problems: Problem[] = [];
  const databases = [
    ['northbound', northbound],
    ['southbound', southbound],
  ] as const;
  for (const [name, sinceMs] of databases) {
    if (sinceMs === undefined) continue;
    const message = `the ${name} database of this cluster has not answered since ${isoOf(sinceMs)}: no change takes effect until it does, existing traffic continues; start or resume its ovsdb-server (a raft cluster needs more than half of its servers)`;
    problems.push({ code: silent[name], message });
  }
  // Without the databases no part of OVN can follow.
  if (problems.length > 0) return problems;
  if (northd !== undefined) {
    const message = `ovn-northd of this cluster has processed no changes since ${isoOf(northd)}: changes do not reach the nodes, existing traffic continues; look at its process and log`;
    return [{ code: 'NorthdStuck', message }];
  }
  return [...controllers]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([node, sinceMs]) => {
      const fault = faultOf(node);
      if (fault !== undefined) return { code: fault.code, message: fault.message };
      const message = `ovn-controller of gateway ${node} has processed no changes since ${isoOf(sinceMs)}: it forwards with its last flows; check its process and log there, and its connection to the southbound database`;
      return { code: controllerStuck, message };
    });
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
