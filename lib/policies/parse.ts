/** Parses the rules of NetworkPolicies, and the named ports of pods. The API server validates them; an invalid part that reaches a room selects and allows nothing. */
import { readSelector } from '../api/label-selector.ts';
import { annotation } from '../api/names.ts';
import { fieldsOf, recordsOf, textOf, textsOf } from '../kube/fields.ts';
import type { Fields } from '../kube/fields.ts';
import type { RawObject } from '../kube/types.ts';
import type { NamedPort, PolicyPort, PolicyProtocol, PolicyRule, PolicyRules } from './policy.ts';

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
  const list = text.split(',').map((one) => one.trim());
  return list.map((one) => {
    const slash = one.indexOf('/');
    return slash < 0 ? one : `${one.slice(slash + 1)}.${one.slice(0, slash)}.ovn`;
  });
}

export function parsePolicyRules(raw: RawObject): PolicyRules {
  const spec = fieldsOf(raw['spec']);
  const types = textsOf(spec['policyTypes']);
  const rules = (field: 'ingress' | 'egress', peersField: 'from' | 'to'): readonly PolicyRule[] =>
    recordsOf(spec[field]).map((rule) => ruleOf(rule, peersField));
  const isIngress = types.length === 0 || types.includes('Ingress');
  const isEgress = types.length === 0 ? spec['egress'] !== undefined : types.includes('Egress');
  return {
    namespace: raw.metadata.namespace ?? '',
    pods: readSelector(spec['podSelector'] ?? {}),
    ingress: isIngress ? rules('ingress', 'from') : undefined,
    egress: isEgress ? rules('egress', 'to') : undefined,
    providers: providersOf(raw.metadata.annotations?.[annotation.networkPolicyFor]),
  };
}

/** The named ports of a pod's containers, and of init containers that keep running. */
export function namedPortsOf(spec: Fields): readonly NamedPort[] {
  const running = recordsOf(spec['initContainers']).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...recordsOf(spec['containers']), ...running].flatMap((container) =>
    recordsOf(container['ports']).flatMap(({ name, protocol, containerPort }): NamedPort[] => {
      const known = protocols[textOf(protocol)];
      if (textOf(name) === '' || known === undefined || typeof containerPort !== 'number') return [];
      return [{ name: textOf(name), protocol: known, number: containerPort }];
    }),
  );
}
