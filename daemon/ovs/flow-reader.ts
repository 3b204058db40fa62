/** Reads the counters of flows of a bridge over its OpenFlow socket: one connection for each reading. */
import { connect } from 'node:net';
import type { FlowCount } from '../model/flow-count.ts';
import { askByCookie, askByTable, readFlowReply } from './flow-stats-codec.ts';
import { message, messageType, readMessages, type Message } from './openflow-codec.ts';

/** OVN's table in which each port of this node has a flow that sends to the port of the bridge. */
const portTable = 65;
const timeoutMs = 10_000;

export interface FlowReading {
  readonly flows: readonly FlowCount[];
  /** The flows of that table. */
  readonly ports: readonly FlowCount[];
}

/** The port of the bridge for each port of OVN on this node, by `portKey`. */
export type BridgePorts = ReadonlyMap<string, number | undefined>;

/** @param port number of the port in the datapath */
export function portKey(datapath: number | undefined, port: number | undefined): string {
  return `${datapath} ${port}`;
}

export function bridgePorts({ ports }: Pick<FlowReading, 'ports'>): BridgePorts {
  return new Map(ports.map(({ datapath, outPort, output }) => [portKey(datapath, outPort), output]));
}

/** @throws Error if the bridge does not answer */
export function readFlows(path: string, cookies: readonly number[]): Promise<FlowReading> {
  return new Promise((resolve, reject) => {
    const flows: FlowCount[] = [];
    const ports: FlowCount[] = [];
    const ofPorts = cookies.length;
    let missing = cookies.length + 1;
    let bytes: Buffer = Buffer.alloc(0);
    const socket = connect(path);
    const take = (one: Message): void => {
      if (one.type === messageType.hello) {
        const requests = cookies.map((cookie, xid) => askByCookie(cookie, xid));
        socket.write(Buffer.concat([...requests, askByTable(portTable, ofPorts)]));
      } else if (one.type === messageType.echoRequest) socket.write(message(messageType.echoReply, one.body, one.xid));
      else if (one.type === messageType.error)
        socket.destroy(new Error(`the bridge refused, OpenFlow error ${one.body.subarray(0, 4).toString('hex')}`));
      else if (one.type === messageType.multipartReply) {
        const reply = readFlowReply(one);
        (one.xid === ofPorts ? ports : flows).push(...reply.flows);
        if (!reply.hasMore) missing -= 1;
        if (missing === 0) socket.destroy();
      }
    };
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    socket.on('connect', () => socket.write(message(messageType.hello)));
    socket.on('data', (chunk: Buffer) => {
      try {
        const { messages, rest } = readMessages(bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]));
        bytes = rest;
        messages.forEach(take);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        socket.destroy(error);
      }
    });
    socket.on('error', reject);
    socket.on('close', () =>
      missing === 0 ? resolve({ flows, ports }) : reject(new Error('the connection to the bridge ended')),
    );
  });
}
