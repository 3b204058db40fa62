/**
 * The ports of routers in Subnets outside. In: changes of Vpcs, Subnets, Nodes and of the names of OvnEips. Out: a verdict for each Vpc
 * and Subnet outside that it names, which rules and plans read: that of the port in `plan/external/gateway-port.ts`. Rule: a change costs the
 * Vpcs that it concerns.
 */
import type { Change } from '../../model/change.ts';
import type { Vpc } from '../../model/objects.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortKey, gatewayPortName, splitsOf } from './external-subnets.ts';
import { gatewayNodeText, judgeGatewayPort, placesOutside, withExits } from './gateway-port.ts';

export interface GatewayPortsOptions {
  readonly view: View;
  /** By `<vpc>/<subnet>`. */
  readonly onChange: (key: string, before: GatewayPort | undefined, after: GatewayPort | undefined) => void;
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

  constructor(options: GatewayPortsOptions) {
    this.#options = options;
  }

  changed(change: Change): void {
    for (const vpc of this.#concerned(change)) this.#due.add(vpc);
  }

  *#concerned(change: Change): Generator<string> {
    const { view } = this.#options;
    const { vpcsByExternalSubnet: vpcs } = view.indexes;
    const { kind, name } = change;
    if (kind === 'vpcs') {
      if (vpcText(change.before) === vpcText(change.after)) return;
      yield name;
      // Another Vpc may be a peer, or want a port of the same name.
      yield* vpcs.of('');
    } else if (kind === 'subnets' || kind === 'usage') {
      if (kind === 'subnets' && change.before?.isDeleting === change.after?.isDeleting) return;
      if (kind === 'usage' && view.subnets.get(name)?.isDeleting !== true) return;
      yield* vpcs.of(name);
      const vpc = view.verdicts.get(name)?.vpc ?? '';
      if (this.#ofVpc.has(vpc)) yield vpc;
    } else if (kind === 'egressGateways') {
      for (const gateway of [change.before, change.after]) if (gateway !== undefined) yield gateway.vpc;
    } else if (kind === 'verdicts' || kind === 'transitSwitches') yield* vpcs.of('');
    else if (kind === 'nodes') {
      if (gatewayNodeText(change.before) !== gatewayNodeText(change.after)) yield* vpcs.of('');
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
      vpc === undefined ? [] : placesOutside(view, name).map((subnet) => judgeGatewayPort(view, vpc, subnet));
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

  #store(ports: readonly GatewayPort[]): void {
    for (const port of ports) this.ports.set(gatewayPortKey(port.vpc, port.subnet), port);
  }
}
