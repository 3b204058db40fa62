/** The edge, underlay: ProviderNetworks and Vlans. */
import type { ProviderNodeSpec } from '../../lib/api/provider-nodes.ts';
import { readSelector } from '../../lib/api/label-selector.ts';
import { annotation } from '../../lib/api/names.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { ProviderNetwork, Vlan } from '../model/objects.ts';
import { type Fields, fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import { apiFactsOf } from './fields.ts';

function nodeSpecOf(spec: Fields): ProviderNodeSpec {
  const selector = spec['nodeSelector'];
  return {
    defaultInterface: textOf(spec['defaultInterface']),
    ...(spec['routedByNodes'] === true ? { routedByNodes: true } : {}),
    customInterfaces: recordsOf(spec['customInterfaces']).map((one) => ({
      interface: textOf(one['interface']),
      nodes: [...textsOf(one['nodes'])],
    })),
    excludeNodes: [...textsOf(spec['excludeNodes'])],
    ...(selector === undefined || selector === null ? {} : { nodeSelector: readSelector(selector) }),
  };
}

export function parseProviderNetwork(raw: RawObject): ProviderNetwork {
  return {
    ...apiFactsOf(raw),
    spec: nodeSpecOf(fieldsOf(raw['spec'])),
    isDryRun: raw.metadata.annotations?.[annotation.dryRun] === 'true',
  };
}

/** The deprecated fields count where the current ones are empty. */
export function parseVlan(raw: RawObject): Vlan {
  const spec = fieldsOf(raw['spec']);
  return {
    ...apiFactsOf(raw),
    spec: {
      id: numberOf(spec['id']) || numberOf(spec['vlanId']),
      provider: textOf(spec['provider']) || textOf(spec['providerInterfaceName']),
    },
  };
}
