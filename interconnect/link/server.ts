/**
 * The hub's endpoint: gRPC over TLS 1.3. The caller is read from the client certificate, never from a message. In: the
 * four calls of hub.proto. Out: calls on `HubCalls`; a returned Problem becomes a refusal. Called by hub/main.ts. Join
 * is the one call that needs no certificate.
 */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { promisify } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import type { Problem } from '../../lib/desired/problem.ts';
import { commonNameOf, keyFingerprint, type KeyAndCertificate } from '../../lib/pki/certificate.ts';
import { refuseOversized } from './state-size.ts';
import type { ExportReport, ExportUpdate } from '../model/export-messages.ts';
import type { PodReport, PodUpdate } from '../model/pod-sets.ts';
import type { HubUpdate, IssuedIdentity, JoinRequest, MemberState, PathReport } from '../model/messages.ts';
import { Outbox } from './outbox.ts';
import { hubService, longestCall, longestState, refusal } from './protocol.ts';

/** How long a session that has ended may take to send what waits, and the reason of its end. */
const farewellMs = 10_000;

/** The member that a client certificate was issued to. */
export interface Caller {
  readonly cluster: string;
  /** SHA-256 of its public key, hex. */
  readonly fingerprint: string;
}

/** One open session, as the hub sees it. */
export interface MemberSession {
  readonly caller: Caller;
  /** Nothing is read before this is called. */
  onState(listener: (state: MemberState) => void): void;
  /** To be called before `onState`; without a listener, reports of exports are dropped. */
  onExports(listener: (report: ExportReport) => void): void;
  /** As `onExports`, of pods that policies name. */
  onPods(listener: (report: PodReport) => void): void;
  /** To be called before `onState`; without a listener, reports of paths are dropped. */
  onPaths(listener: (report: PathReport) => void): void;
  /** Called once, however the session ended. */
  onEnd(listener: () => void): void;
  send(update: HubUpdate): void;
  /** Only to a member that has sent a report of its exports. `onTaken` is called once the update has left. */
  sendExports(update: ExportUpdate, onTaken: () => void): void;
  /** Only to a member that has sent a report of pods. */
  sendPods(update: PodUpdate, onTaken: () => void): void;
  /** Ends the session and sends the member the reason. */
  refuse(problem: Problem): void;
}

export interface HubCalls {
  /** `chassis`: of the gateways of the cluster that asks. */
  join(token: string, certificateRequest: string, chassis: readonly string[]): Promise<IssuedIdentity | Problem>;
  renew(caller: Caller, certificateRequest: string): Promise<IssuedIdentity | Problem>;
  leave(caller: Caller): Promise<Problem | undefined>;
  session(session: MemberSession): void;
}

export interface HubServerOptions {
  /** `host:port`. */
  readonly listen: string;
  readonly calls: HubCalls;
  readonly authority: string;
  readonly endpoint: KeyAndCertificate;
  readonly log: { info(fields: object, message: string): void };
}

export interface HubServer {
  readonly port: number;
  /** New connections get this certificate. */
  renewEndpoint(endpoint: KeyAndCertificate): void;
  close(): void;
}

/** The protocol's own: a client certificate is asked for but only needed where a call needs it. */
class EndpointCredentials extends grpc.ServerCredentials {
  readonly #authority: string;

