/** Checks that need an inspection of the nodes; without an inspection they are omitted. Pure. */
import { parseIp } from '../../../lib/net/ip.ts';
import { tunnelOverhead } from '../../../lib/net/tunnel-overhead.ts';
import { plural } from '../../model/units.ts';
import type { ClusterFacts, Machine } from '../../model/cluster-facts.ts';
import { switchModules, type NodeInspection } from '../../model/node-inspection.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import { few, outcome, type Outcome, type Question } from './outcome.ts';
import { portsOf, type OwnPort } from './ports.ts';

/** IPv6 requires this MTU, and Kubernetes does not work with less. */
const leastMtu = 1280;
/** Name of the CNI configuration that the daemon writes. */
const ownConfiguration = '01-isthmus.conflist';

interface Seen {
  readonly machine: Machine;
  readonly look: NodeInspection;
}

/** Undefined if no node was inspected. */
function seenOn({ looks, machines = [] }: ClusterFacts): readonly Seen[] | undefined {
  return looks?.flatMap(({ node, look }) => {
    const machine = machines.find(({ name }) => name === node);
    return machine === undefined || look === undefined ? [] : [{ machine, look }];
  });
}

export function judgeLooks({ facts: { looks } }: Question): Outcome | undefined {
  if (looks === undefined) return undefined;
  const problems = looks
    .filter(({ look }) => look === undefined)
    .map(({ node, why }) =>
      cause('NodeNotLookedAt', `node ${node} could not be inspected: ${why}`, 'solve that, or run without --on-nodes'),
    );
  const gaps = looks.flatMap(({ node, look }) =>
    (look?.unreadable ?? []).map((what) =>
      cause('NodePartlySeen', `on node ${node}, not read: ${what}`, 'check there by hand'),
    ),
  );
  return outcome(plural(looks.length, 'node'), { problems, warnings: gaps });
}

export function judgeModules({ facts, values }: Question): Outcome | undefined {
  const seen = seenOn(facts);
  if (seen === undefined || values.networking.datapathType !== 'system' || !values.ovs.deploy) return undefined;
  const problems = switchModules.flatMap((module) => {
    const without = seen.filter(({ look }) => look.modules[module] === 'absent').map(({ machine }) => machine.name);
    if (without.length === 0) return [];
    const message = `the kernel has no module ${module} on ${few(without)}: the container load-modules of isthmus-ovs fails there, and the node gets no network`;
    const fix =
      'install it (on Ubuntu linux-modules-extra, on others in the package of the kernel), or --set networking.datapathType=netdev';
    return [cause('ModuleMissing', message, fix)];
  });
  return outcome(switchModules.join(', '), { problems });
}

export function judgeMtu({ facts, values }: Question): Outcome | undefined {
  const seen = seenOn(facts);
  if (seen === undefined) return undefined;
  const { encapType, mtu: wanted } = values.networking;
  const problems: Cause[] = [];
  const sizes = new Map<number, string[]>();
  for (const { machine, look } of seen) {
    const [address = ''] = machine.addresses;
    const uplink = look.interfaces.find(({ addresses }) => addresses.some((one) => isSame(one, address)));
    if (uplink === undefined) {
      const message = `no interface of node ${machine.name} has its InternalIP ${address}: tunnels cannot end there`;
      problems.push(cause('TunnelAddressAbsent', message, 'give kubelet a --node-ip that the machine has'));
      continue;
    }
    const room = uplink.mtu - tunnelOverhead(encapType, address);
    const needed = wanted === 0 ? leastMtu : wanted;
    sizes.set(room, [...(sizes.get(room) ?? []), machine.name]);
    if (room >= needed) continue;
    const message = `${uplink.name} of node ${machine.name} has an MTU of ${uplink.mtu}, which leaves ${room} for pods behind the ${encapType} header; ${wanted === 0 ? `no less than ${leastMtu} works` : `networking.mtu is ${wanted}`}`;
    problems.push(
      cause(
        'MtuTooSmall',
        message,
        `raise the MTU of ${uplink.name}${wanted === 0 ? '' : `, or set networking.mtu to ${room} or less`}`,
      ),
    );
  }
  const listed = [...sizes].map(([room, names]) => `${room} on ${few(names)}`).join('; ');
  if (sizes.size < 2 || wanted !== 0 || problems.length > 0) return outcome(listed, { problems });
  const message = `uplinks leave different MTUs to pods: ${listed}; large packets between these nodes are lost or cut`;
  const fix = `--set networking.mtu=${Math.min(...sizes.keys())}`;
  return outcome('', { problems, warnings: [cause('MtuDiffers', message, fix)] });
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [parseIp(a), parseIp(b)];
  return one !== undefined && one.family === other?.family && one.value === other.value;
}

export function judgeListening({ facts, values }: Question): Outcome | undefined {
  const seen = seenOn(facts);
  if (seen === undefined) return undefined;
  // After an installation, the programs of Isthmus listen on these ports themselves.
  if (facts.controllers?.some(({ isOurs }) => isOurs) === true) return undefined;
  const problems = seen.flatMap(({ machine, look }) =>
    portsOf(values)
      .filter(({ nodeSelector }) => Object.entries(nodeSelector).every(([key, value]) => machine.labels[key] === value))
      .flatMap((own) => {
        const holder = look.listening.find((one) => isInTheWay(own, one));
        if (holder === undefined) return [];
        const port = `${own.protocol.toLowerCase()} port ${own.port}`;
        const message = `a program of node ${machine.name} has ${port} (address ${holder.address}), which is for ${own.what}`;
        const fix = `find it there (ss -lnp 'sport = :${own.port}') and move it`;
        return [cause('PortInUse', message, fix)];
      }),
  );
  return outcome('no program of a node has a port of ours', { problems });
}

/** Metrics are served on one address only, unless a value changes that. */
function isInTheWay(own: OwnPort, one: NodeInspection['listening'][number]): boolean {
  if (own.protocol !== one.protocol || own.port !== one.port) return false;
  return own.address === undefined || isAny(own.address) || isAny(one.address) || isSame(own.address, one.address);
}

function isAny(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

export function judgeConfigurations({ facts, values }: Question): Outcome | undefined {
  const seen = seenOn(facts);
  if (seen === undefined) return undefined;
  const { confDir } = values.daemon.cni;
  const others = seen.flatMap(({ machine, look }) =>
    look.cni.filter((name) => name !== ownConfiguration).map((name) => ({ name, node: machine.name })),
  );
  const nodesOf = (name: string): string => few(others.filter((one) => one.name === name).map(({ node }) => node));
  const names = [...new Set(others.map(({ name }) => name))].toSorted();
  const of = (name: string, code: string, what: string): Cause =>
    cause(
      code,
      `${confDir}/${name} is on ${nodesOf(name)}: ${what}`,
      `remove it there, with the network it belongs to`,
    );
  const before = names.filter((name) => name < ownConfiguration);
  const behind = names.filter((name) => name > ownConfiguration);
  return outcome(`none but ours in ${confDir}`, {
    problems: before.map((name) =>
      of(name, 'ConfigurationFirst', `runtimes take it before ${ownConfiguration}, and pods get its network`),
    ),
    warnings: behind.map((name) =>
      of(name, 'ConfigurationLeft', `${ownConfiguration} comes first; it counts again once Isthmus is gone`),
    ),
  });
}
