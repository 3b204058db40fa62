/** Parses the annotations of one interface of a pod. Mistakes of the user become problems. */
import { z } from 'zod';
import { annotation, interfaceAnnotation } from '../../lib/api/names.ts';
import { isVouchedFor, type PodCondition } from '../../lib/api/pod-addresses.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { cidrContains, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { bitsOf, parseIp } from '../../lib/net/ip.ts';
import type { InterfaceNetwork, Route } from '../model/address.ts';
import type { InterfaceAnnotations } from '../model/pod.ts';
import { parseInterfaceNetwork } from './address.ts';

type Annotations = Readonly<Record<string, string>>;

const routeList = z.array(z.looseObject({ dst: z.string(), gw: z.string() }));

/** `condition` is the one that the controller writes. Annotations that it does not vouch for may come from any author of the pod. */
export function parseInterface(
  annotations: Annotations,
  provider: string,
  condition: PodCondition | undefined,
): { readonly facts: InterfaceAnnotations; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const read = (key: string): Read => ({
    name: interfaceAnnotation(provider, key),
    value: annotations[interfaceAnnotation(provider, key)] || undefined,
    problems,
  });
  const network = isVouchedFor(condition, annotations, provider)
    ? parseInterfaceNetwork(annotations, provider)
    : undefined;
  return {
    facts: {
      provider,
      network,
      hasDefaultRoute: readBoolean(read(annotation.defaultRoute)),
      routes: parseRoutes(read(annotation.routes), typeof network === 'object' ? network : undefined),
      netem: readNetem(read),
      isMirrored: readBoolean(read(annotation.mirror)) === true,
    },
    problems,
  };
}

/** One annotation, and the list for its problems. */
interface Read {
  readonly name: string;
  /** Undefined if absent or empty. */
  readonly value: string | undefined;
  readonly problems: Problem[];
}

function refuse({ name, value, problems }: Read, expected: string): undefined {
  problems.push({
    code: 'InvalidAnnotation',
    message: `annotation ${name} is ${JSON.stringify(value)} and is ignored; ${expected}`,
  });
  return undefined;
}

function readBoolean(read: Read): boolean | undefined {
  if (read.value === undefined) return undefined;
  if (read.value === 'true' || read.value === 'false') return read.value === 'true';
  return refuse(read, 'give "true" or "false"');
}

/** The netem queue of Open vSwitch takes times in microseconds. */
const netemKeys = [
  { key: 'latency', from: annotation.latency, pattern: /^\d{1,6}$/, expected: 'give whole milliseconds', factor: 1000 },
  { key: 'jitter', from: annotation.jitter, pattern: /^\d{1,6}$/, expected: 'give whole milliseconds', factor: 1000 },
  { key: 'limit', from: annotation.limit, pattern: /^\d{1,9}$/, expected: 'give a whole number of packets', factor: 1 },
  {
    key: 'loss',
    from: annotation.loss,
    pattern: /^(100(\.0{1,6})?|\d{1,2}(\.\d{1,6})?)$/,
    expected: 'give percent from 0 to 100',
    factor: 1,
  },
] as const;

function readNetem(read: (key: string) => Read): Readonly<Record<string, string>> {
  const entries = netemKeys.flatMap(({ key, from, pattern, expected, factor }): [string, string][] => {
    const one = read(from);
    if (one.value === undefined) return [];
    if (!pattern.test(one.value)) {
      refuse(one, expected);
      return [];
    }
    const value = Number(one.value) * factor;
    return value === 0 ? [] : [[key, String(value)]];
  });
  return Object.fromEntries(entries);
}

/** `[{"dst":"10.9.0.0/16","gw":"10.16.0.9"}]`; each gateway must be in a network of the interface. */
function parseRoutes({ name, value }: Read, network: InterfaceNetwork | undefined): readonly Route[] | Problem {
  if (value === undefined) return [];
  const problem = (what: string): Problem => ({ code: 'InvalidAnnotation', message: `annotation ${name} ${what}` });
  const parsed = routeList.safeParse(jsonOf(value));
  if (!parsed.success)
    return problem(
      `must be a JSON list such as [{"dst":"10.9.0.0/16","gw":"10.16.0.9"}], not ${JSON.stringify(value)}`,
    );
  const routes = new Map<string, Route>();
  for (const { dst, gw } of parsed.data) {
    const [destination, gateway] = [networkOf(dst), parseIp(gw)];
    if (destination === undefined) return problem(`has dst ${JSON.stringify(dst)}, which is not a network or address`);
    if (gateway?.family !== destination.family)
      return problem(`has gw ${JSON.stringify(gw)}, which is not an address of the family of dst ${dst}`);
    const isNear = network?.networks.some((cidr) => contains(cidr, gw));
    if (isNear === false) return problem(`has gw ${gw}, which is not in ${network?.networks.join(',')}`);
    const text = formatCidr(destination);
    if (routes.has(text)) return problem(`has ${text} twice; give one gateway`);
    routes.set(text, { destination: text, gateway: gw });
  }
  return [...routes.values()];
}

function networkOf(text: string): ReturnType<typeof parseCidr> {
  const ip = parseIp(text);
  return ip === undefined ? parseCidr(text) : { family: ip.family, network: ip.value, prefix: bitsOf(ip.family) };
}

function contains(cidr: string, address: string): boolean {
  const [network, ip] = [parseCidr(cidr), parseIp(address)];
  return network !== undefined && ip !== undefined && cidrContains(network, ip);
}

/** Undefined if the text is not JSON; no schema accepts that. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
