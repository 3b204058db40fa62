/**
 * The hub's endpoint, open before its databases are. In: the four calls of members. Out: until the hub has read its
 * databases, each session learns which of them do not answer, and every other call gets the answer to retry. Then all calls
 * go to the hub, the waiting sessions first. So a hub that starts without answers from its databases does not appear dead.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { IssuedIdentity, SilentDatabase } from '../../model/messages.ts';
import { hubUnavailable } from '../../link/protocol.ts';
import type { Caller, HubCalls, MemberSession } from '../../link/server.ts';
import type { Registry } from './registry.ts';
import { openListener, type Listener, type ListenerOptions } from './listener.ts';

export interface HubEndpointOptions extends Omit<ListenerOptions, 'authority' | 'calls'> {
  readonly registry: Pick<Registry, 'authority' | 'member' | 'members'>;
}

export interface HubEndpoint extends Listener {
  /** Databases that have not answered since the start; complete each time. */
  silent(databases: readonly SilentDatabase[]): void;
  /** From now on the hub itself answers. */
  handOver(calls: HubCalls): void;
}

/** @throws the system's error when the address cannot be bound. */
export async function openHubEndpoint({ registry, ...options }: HubEndpointOptions): Promise<HubEndpoint> {
  const calls = new DeferredCalls(registry);
  const endpoint = await openListener({ ...options, authority: registry.authority, calls });
  return {
    port: endpoint.port,
    get notAfterMs() {
      return endpoint.notAfterMs;
    },
    silent: (databases) => calls.setSilent(databases),
    handOver: (hub) => calls.handOver(hub),
    close: () => endpoint.close(),
  };
}

class DeferredCalls implements HubCalls {
  readonly #registry: HubEndpointOptions['registry'];
  readonly #sessions = new Set<MemberSession>();
  #silent: readonly SilentDatabase[] = [];
  #hub: HubCalls | undefined;

  constructor(registry: HubEndpointOptions['registry']) {
    this.#registry = registry;
  }

  join(token: string, certificateRequest: string, chassis: readonly string[]): Promise<IssuedIdentity | Problem> {
    return this.#hub?.join(token, certificateRequest, chassis) ?? Promise.resolve(this.#notYet());
  }

  renew(caller: Caller, certificateRequest: string): Promise<IssuedIdentity | Problem> {
    return this.#hub?.renew(caller, certificateRequest) ?? Promise.resolve(this.#notYet());
  }

  leave(caller: Caller): Promise<Problem | undefined> {
    return this.#hub?.leave(caller) ?? Promise.resolve(this.#notYet());
  }

  /** States that members send meanwhile are read once the hub listens. */
  session(session: MemberSession): void {
    if (this.#hub !== undefined) return this.#hub.session(session);
    this.#sessions.add(session);
    session.onEnd(() => this.#sessions.delete(session));
    if (this.#silent.length > 0) this.#send(session);
  }

  setSilent(silent: readonly SilentDatabase[]): void {
    this.#silent = silent;
    for (const session of this.#sessions) this.#send(session);
  }

  handOver(hub: HubCalls): void {
    this.#hub = hub;
    const sessions = Array.from(this.#sessions);
    this.#sessions.clear();
    for (const session of sessions) hub.session(session);
  }

  /**
   * A former member is sent nothing: the hub will refuse it. All others are expected, so that nothing of them is
   * dropped.
   */
  #send(session: MemberSession): void {
    const { cluster, fingerprint } = session.caller;
    if (this.#registry.member(cluster)?.fingerprint !== fingerprint) return;
    const expected = [...this.#registry.members()].map((member) => member.cluster).filter((name) => name !== cluster);
    session.send({
      revision: 0,
      full: false,
      transitSwitches: [],
      members: [],
      removed: [],
      rejections: [],
      expected: expected.sort(),
      silentDatabases: this.#silent,
      unreachedBy: [],
      tellsUnreached: true,
      carriesExports: true,
      carriesPods: true,
      takesPaths: true,
    });
  }

  #notYet(): Problem {
    const names = this.#silent.map(({ name }) => name).join(', ');
    const why = names === '' ? 'the hub has just started' : `its databases do not answer: ${names}`;
    return { code: hubUnavailable, message: `the hub cannot do that now: ${why}; the request is retried` };
  }
}
