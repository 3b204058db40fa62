/**
 * Asks OVN what it does with the first packet of a connection. In: both ends, and programs of OVN. Out: what ovn-trace prints for each family. Rule: what goes into an
 * argument has the form of an address, a MAC address or a name; nothing that the author of a pod wrote is an expression.
 */
import { defaultVpc, joinSubnet, nodePortName, podPortName } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Family } from '../../lib/net/ip.ts';
import type { FamilyTrace, TraceReading } from '../model/ovn-trace.ts';
import { addressesOf, type PolicyHost, type PolicyReading } from '../model/policy-reading.ts';
import type { OvnTools } from './ovn-tools.ts';

export type TracedConnection = Pick<PolicyReading, 'from' | 'to' | 'port'>;

/** The port of a pod or node, as the southbound database has it. */
interface Port {
  readonly name: string;
  readonly mac: string;
  /** Name of the switch; empty for a port of a router. */
  readonly switch: string;
}

const families: readonly Family[] = [4, 6];
/** The first packet of a connection, in every zone that it comes through. */
const newConnection = Array.from({ length: 12 }, () => '--ct=new');
const [name, macAddress] = [/^[A-Za-z0-9._-]+$/, /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/i];

function problem(message: string): { readonly untraced: Problem } {
  return { untraced: { code: 'OvnNotAsked', message } };
}

export async function readTrace(tools: OvnTools, connection: TracedConnection): Promise<TraceReading> {
  const { from, to, port } = connection;
  if (port === undefined) return problem('OVN judges packets, and PORT is not given');
  const [source, destination] = [entryOf(from, to), to.pod && podPortName(to.pod.namespace, to.pod.name)];
  if (source === undefined)
    return problem(
      `the packets of ${from.text} have no known way into the network of ${to.text}: they do not begin at a pod or node`,
    );
  const found = await readPorts(tools, destination === undefined ? [source] : [source, destination]);
  if ('code' in found) return { untraced: found };
  const [first, last] = [found.get(source), found.get(destination ?? '')];
  const missing =
    first === undefined ? source : destination !== undefined && last === undefined ? destination : undefined;
  if (first === undefined || missing !== undefined)
    return problem(
      `OVN has no port ${missing} with a MAC address: the controller or ovn-northd has not written it, see its log`,
    );
  const hop = first.switch === last?.switch ? last.mac : await readRouterMac(tools, from.pod?.vpc ?? defaultVpc, first);
  if (typeof hop !== 'string') return { untraced: hop };
  const traces: FamilyTrace[] = [];
  for (const family of families) {
    const addresses = addressesOf(connection, family);
    if (addresses === undefined || addresses.source === addresses.destination) continue;
    const packet = packetOf({ family, ...addresses, port, inport: first, hop });
    const answer = await tools.run('ovn-trace', [...newConnection, packet]);
    if ('problem' in answer) return { untraced: answer.problem };
    traces.push({ family, packet, text: answer.text });
  }
  const ports = { from: from.pod === undefined ? undefined : source, to: destination };
  return { trace: { where: tools.where, ports, families: traces } };
}

/** The port at which the packets of a host come into the network; undefined if it is not known. */
function entryOf(from: PolicyHost, to: PolicyHost): string | undefined {
  if (from.pod !== undefined) return podPortName(from.pod.namespace, from.pod.name);
  if (from.node !== undefined) return nodePortName(from.node.name);
  // What comes from elsewhere reaches a pod of the default VPC through its node.
  return to.node !== undefined && to.pod?.vpc === defaultVpc ? nodePortName(to.node.name) : undefined;
}

async function readPorts(tools: OvnTools, names: readonly string[]): Promise<ReadonlyMap<string, Port> | Problem> {
  const wrong = names.find((one) => !name.test(one));
  if (wrong !== undefined) return problem(`${JSON.stringify(wrong)} is not the name of a port`).untraced;
  const finds = [...new Set(names)].flatMap((one, index) => [
    ...(index === 0 ? [] : ['--']),
    '--columns=logical_port,mac,external_ids',
    'find',
    'Port_Binding',
    `logical_port="${one}"`,
  ]);
  const answer = await tools.run('ovn-sbctl', ['--format=json', ...finds]);
  return 'problem' in answer ? answer.problem : parsePorts(answer.text);
}

/** The router port of the port's switch, which has this name in every VPC. */
async function readRouterMac(tools: OvnTools, vpc: string, port: Port): Promise<string | Problem> {
  const subnet = port.switch === '' ? joinSubnet : port.switch;
  const router = `${vpc}-${subnet}`;
  const found = await readPorts(tools, [router]);
  if ('code' in found) return found;
  return (
    found.get(router)?.mac ??
    problem(`OVN has no router port ${router}: it has no way from Subnet ${subnet} to others`).untraced
  );
}

/** One JSON table for each command. */
export function parsePorts(text: string): ReadonlyMap<string, Port> {
  const ports = new Map<string, Port>();
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const { data } = JSON.parse(line) as { readonly data: readonly (readonly unknown[])[] };
    for (const [port, mac, ids] of data) {
      const [address] = textsOf(mac).flatMap((one) => one.split(' ')[0] ?? []);
      if (typeof port !== 'string' || address === undefined || !macAddress.test(address)) continue;
      ports.set(port, { name: port, mac: address, switch: entriesOf(ids).get('ls') ?? '' });
    }
  }
  return ports;
}

/** A set of OVSDB: one value, or `["set", […]]`. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  const [kind, values] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return kind === 'set' && Array.isArray(values) ? values.filter((one) => typeof one === 'string') : [];
}

/** A map of OVSDB: `["map", [[key, value], …]]`. */
function entriesOf(value: unknown): ReadonlyMap<string, string> {
  const [kind, pairs] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return new Map(kind === 'map' ? (pairs as readonly (readonly [string, string])[]) : []);
}

interface PacketParts {
  readonly family: Family;
  /** Addresses as canonical texts. */
  readonly source: string;
  readonly destination: string;
  readonly port: NonNullable<PolicyReading['port']>;
  readonly inport: Port;
  /** The MAC address to which the packet is sent. */
  readonly hop: string;
}

export function packetOf({ family, source, destination, port, inport, hop }: PacketParts): string {
  const { protocol, number } = port;
  const ip = `ip${family}`;
  return [
    `inport == "${inport.name}"`,
    `eth.src == ${inport.mac}`,
    `eth.dst == ${hop}`,
    `${ip}.src == ${source}`,
    `${ip}.dst == ${destination}`,
    'ip.ttl == 64',
    `${protocol}.src == 40000`,
    `${protocol}.dst == ${number}`,
  ].join(' && ');
}
