/** One session with the hub, from its first message to its end. In: a link. Out: the hub's updates; a reason when it ends. */
import type { ExportUpdate } from '../model/export-messages.ts';
import type { PodUpdate } from '../model/pod-sets.ts';
import type { HubUpdate } from '../model/messages.ts';
import type { HubLink, HubSession } from '../link/client.ts';
import { HubUnreachable } from '../link/protocol.ts';

export interface SessionOptions {
  readonly link: HubLink;
  readonly hub: string;
  /** After so long without a connection the hub counts as one that does not answer. */
  readonly connectMs: number;
  readonly onOpen: (session: HubSession) => void;
  readonly onUpdate: (update: HubUpdate) => void;
  /** Returns whether the update builds on what this cluster has; if not, the session ends. */
  readonly onExports: (update: ExportUpdate) => boolean;
  readonly onPods: (update: PodUpdate) => boolean;
  /** No connection stands after `connectMs`. */
  readonly onLate: () => void;
}

/** Resolves at the end that `signal` asked for. @throws HubRefused, HubUnreachable at any other end */
export async function holdSession(options: SessionOptions, signal: AbortSignal): Promise<void> {
  const { link, hub } = options;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = setTimeout(() => {
    // A connected hub is alive: its first update waits for its databases, or is long.
    if (!link.isConnected()) options.onLate();
  }, options.connectMs);
  const resume = (what: string): void => {
    session.end();
    const message = `the hub at ${hub} sent changes of ${what} that this cluster has not received; it is asked for all of them`;
    reject(new HubUnreachable(message));
  };
  const session = link.session({
    onUpdate: (update) => {
      clearTimeout(late);
      options.onUpdate(update);
    },
    onExports: (update) => {
      if (!options.onExports(update)) resume('exports');
    },
    onPods: (update) => {
      if (!options.onPods(update)) resume('pods');
    },
    onEnd: (error) => (error === undefined ? resolve() : reject(error)),
  });
  options.onOpen(session);
  const stop = (): void => session.end();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    await promise;
    if (!signal.aborted) throw new HubUnreachable(`the hub at ${hub} ended the session`);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', stop);
  }
}
