/**
 * Executes transactions of nf_tables on a netlink socket, without nft(8). The socket stays open: a process that closes one waits
 * until the kernel has destroyed all that earlier transactions removed.
 */
import { NLM } from '../../lib/netlink/message.ts';
import { type Change, encodeTransaction } from '../../lib/netlink/nftables.ts';
import {
  NetlinkError,
  type NetlinkMessage,
  type NetlinkSocket,
  openSocket,
  parseAnswer,
  Protocol,
} from '../../lib/netlink/socket.ts';

const answerMs = 5000;

export class NftTransactions {
  readonly #onPort: (port: number) => void;
  #socket: NetlinkSocket | undefined;

  /** @param onPort called before each transaction with the netlink port that the kernel names as its author */
  constructor(onPort: (port: number) => void) {
    this.#onPort = onPort;
  }

  /**
   * To be called for one transaction at a time.
   * @param what the transaction, for the error
   * @throws NetlinkError if the kernel refuses, and nothing has changed; ETIMEDOUT if it does not answer, and may still execute the transaction
   */
  async execute(changes: readonly Change[], what: string): Promise<void> {
    if (changes.length === 0) return;
    const socket = (this.#socket ??= openSocket(Protocol.NETFILTER));
    const { port } = socket.address();
    this.#onPort(port);
    try {
      await exchange(socket, encodeTransaction(changes, port), what);
    } catch (error) {
      // A late answer must not be taken for that to the next transaction.
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }
}

async function exchange(
  socket: NetlinkSocket,
  { data, last }: ReturnType<typeof encodeTransaction>,
  what: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new NetlinkError('ETIMEDOUT', what)), answerMs);
  const onMessages = (messages: readonly NetlinkMessage[]): void => {
    for (const message of messages) {
      if (message.type !== NLM.ERROR) continue;
      const error = parseAnswer(message, what);
      if (error !== undefined) reject(error);
      else if (message.seq === last) resolve();
    }
  };
  socket.on('message', onMessages);
  socket.on('error', reject);
  socket.socket.send(data, undefined, (error) => error !== undefined && reject(error));
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    socket.off('message', onMessages);
    socket.off('error', reject);
  }
}
