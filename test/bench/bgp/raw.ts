/** gobgpd through grpc-js alone, with known bytes: the floor of calls through lib/gobgp. */
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';

const protoFile = fileURLToPath(new URL('../../../proto/gobgp/v4/gobgp.proto', import.meta.url));
const pathsPerMessage = 500;
const ipv4 = { afi: 1, safi: 1 };

export interface RawPath {
  readonly family: typeof ipv4;
  readonly nlri_binary: Buffer;
  readonly pattrs_binary: readonly Buffer[];
  readonly is_withdraw?: boolean;
}

/** An IPv4 host route with the next hop that denotes the speaker's own address; `tag` is a large community. */
export function rawPath(address: string, tag?: string): RawPath {
  const words = tag?.split(':').map(Number) ?? [];
  const community = Buffer.alloc(3 + 4 * words.length);
  community.set([0xc0, 32, 4 * words.length]);
  for (const [at, word] of words.entries()) community.writeUInt32BE(word, 3 + 4 * at);
  return {
    family: ipv4,
    nlri_binary: Buffer.of(32, ...address.split('.').map(Number)),
    pattrs_binary: [
      Buffer.of(0x40, 1, 1, 0),
      Buffer.of(0x40, 2, 0),
      Buffer.of(0x40, 3, 4, 0, 0, 0, 0),
      ...(words.length > 0 ? [community] : []),
    ],
  };
}

/** Requests of gobgpd as bytes, and the calls that take them. */
export class RawGobgp {
  readonly #client: grpc.Client;

  constructor(target: string) {
    this.#client = new grpc.Client(target, grpc.credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  }

  /** AddPath's request is that of AddPathStream with one path, byte by byte. */
  async addPath(path: RawPath): Promise<void> {
    const method = addPathStream();
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        method.path.replace('AddPathStream', 'AddPath'),
        method.requestSerialize,
        method.responseDeserialize,
        request([path]),
        (error) => (error ? reject(error) : resolve()),
      );
    });
  }

  async addPaths(paths: readonly RawPath[]): Promise<void> {
    await this.stream(messagesOf(paths));
  }

  async withdraw(paths: readonly RawPath[]): Promise<void> {
    await this.addPaths(paths.map((path) => ({ ...path, is_withdraw: true })));
  }

  /** Messages as they go over the wire. */
  async stream(messages: readonly Buffer[]): Promise<void> {
    const method = addPathStream();
    return new Promise((resolve, reject) => {
      const call = this.#client.makeClientStreamRequest<Buffer, object>(
        method.path,
        (message) => message,
        method.responseDeserialize,
        (error: grpc.ServiceError | null) => (error ? reject(error) : resolve()),
      );
      for (const message of messages) call.write(message);
      call.end();
    });
  }

  close(): void {
    this.#client.close();
  }
}

/** Requests of AddPathStream for these paths, encoded. */
export function messagesOf(paths: readonly RawPath[]): Buffer[] {
  const count = Math.ceil(paths.length / pathsPerMessage);
  const parts = Array.from({ length: count }, (_, at) => paths.slice(at * pathsPerMessage, (at + 1) * pathsPerMessage));
  return parts.map((part) => addPathStream().requestSerialize(request(part)));
}

function request(paths: readonly RawPath[]): object {
  return { table_type: 'TABLE_GLOBAL', paths };
}

let service: ServiceDefinition | undefined;

function addPathStream(): ServiceDefinition[string] {
  if (service === undefined) {
    const options = { keepCase: true, longs: Number, enums: String, defaults: true, arrays: true };
    const loaded = loadSync(protoFile, options)['api.GoBgpService'];
    if (loaded === undefined || 'format' in loaded) throw new TypeError(`no service api.GoBgpService in ${protoFile}`);
    service = loaded;
  }
  const method = service['AddPathStream'];
  if (method === undefined) throw new TypeError(`no rpc AddPathStream in ${protoFile}`);
  return method;
}
