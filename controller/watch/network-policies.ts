/** Parses NetworkPolicies. The API server validates them; an invalid part that reaches this room selects and allows nothing. */
import { annotation } from '../../lib/api/names.ts';
import { readSelector } from '../../lib/api/label-selector.ts';
import { fieldsOf, recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import type { Fields } from '../../lib/kube/fields.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { listOf } from '../model/interfaces.ts';
import type { NamedPort, NetworkPolicy, PolicyPort, PolicyProtocol, PolicyRule } from '../model/objects.ts';
import { factsOf, namesSet, pick } from './fields.ts';
import { sharedValue } from './shared.ts';
import { unsupportedPolicyAnnotations } from './unsupported.ts';

const protocols: Readonly<Record<string, PolicyProtocol>> = { '': 'tcp', TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };

/** Undefined for an unknown protocol. */
function portOf(raw: Fields): PolicyPort | undefined {
  const protocol = protocols[textOf(raw['protocol'])];
  if (protocol === undefined) return undefined;
  const { port, endPort } = raw;
  if (typeof port === 'string') return { protocol, port };
  if (typeof port !== 'number') return { protocol };
  return { protocol, port, ...(typeof endPort === 'number' && { endPort }) };
}

function ruleOf(raw: Fields, peersField: 'from' | 'to'): PolicyRule {
  const peers = recordsOf(raw[peersField]);
  const ports = recordsOf(raw['ports']);
  const ofPods = peers.filter((peer) => peer['ipBlock'] === undefined);
  const blocks = peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [fieldsOf(ipBlock)]));
  return {
    peers:
      peers.length === 0
        ? undefined
        : {
            pods: ofPods
              .filter((peer) => peer['podSelector'] !== undefined || peer['namespaceSelector'] !== undefined)
              .map(({ podSelector, namespaceSelector }) => ({
                namespaces: namespaceSelector === undefined ? undefined : readSelector(namespaceSelector),
                pods: readSelector(podSelector ?? {}),
              })),
            blocks: blocks.map(({ cidr, except }) => ({ cidr: textOf(cidr), except: textsOf(except) })),
          },
    ports: ports.length === 0 ? undefined : ports.flatMap((port) => portOf(port) ?? []),
  };
}

/** `ovn`, or `<namespace>/<attachment>` as users name it → `<attachment>.<namespace>.ovn`. */
function providersOf(text: string | undefined): readonly string[] | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  return listOf(text).map((one) => {
    const slash = one.indexOf('/');
    return slash < 0 ? one : `${one.slice(slash + 1)}.${one.slice(0, slash)}.ovn`;
  });
}

export function parseNetworkPolicy(raw: RawObject): NetworkPolicy {
  const spec = fieldsOf(raw['spec']);
  const types = textsOf(spec['policyTypes']);
  const rules = (field: 'ingress' | 'egress', peersField: 'from' | 'to'): readonly PolicyRule[] =>
    recordsOf(spec[field]).map((rule) => ruleOf(rule, peersField));
  const isIngress = types.length === 0 || types.includes('Ingress');
  const isEgress = types.length === 0 ? spec['egress'] !== undefined : types.includes('Egress');
  const all = raw.metadata.annotations ?? {};
  return {
    ...factsOf(raw),
    namespace: raw.metadata.namespace ?? '',
    pods: readSelector(spec['podSelector'] ?? {}),
    ingress: isIngress ? rules('ingress', 'from') : undefined,
    egress: isEgress ? rules('egress', 'to') : undefined,
    providers: providersOf(all[annotation.networkPolicyFor]),
    annotations: pick(all, [annotation.problem]),
    unsupported: namesSet(all, unsupportedPolicyAnnotations),
  };
}

const noPorts: readonly NamedPort[] = [];

/** The named ports of a pod's containers, and of init containers that keep running. */
export function namedPortsOf(spec: Fields): readonly NamedPort[] {
  const running = recordsOf(spec['initContainers']).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const ports = [...recordsOf(spec['containers']), ...running].flatMap((container) =>
    recordsOf(container['ports']).flatMap(({ name, protocol, containerPort }): NamedPort[] => {
      const known = protocols[textOf(protocol)];
      if (textOf(name) === '' || known === undefined || typeof containerPort !== 'number') return [];
      return [{ name: textOf(name), protocol: known, number: containerPort }];
    }),
  );
  return ports.length === 0 ? noPorts : sharedValue(ports);
}
