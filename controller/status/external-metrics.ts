/** Figures of addresses outside: OvnEips, the rules that use them, and the nodes that may hold the ports of routers. Read when asked for. */
import { externalSubnet } from '../../lib/api/names.ts';
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { eipRef } from '../model/external-objects.ts';
import { externalRuleKinds, externalRuleStores, isPodRuleStore, podRuleStores } from '../model/external-rules.ts';
import { eipPort } from '../model/ovn-names.ts';
import type { ExternalRule } from '../model/settled.ts';
import type { View } from '../model/view.ts';
import { podsEntitled } from '../settle/external/pod-addresses.ts';
import { ruleKey } from '../settle/external/external-rules.ts';

const ruleStates = ['in-force', 'waiting', 'refused'] as const;
const eipStates = ['used', 'unused', 'waiting'] as const;

function stateOf(rule: ExternalRule | undefined): (typeof ruleStates)[number] {
  if (rule?.refusal !== undefined) return 'refused';
  return rule === undefined || rule.obstacle !== undefined ? 'waiting' : 'in-force';
}

function eipStateOf(view: View, id: string, isRouters: boolean): (typeof eipStates)[number] {
  if (view.allocation(eipPort(id)) === undefined) return 'waiting';
  const isNamed = externalRuleStores.some((store) => [...view.indexes.externalRulesByEip[store].of(id)].length > 0);
  return isRouters || isNamed ? 'used' : 'unused';
}

/** Counts of each combination of labels; those that nothing has are zero where `all` names them. */
class Counts {
  readonly #counts = new Map<string, number>();

  add(labels: Readonly<Record<string, string>>, count = 1): void {
    const key = JSON.stringify(labels);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  writeTo(gauge: Gauge): void {
    gauge.reset();
    for (const [key, count] of this.#counts) gauge.set(JSON.parse(key) as Record<string, string>, count);
  }
}

export function openExternalMetrics(registry: Registry, view: View): void {
  const registers = [registry];
  const gauge = (name: string, help: string, labelNames: readonly string[], count: (counts: Counts) => void): void => {
    const made: Gauge = new Gauge({
      name: `isthmus_controller_${name}`,
      help,
      labelNames: [...labelNames],
      registers,
      collect() {
        const counts = new Counts();
        count(counts);
        counts.writeTo(made);
      },
    });
    made.reset();
  };
  gauge('eips', 'addresses outside by state', ['kind', 'subnet', 'state'], (counts) => {
    for (const eip of [...view.ovnEips.values(), ...view.iptablesEips.values()]) {
      const kind = eipRef(eip.id).kind === 'ovnEips' ? 'OvnEip' : 'IptablesEIP';
      const { externalSubnet: subnet, type } = eip.spec;
      for (const state of eipStates) counts.add({ kind, subnet, state }, 0);
      counts.add({ kind, subnet, state: eipStateOf(view, eip.id, type === 'lrp') });
    }
    const { externalRulesByEip: rules } = view.indexes;
    for (const id of new Set(podRuleStores.flatMap((store) => [...rules[store].keys()])))
      if (podsEntitled(view, id).length > 0)
        counts.add({ kind: 'Pod', subnet: externalSubnet, state: eipStateOf(view, id, false) });
  });
  gauge('external_rules', 'rules that use addresses outside, by state', ['kind', 'state'], (counts) => {
    for (const store of externalRuleStores) {
      const { kind } = externalRuleKinds[store];
      for (const state of ruleStates) counts.add({ kind, state }, 0);
      for (const name of isPodRuleStore(store) ? view.indexes.podsByRule.of(store) : view[store].keys())
        counts.add({ kind, state: stateOf(view.externalRules.get(ruleKey(store, name))) });
    }
  });
  const nodes = 'nodes that may hold the port of a VPC in a Subnet outside';
  gauge('gateway_port_nodes', nodes, ['vpc', 'subnet'], (counts) => {
    for (const { vpc, subnet, nodes: found } of view.gatewayPorts.values()) counts.add({ vpc, subnet }, found.length);
  });
}
