/** The part of the daemon that reports which domain names pods ask for, for a node of a PolicyBed. */
import { PacketIns } from '../../daemon/ovs/packet-ins.ts';
import { copyControllerId, PortFlows } from '../../daemon/ovs/port-flows.ts';
import { portRules, unknownGuard } from '../../daemon/plan/port-guard.ts';
import { AskedDomainsReport, type AskingPod } from '../../daemon/status/asked-domains.ts';
import { watchDomainPatterns } from '../../daemon/watch/domain-patterns.ts';
import { encodeQuestion } from '../../lib/dns/message.ts';
import { askedDomains, nodes } from '../../lib/kube/resources.ts';
import { parseAskedDomains } from '../../lib/policies/asked-domains.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { words } from './ovn-bed.ts';
import type { PolicyBed } from './policy-bed.ts';
import type { NodeName } from './service-bed.ts';

export class AskingNode {
  /** `namespace/pod: message`. */
  readonly events: string[] = [];
  readonly #bed: PolicyBed;
  readonly #node: NodeName;
  readonly #pod: string;
  readonly #close: () => Promise<unknown>;

  private constructor(bed: PolicyBed, node: NodeName, pod: string, close: () => Promise<unknown>) {
    this.#bed = bed;
    this.#node = node;
    this.#pod = pod;
    this.#close = close;
  }

  /** Observes one pod. */
  static async open(bed: PolicyBed, node: NodeName, pod: string): Promise<AskingNode> {
    const { services } = bed;
    const { signal } = new AbortController();
    const log = createLogger('test');
    const client = services.controller.kube;
    const path = services.bridgeSocket(node);
    const port = services.portOf(pod, node);
    const at = bed.podAt(node, port)?.pod;
    const { metadata } = await client.get(nodes, { name: node });
    const flows = new PortFlows({ path, log });
    const patterns = watchDomainPatterns({ client, signal, log });
    const asking: AskingNode = new AskingNode(bed, node, pod, async () => {
      packets.close();
      flows.set(new Map());
      await eventually('the flows of the port are gone', () => !asking.hasFlows);
      flows.close();
      await Promise.all([report.close(), patterns.stop()]);
    });
    await patterns.synced;
    const setFlows = (): void => {
      const isObserved = report.isObserved({ podUid: at?.uid ?? '' });
      flows.set(new Map([[port, portRules(unknownGuard, isObserved)]]));
    };
    const report: AskedDomainsReport<AskingPod> = new AskedDomainsReport<AskingPod>({
      client,
      node: { name: node, uid: metadata.uid },
      known: undefined,
      patterns,
      podAt: (number) => (number === port ? at : undefined),
      report: ({ namespace, name }, { message }) => asking.events.push(`${namespace}/${name}: ${message}`),
      onObserved: () => queueMicrotask(setFlows),
      log,
    });
    setFlows();
    const packets = new PacketIns({
      path,
      controllerId: copyControllerId,
      what: 'questions of DNS',
      onPacket: (packet) => report.take(packet),
      log,
    });
    await eventually('packets would be received', () => packets.isUp && flows.isInForce(port));
    return asking;
  }

  close(): Promise<unknown> {
    return this.#close();
  }

  /** Whether the bridge copies questions. */
  get hasCopies(): boolean {
    return this.#flows.includes('controller(');
  }

  get hasFlows(): boolean {
    return this.#flows.includes('cookie=0x69737468');
  }

  get #flows(): string {
    return words(`ovs-ofctl -O OpenFlow15 dump-flows unix:${this.#bed.services.bridgeSocket(this.#node)} table=0`);
  }

  /** Sends questions, whether somebody answers or not. */
  question(to: string, ...names: readonly string[]): void {
    this.#send(
      to,
      names.map((name) => encodeQuestion(1, { name, family: 4 })),
    );
  }

  /** Sends what looks like an answer. */
  forgedAnswer(to: string, name: string): void {
    const bytes = encodeQuestion(1, { name, family: 4 });
    bytes.writeUInt16BE(0x8180, 2);
    this.#send(to, [bytes]);
  }

  #send(to: string, messages: readonly Buffer[]): void {
    const lines = messages.map((bytes) => `printf '${escaped(bytes)}' >/dev/udp/${to}/53`);
    this.#bed.services.in(this.#pod, 'bash -c', lines.join('\n'));
  }

  /** The names that the object of the node has. */
  async reported(): Promise<readonly string[]> {
    const objects = await this.#bed.services.controller.kube.list(askedDomains);
    const own = objects.find(({ metadata }) => metadata.name === this.#node);
    return own === undefined ? [] : parseAskedDomains(own).map(({ name }) => name);
  }
}

function escaped(bytes: Buffer): string {
  return [...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}
