/**
 * The ports of routers in Subnets outside. In: changes of Vpcs, Subnets, Nodes and of the names of OvnEips. Out: a verdict for each Vpc
 * and Subnet outside that it names, which rules and plans read: that of the port in `plan/external/gateway-port.ts`. Rule: a change costs the
 * Vpcs that it concerns.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Change } from '../../model/change.ts';
import type { VpcNatGateway } from '../../model/external-objects.ts';
import type { Vpc } from '../../model/objects.ts';
import { natGatewayPort, upstreamPort } from '../../model/ovn-names.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortKey, gatewayPortName, splitsOf, vpcsNaming } from './external-subnets.ts';
import { gatewayNodeText } from './gateway-order.ts';
import { judgeGatewayPort, placesOutside, withExits } from './gateway-port.ts';

export interface GatewayPortsOptions {
  readonly view: View;
  /** By `<vpc>/<subnet>`. */
  readonly onChange: (key: string, before: GatewayPort | undefined, after: GatewayPort | undefined) => void;
}

function natGatewayText(gateway: VpcNatGateway | undefined): string {
  return gateway === undefined
    ? ''
    : JSON.stringify([gateway.uid, gateway.createdMs, gateway.isDeleting, gateway.spec]);
}

function vpcText(vpc: Vpc | undefined): string {
  return vpc === undefined ? '' : JSON.stringify([vpc.uid, vpc.isDeleting, vpc.spec]);
}

export class GatewayPorts {
  readonly ports = new Map<string, GatewayPort>();
  readonly #options: GatewayPortsOptions;
  #due = new Set<string>();
  /** Keys of the ports of a Vpc. */
  readonly #ofVpc = new Map<string, readonly string[]>();
  /** The order of chassis of ports that were not judged yet, as a former process left it, by the name of the port. */
  #former = new Map<string, readonly string[]>();

  constructor(options: GatewayPortsOptions) {
    this.#options = options;
  }

  /** Call before the first judgement. */
  restore(orders: ReadonlyMap<string, readonly string[]>): void {
    this.#former = new Map(orders);
  }

  /** Marks the ports of all Vpcs: other chassis are alive. */
  markAll(): void {
    for (const vpc of this.#options.view.indexes.vpcsByExternalSubnet.of('')) this.#due.add(vpc);
  }

  changed(change: Change): void {
    for (const vpc of this.#concerned(change)) this.#due.add(vpc);
  }

  *#concerned(change: Change): Generator<string> {
    const { view } = this.#options;
    const vpcs = { of: (subnet: string) => vpcsNaming(view, subnet) };
    const { kind, name } = change;
    if (kind === 'vpcs') {
      if (vpcText(change.before) === vpcText(change.after)) return;
      yield name;
      // Another Vpc may be a peer, or want a port of the same name.
      yield* vpcs.of('');
    } else if (kind === 'subnets' || kind === 'usage') {
      if (kind === 'subnets' && change.before?.spec.routeTable !== change.after?.spec.routeTable) yield* vpcs.of('');
      if (kind === 'subnets' && change.before?.isDeleting === change.after?.isDeleting) return;
      if (kind === 'usage' && view.subnets.get(name)?.isDeleting !== true) return;
      yield* vpcs.of(name);
      const vpc = view.verdicts.get(name)?.vpc ?? '';
      if (this.#ofVpc.has(vpc)) yield vpc;
    } else if (kind === 'vpcNatGateways') {
      if (natGatewayText(change.before) === natGatewayText(change.after)) return;
      for (const gateway of [change.before, change.after]) if (gateway !== undefined) yield gateway.spec.vpc;
      // Another Vpc may want a port of the same name.
      yield* vpcs.of('');
    } else if (kind === 'iptablesEips' || (kind === 'ports' && name.startsWith(natGatewayPort('')))) {
      // The address of a VpcNatGateway, or the last one that keeps one in place that is being deleted.
      const gateways =
        kind === 'ports'
          ? [name.slice(natGatewayPort('').length)]
          : [change.before, change.after].map((eip) => eip?.spec.natGateway ?? '');
      for (const gateway of gateways) {
        const vpc = view.vpcNatGateways.get(gateway)?.spec.vpc;
        if (vpc !== undefined) yield vpc;
      }
    } else if (kind === 'egressGateways') {
      for (const gateway of [change.before, change.after]) if (gateway !== undefined) yield gateway.vpc;
    } else if (kind === 'verdicts' || kind === 'transitSwitches') yield* vpcs.of('');
    else if (kind === 'nodes') {
      if (gatewayNodeText(change.before) !== gatewayNodeText(change.after)) yield* vpcs.of('');
      else if (JSON.stringify(change.before?.labels) !== JSON.stringify(change.after?.labels))
        for (const gateway of view.indexes.selectingNatGateways.of('')) {
          const vpc = view.vpcNatGateways.get(gateway)?.spec.vpc;
          if (vpc !== undefined) yield vpc;
        }
    } else if (kind === 'gatewayHolders') {
      for (const [vpc] of splitsOf(name)) if (this.#ofVpc.has(vpc)) yield vpc;
    } else if (kind === 'upstreams') {
      for (const [vpc] of splitsOf(upstreamPort(name))) if (this.#ofVpc.has(vpc)) yield vpc;
    } else if (kind === 'externalConfigs') {
      if (view.vpcs.has(defaultVpc)) yield defaultVpc;
      yield* vpcs.of('');
    } else if (kind === 'ovnEips') for (const [vpc] of splitsOf(name)) if (view.vpcs.has(vpc)) yield vpc;
  }

  /** @returns the names of the ports whose verdict changed, which OvnEips of these names depend on */
  settle(): readonly string[] {
    const due = this.#due;
    this.#due = new Set();
    return [...due].flatMap((vpc) => this.#judge(vpc));
  }

  #judge(name: string): readonly string[] {
    const { view, onChange } = this.#options;
    const vpc = view.vpcs.get(name);
    const before = new Map((this.#ofVpc.get(name) ?? []).map((key) => [key, this.ports.get(key)]));
    const judged =
      vpc === undefined
        ? []
        : placesOutside(view, name).map((subnet) => judgeGatewayPort(view, vpc, subnet, this.#orderOf(name, subnet)));
    const keys = judged.map(({ vpc: of, subnet }) => gatewayPortKey(of, subnet));
    if (keys.length === 0) this.#ofVpc.delete(name);
    else this.#ofVpc.set(name, keys);
    // A next hop of the user may be in one of these networks.
    this.#store(judged);
    for (const key of before.keys()) if (!keys.includes(key)) this.ports.delete(key);
    this.#store(withExits(view, name, judged));
    const changed: string[] = [];
    for (const key of new Set([...before.keys(), ...keys])) {
      const [was, is] = [before.get(key), this.ports.get(key)];
      if (JSON.stringify(was) === JSON.stringify(is)) continue;
      changed.push(...[was, is].flatMap((port) => (port === undefined ? [] : [gatewayPortName(port)])));
      onChange(key, was, is);
    }
    return changed;
  }

  /** The chassis of a port until now. */
  #orderOf(vpc: string, subnet: string): readonly string[] {
    const port = this.ports.get(gatewayPortKey(vpc, subnet));
    if (port !== undefined) return port.nodes.map(({ chassis }) => chassis);
    const name = gatewayPortName({ vpc, subnet });
    const former = this.#former.get(name) ?? [];
    this.#former.delete(name);
    return former;
  }

  #store(ports: readonly GatewayPort[]): void {
    for (const port of ports) this.ports.set(gatewayPortKey(port.vpc, port.subnet), port);
  }
}
