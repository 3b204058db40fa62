/**
 * Executes transactions of nf_tables on a netlink socket, without nft(8). The socket stays open: a process that closes one waits
 * until the kernel has destroyed all that earlier transactions removed. The kernel executes a transaction within the call that sends it. While
 * another program's transaction runs, that call waits for its end, and with it this whole process.
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

/** Time for the answer once the call has returned. */
const answerMs = 5000;

export class NftTransactions {
  readonly #onPort: (port: number) => void;
  readonly #openSocket: () => NetlinkSocket;
  #socket: NetlinkSocket | undefined;

  /** @param onPort called before each transaction with the netlink port that the kernel names as its author */
  constructor(onPort: (port: number) => void, open: () => NetlinkSocket = () => openSocket(Protocol.NETFILTER)) {
    this.#onPort = onPort;
    this.#openSocket = open;
  }

  /**
   * To be called for one transaction at a time. Waits for transactions of other programs, however long they take.
   * @param what the transaction, for the error
   * @throws NetlinkError if the kernel refuses, and nothing has changed; ETIMEDOUT if it does not answer, and may still execute the transaction
   */
  async execute(changes: readonly Change[], what: string): Promise<void> {
    if (changes.length === 0) return;
    const socket = (this.#socket ??= this.#openSocket());
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
  let timer: NodeJS.Timeout | undefined;
  let isAnswered = false;
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
  socket.socket.send(data, undefined, (error) => {
    if (error !== undefined) reject(error);
    // From here, not from the call: what that waited for another program is no silence of the kernel.
    else if (!isAnswered) timer = setTimeout(() => reject(new NetlinkError('ETIMEDOUT', what)), answerMs);
  });
  try {
    await promise;
  } finally {
    isAnswered = true;
    clearTimeout(timer);
    socket.off('message', onMessages);
    socket.off('error', reject);
  }
}
