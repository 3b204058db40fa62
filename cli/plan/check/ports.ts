/** Checks the host ports on which programs of Isthmus listen against those that pods declare. Pure. */
import { tunnelPorts, tunnelTypesOf } from '../../../lib/net/tunnel-overhead.ts';
import { isMember, type ChartValues } from '../../model/chart-values.ts';
import type { HostPort } from '../../model/cluster-facts.ts';
import { cause } from '../diagnose/step.ts';
import { notSeen, outcome, type Outcome, type Question } from './outcome.ts';

export interface OwnPort extends HostPort {
  /** The program that listens on the port. */
  readonly what: string;
  /** The address that the port is bound to; undefined: all addresses. */
  readonly address: string | undefined;
  /** Labels of the nodes on which the program runs. */
  readonly nodeSelector: Readonly<Record<string, string>>;
}

const everywhere = {};

type Labels = Readonly<Record<string, string>>;

export function portsOf(values: ChartValues): readonly OwnPort[] {
  const { networking, ovn, ovs, hub, speaker, controller, daemon, metrics } = values;
  const tcp = (port: number, what: string, nodeSelector: Labels): OwnPort => ({
    protocol: 'TCP',
    port,
    what,
    address: undefined,
    nodeSelector,
  });
  const metricsOf = (port: number, what: string, nodeSelector: Labels = everywhere): OwnPort => ({
    ...tcp(port, `metrics of ${what}`, nodeSelector),
    address: metrics.bindAddress,
  });
  const central = ovn.central.nodeSelector;
  const tunnels = tunnelTypesOf(networking.encapType).map((type): OwnPort => ({
    protocol: 'UDP',
    port: tunnelPorts[type],
    what: `${type} tunnels`,
    address: undefined,
    nodeSelector: daemon.nodeSelector,
  }));
  return [
    ...(ovn.central.deploy
      ? [
          tcp(6641, "OVN's northbound database", central),
          tcp(6642, "OVN's southbound database", central),
          tcp(6643, "members of OVN's northbound database", central),
          tcp(6644, "members of OVN's southbound database", central),
          ...(ovn.tls.enabled ? [tcp(16_642, "OVN's southbound database, for nodes", central)] : []),
          metricsOf(10_670, 'isthmus-central', central),
        ]
      : []),
    metricsOf(10_660, 'isthmus-controller', controller.nodeSelector),
    metricsOf(10_665, 'isthmus-daemon', daemon.nodeSelector),
    ...(speaker.enabled
      ? [
          metricsOf(10_667, 'isthmus-speaker', speaker.nodeSelector),
          tcp(179, 'BGP of isthmus-speaker', speaker.nodeSelector),
        ]
      : []),
    ...(hub.enabled
      ? [tcp(hub.port, 'isthmus-hub', hub.nodeSelector), metricsOf(10_668, 'isthmus-hub', hub.nodeSelector)]
      : []),
    ...(isMember(values) ? [metricsOf(10_669, 'isthmus-interconnect')] : []),
    ...(ovs.deploy ? tunnels : []),
  ];
}

/** Checks ports that pods declare. Undeclared ports and those of other programs can only be found on the node. */
export function judgePorts({ facts, values }: Question): Outcome {
  const { portHolders, machines } = facts;
  if (portHolders === undefined || machines === undefined) return notSeen('Pods or Nodes');
  const labels = new Map(machines.map((machine) => [machine.name, machine.labels]));
  const wanted = portsOf(values);
  const problems = portHolders
    .filter(({ isOurs }) => !isOurs)
    .flatMap(({ namespace, name, node, ports }) =>
      wanted
        .filter(({ protocol, port }) => ports.some((one) => one.protocol === protocol && one.port === port))
        .filter(({ nodeSelector }) =>
          Object.entries(nodeSelector).every(([key, value]) => labels.get(node)?.[key] === value),
        )
        .map(({ protocol, port, what }) => {
          const message = `pod ${namespace}/${name} holds ${protocol.toLowerCase()} port ${port} of node ${node}, which is for ${what}`;
          return cause(
            'PortTaken',
            message,
            `move or remove that pod, or keep ${what.replace(/^metrics of /, '')} off ${node} by its nodeSelector`,
          );
        }),
    );
  const list = wanted.map(({ protocol, port }) => `${protocol.toLowerCase()} ${port}`).join(', ');
  return outcome(`no pod declares one of ${list}`, { problems });
}
