/** The edge, VpcEgressGateways. */
import { type Fields, fieldsOf, numberOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import { isSelector, readSelector } from '../../lib/api/label-selector.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { peerSelector } from '../../lib/policies/selection.ts';
import { nodeField } from '../model/egress-gateway.ts';
import type { VpcEgressGateway } from '../model/egress-gateway.ts';
import { apiFactsOf, namesSet } from './fields.ts';

/** A missing part selects everything. */
function selectorOf({ namespaceSelector = {}, podSelector = {} }: Fields): LabelSelector {
  return peerSelector('', { namespaces: readSelector(namespaceSelector), pods: readSelector(podSelector) });
}

/** Terms of Kubernetes: `matchFields` knows only `metadata.name`. */
function nodeSelectorOf({ matchLabels = {}, matchExpressions = [], matchFields = [] }: Fields): LabelSelector {
  const fields = recordsOf(matchFields).map((one) => ({ ...one, key: `${nodeField}${textOf(one['key'])}` }));
  const expressions: readonly unknown[] = Array.isArray(matchExpressions) ? matchExpressions : [undefined];
  const whole = { matchLabels, matchExpressions: [...expressions, ...fields] };
  return isSelector(whole) ? readSelector(whole) : readSelector(undefined);
}

export function parseVpcEgressGateway(raw: RawObject): VpcEgressGateway {
  const spec = fieldsOf(raw['spec']);
  const observability = namesSet(fieldsOf(spec['observability']), ['interfaceMetrics', 'conntrack', 'serviceMonitor']);
  const nodeSelectors = recordsOf(spec['nodeSelector']);
  return {
    ...apiFactsOf(raw),
    namespace: raw.metadata.namespace ?? '',
    spec: {
      vpc: textOf(spec['vpc']),
      replicas: spec['replicas'] === undefined ? 1 : Math.max(0, Math.min(10, Math.trunc(numberOf(spec['replicas'])))),
      externalSubnet: textOf(spec['externalSubnet']),
      externalIPs: textsOf(spec['externalIPs']),
      externalIPPool: textOf(spec['externalIPPool']),
      isClosed: fieldsOf(spec['bfd'])['enabled'] === true,
      policies: recordsOf(spec['policies']).map(({ snat, ipBlocks, subnets }) => ({
        isTranslated: snat === true,
        ipBlocks: textsOf(ipBlocks),
        subnets: textsOf(subnets),
      })),
      selectors: recordsOf(spec['selectors']).map(selectorOf),
      nodeSelectors: nodeSelectors.map(nodeSelectorOf),
      isSpread: spec['podAntiAffinity'] !== 'Preferred',
      isLocal: spec['trafficPolicy'] === 'Local',
    },
    needsPods: [
      ...namesSet(spec, ['image', 'bgpConf', 'evpnConf']),
      ...(observability.length > 0 ? ['observability'] : []),
    ],
    unsupported: namesSet(fieldsOf(spec['bandwidth']), ['ingress', 'egress']).map((name) => `bandwidth.${name}`),
  };
}
