/**
 * A real kube-apiserver on a real etcd for tests: loopback, free ports, everything in one temporary folder.
 * Called by tests only. The admin logs in by token; RBAC is on, so service accounts can be tried too.
 */
import { borrowServers, poolVariable } from './testing-pool.ts';
import { endServers, type Place, type Running, running, startKubeApiServer, startServers } from './testing-servers.ts';

export { toolsFolder } from './testing-servers.ts';

export interface TestApiServer {
  readonly dir: string;
  readonly kubeconfig: string;
  readonly port: number;
  /** Ends the API server as a crash would; etcd goes on. */
  kill(): Promise<void>;
  /** Starts the API server again on the same port and etcd, and waits until it is ready. */
  restart(): Promise<void>;
  /** Freezes and thaws the API server. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Ends both and removes the folder. */
  stop(): Promise<void>;
}

export interface ApiServerOptions {
  /** Added to those of kube-apiserver. */
  readonly flags?: readonly string[];
  /** The socket of a pool; `none` for a caller in a network namespace of its own, which does not reach the API servers of a pool. */
  readonly pool?: string;
}

/**
 * An etcd and a kube-apiserver that no test has used: one that the suite's pool has ready, or else, and with flags, one that is started here,
 * which takes about three seconds.
 */
export async function startApiServer({
  flags = [],
  pool = process.env[poolVariable] ?? 'none',
}: ApiServerOptions = {}): Promise<TestApiServer> {
  if (pool !== 'none' && flags.length === 0) {
    const { place, apiServer, giveBack } = await borrowServers(pool);
    return handle(place, apiServer, giveBack);
  }
  const servers = await startServers(flags);
  return handle(servers.place, running(servers.apiServer), () => endServers(servers));
}

/** @param endAll ends etcd and the first API server, and removes the folder */
function handle(place: Place, first: Running, endAll: () => Promise<void>): TestApiServer {
  let apiServer = first;
  return {
    dir: place.dir,
    kubeconfig: place.kubeconfig,
    port: place.port,
    kill: () => apiServer.end(),
    restart: async () => {
      await apiServer.end();
      apiServer = running(await startKubeApiServer(place));
    },
    signal: (name) => apiServer.signal(name),
    stop: async () => {
      await apiServer.end();
      await endAll();
    },
  };
}