  constructor(authority: string, endpoint: KeyAndCertificate) {
    super(
      { requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.3' },
      { ca: authority, cert: endpoint.certificate, key: endpoint.key },
    );
    this.#authority = authority;
  }

  renew(endpoint: KeyAndCertificate): void {
    this.updateSecureContextOptions({ ca: this.#authority, cert: endpoint.certificate, key: endpoint.key });
  }

  override _equals(other: grpc.ServerCredentials): boolean {
    return this === other;
  }
}

/** Listens and serves. @throws the system's error when the address cannot be bound. */
export async function serveHub(options: HubServerOptions): Promise<HubServer> {
  const server = new grpc.Server({
    // A member that vanished without a FIN is noticed within ten seconds.
    'grpc.keepalive_time_ms': 5000,
    'grpc.keepalive_timeout_ms': 5000,
    'grpc.max_receive_message_length': longestState,
  });
  const { calls, log } = options;
  const { service, encode } = boundedService();
  server.addService(service, {
    Join: unary(({ request }) => {
      const { token, certificateRequest, chassis } = request as unknown as JoinRequest;
      return calls.join(token, certificateRequest, chassis);
    }),
    Renew: unary(async (call) => {
      const caller = callerOf(call);
      return 'code' in caller ? caller : await calls.renew(caller, String(call.request['certificateRequest']));
    }),
    Leave: unary(async (call) => {
      const caller = callerOf(call);
      return 'code' in caller ? caller : ((await calls.leave(caller)) ?? {});
    }),
    Session: (call: SessionCall) => openSession(call, { calls, encode, log }),
  });
  const credentials = new EndpointCredentials(options.authority, options.endpoint);
  const port = await promisify(server.bindAsync.bind(server))(options.listen, credentials);
  return {
    port,
    renewEndpoint: (endpoint) => credentials.renew(endpoint),
    close: () => server.forceShutdown(),
  };
}

/** Messages that are too large are not decoded, and updates arrive as bytes, by which they are counted. */
function boundedService(): { service: grpc.ServiceDefinition; encode: Encode } {
  const { Session: session, ...rest } = hubService();
  if (session === undefined) throw new Error('the protocol has no Session');
  const others = Object.entries(rest).map(([name, method]) => {
    const requestDeserialize = (bytes: Buffer): object => {
      if (bytes.length > longestCall) throw new RangeError(`${bytes.length} bytes; at most ${longestCall} are allowed`);
      return method.requestDeserialize(bytes);
    };
    return [name, { ...method, requestDeserialize }] as const;
  });
  const service = {
    ...Object.fromEntries(others),
    Session: {
      ...session,
      requestDeserialize: (bytes: Buffer): object => refuseOversized(bytes) ?? session.requestDeserialize(bytes),
      responseSerialize: (bytes: Buffer) => bytes,
    },
  };
  return { service, encode: (update) => session.responseSerialize(update) };
}

type Encode = (update: HubUpdate | { readonly exports: ExportUpdate } | { readonly pods: PodUpdate }) => Buffer;

/** A message of a member as it is decoded. */
type MemberMessage = MemberState & {
  readonly exports: ExportReport | null;
  readonly pods: PodReport | null;
  readonly paths: PathReport | null;
};

type SessionCall = grpc.ServerDuplexStream<MemberMessage | Problem, Buffer>;

type Reply = IssuedIdentity | Record<string, never>;
type UnaryCall = grpc.ServerUnaryCall<Record<string, unknown>, Reply>;

function unary(
  answer: (call: UnaryCall) => Promise<Reply | Problem>,
): grpc.handleUnaryCall<Record<string, unknown>, Reply> {
  const reply = async (call: UnaryCall, callback: grpc.sendUnaryData<Reply>): Promise<void> => {
    const value = await answer(call);
    if (isProblem(value)) callback(refusal(value));
    else callback(null, value);
  };
  // An unexpected error becomes an unhandled rejection, which ends the process: gRPC must not swallow it.
  return (call, callback) => void reply(call, callback);
}

function isProblem(value: Reply | Problem): value is Problem {
  return 'code' in value;
}

function callerOf(call: Pick<grpc.ServerUnaryCall<unknown, unknown>, 'getAuthContext'>): Caller | Problem {
  const raw = call.getAuthContext().sslPeerCertificate?.raw;
  if (raw === undefined)
    return {
      code: 'CertificateInvalid',
      message: 'the hub requires a valid member certificate that it issued itself; join again with a new token',
    };
  const pem = `-----BEGIN CERTIFICATE-----\n${raw.toString('base64')}\n-----END CERTIFICATE-----`;
  const cluster = commonNameOf(pem);
  if (cluster === undefined) return { code: 'CertificateInvalid', message: 'the member certificate names no cluster' };
  return { cluster, fingerprint: keyFingerprint(raw) };
}

interface SessionFacts extends Pick<HubServerOptions, 'calls' | 'log'> {
  readonly encode: Encode;
}

function openSession(call: SessionCall, { calls, log, encode }: SessionFacts): void {
  const caller = callerOf(call);
  const tell = (problem: Problem): void => {
    call.emit('error', refusal(problem));
  };
  if ('code' in caller) return tell(caller);
  let isOpen = true;
  let onEnd: (() => void) | undefined;
  let onExports: ((report: ExportReport) => void) | undefined;
  let onPods: ((report: PodReport) => void) | undefined;
  let onPaths: ((report: PathReport) => void) | undefined;
  const end = (): void => {
    if (!isOpen) return;
    isOpen = false;
    outbox.close();
    // Messages for a member that does not read would be kept as long as its connection.
    setTimeout(() => abandon(call), farewellMs).unref();
    onEnd?.();
  };
  const refuse = (problem: Problem): void => {
    if (isOpen) tell(problem);
    end();
  };
  const outbox = new Outbox({
    write: (bytes, onTaken) => call.write(bytes, onTaken),
    onStalled: (reason) => {
      log.info({ cluster: caller.cluster }, `the session is ended: ${reason}`);
      abandon(call);
      end();
    },
  });
  // 'cancelled' covers a broken connection; 'end' a member that closed its half: both are the end here.
  call.on('cancelled', end);
  call.on('end', () => {
    call.end();
    end();
  });
  calls.session({
    caller,
    onState: (listener) =>
      call.on('data', (message: MemberMessage | Problem) => {
        if (!isOpen) return;
        if ('code' in message) return refuse(message);
        const { exports, pods, paths, ...state } = message;
        if (exports !== null) onExports?.(exports);
        else if (pods !== null) onPods?.(pods);
        else if (paths !== null) onPaths?.(paths);
        else listener(state);
      }),
    onExports: (listener) => (onExports = listener),
    onPods: (listener) => (onPods = listener),
    onPaths: (listener) => (onPaths = listener),
    onEnd: (listener) => (onEnd = listener),
    send: (update) => isOpen && outbox.send(encode(update)),
    sendExports: (exports, onTaken) => isOpen && outbox.send(encode({ exports }), onTaken),
    sendPods: (pods, onTaken) => isOpen && outbox.send(encode({ pods }), onTaken),
    refuse,
  });
}

/**
 * Ends the stream and drops what waits in it. The library has no call for that, and its own end waits for the reader.
 */
function abandon(call: SessionCall): void {
  const { stream } = (call as unknown as { readonly call: { readonly stream: ServerHttp2Stream } }).call;
  if (!stream.closed) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}
