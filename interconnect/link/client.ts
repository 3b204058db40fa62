/**
 * A member's side of the link. In: the hub's address, a token or an identity. Out: certificates, and sessions whose updates `state/hub-view.ts` keeps.
 * Called by the agent. A refusal is a `HubRefused`; everything that may pass by itself is a `HubUnreachable`.
 */
import { createHash } from 'node:crypto';
import { connect, type PeerCertificate } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { hubName } from './certificate.ts';
import type { ExportReport, ExportUpdate } from '../model/export-messages.ts';
import type { PodReport, PodUpdate } from '../model/pod-sets.ts';
import type { HubUpdate, IssuedIdentity, JoinRequest, MemberState, PathReport } from '../model/messages.ts';
import { hubError, HubRefused, hubService, HubUnreachable, longestUpdate } from './protocol.ts';

const deadlineMs = 10_000;

/** A member's key, its certificate and the hub's CA, all PEM. */
export interface LinkIdentity extends IssuedIdentity {
  readonly key: string;
}

export interface HubSession {
  send(state: MemberState): void;
  /** Only to a hub that `carriesExports`, and after a state. */
  sendExports(report: ExportReport): void;
  /** Only to a hub that `carriesPods`, and after a state. */
  sendPods(report: PodReport): void;
  /** Only to a hub that `takesPaths`. */
  sendPaths(report: PathReport): void;
  end(): void;
}

export interface SessionEvents {
  readonly onUpdate: (update: HubUpdate) => void;
  /** Never called before `sendExports`. */
  readonly onExports: (update: ExportUpdate) => void;
  /** Never called before `sendPods`. */
  readonly onPods: (update: PodUpdate) => void;
  /** Called once. Undefined: the hub ended the session without an error. */
  readonly onEnd: (error: HubRefused | HubUnreachable | undefined) => void;
}

export interface HubLink {
  /** Never throws: a failed connection arrives at `onEnd`. */
  session(events: SessionEvents): HubSession;
  renew(certificateRequest: string): Promise<IssuedIdentity>;
  leave(): Promise<void>;
  /** Whether a connection stands: it is encrypted, and its keep-alive was answered lately. */
  isConnected(): boolean;
  close(): void;
}

/**
 * Redeems a join token. The hub is recognised by its CA, whose fingerprint the token carries, before anything is sent.
 * A key that is a member under another name than the token's is renamed. `chassis`: of the cluster's gateways.
 * @throws HubRefused, HubUnreachable
 */
export async function joinHub(
  hub: string,
  caFingerprint: string,
  token: string,
  certificateRequest: string,
  chassis: readonly string[] = [],
): Promise<IssuedIdentity> {
  const ca = await fetchAuthority(hub, caFingerprint);
  const client = makeClient(hub, grpc.credentials.createSsl(Buffer.from(ca)));
  try {
    const request: JoinRequest = { token, certificateRequest, chassis };
    return (await callUnary(client, hub, 'Join', request)) as IssuedIdentity;
  } finally {
    client.close();
  }
}

/** A link for a member that has joined. Connects on first use. */
export function openHubLink(hub: string, identity: LinkIdentity): HubLink {
  const credentials = grpc.credentials.createSsl(
    Buffer.from(identity.ca),
    Buffer.from(identity.key),
    Buffer.from(identity.certificate),
  );
  const client = makeClient(hub, credentials);
  return {
    session: (events) => startSession(client, hub, events),
    renew: async (certificateRequest) =>
      (await callUnary(client, hub, 'Renew', { certificateRequest })) as IssuedIdentity,
    leave: async () => void (await callUnary(client, hub, 'Leave', {})),
    isConnected: () => client.getChannel().getConnectivityState(false) === grpc.connectivityState.READY,
    close: () => client.close(),
  };
}

function makeClient(hub: string, credentials: grpc.ChannelCredentials): grpc.Client {
  return new (grpc.makeGenericClientConstructor(hubService(), 'Hub'))(hub, credentials, {
    'grpc.ssl_target_name_override': hubName,
    // A frozen hub is noticed within six seconds.
    'grpc.keepalive_time_ms': 3000,
    'grpc.keepalive_timeout_ms': 3000,
    // The agent paces its attempts itself; a shared pool would add the pauses of earlier clients.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.max_receive_message_length': longestUpdate,
  });
}

type UnaryMethod = (request: object, options: grpc.CallOptions, callback: grpc.requestCallback<object>) => void;
type StreamMethod = () => grpc.ClientDuplexStream<
  MemberState | { readonly exports: ExportReport } | { readonly pods: PodReport } | { readonly paths: PathReport },
  HubMessage
>;

/** A message of the hub as it is decoded. */
type HubMessage = HubUpdate & { readonly exports: ExportUpdate | null; readonly pods: PodUpdate | null };

function callUnary(client: grpc.Client, hub: string, method: string, request: object): Promise<object> {
  const call = ((client as unknown as Record<string, UnaryMethod>)[method] as UnaryMethod).bind(client);
  return new Promise((resolve, reject) => {
    call(request, { deadline: Date.now() + deadlineMs }, (error, reply) =>
      error === null ? resolve(reply ?? {}) : reject(hubError(hub, error)),
    );
  });
}

function startSession(client: grpc.Client, hub: string, events: SessionEvents): HubSession {
  const stream = ((client as unknown as Record<string, StreamMethod>)['Session'] as StreamMethod).call(client);
  let isOpen = true;
  const end = (error: HubRefused | HubUnreachable | undefined): void => {
    if (!isOpen) return;
    isOpen = false;
    events.onEnd(error);
  };
  stream.on('data', ({ exports, pods, ...update }: HubMessage) => {
    if (!isOpen) return;
    if (exports !== null) events.onExports(exports);
    else if (pods !== null) events.onPods(pods);
    else events.onUpdate(update);
  });
  stream.on('error', (error: grpc.ServiceError) => end(hubError(hub, error)));
  stream.on('end', () => end(undefined));
  return {
    send: (state) => isOpen && stream.write(state),
    sendExports: (exports) => isOpen && stream.write({ exports }),
    sendPods: (pods) => isOpen && stream.write({ pods }),
    sendPaths: (paths) => isOpen && stream.write({ paths }),
    end: () => {
      stream.cancel();
      end(undefined);
    },
  };
}

/** The CA certificate (PEM) that the hub presents, if it is the pinned one. Nothing is sent over this connection. */
async function fetchAuthority(hub: string, fingerprint: string): Promise<string> {
  const { host, port } = splitAddress(hub);
  const chain = await new Promise<readonly PeerCertificate[]>((resolve, reject) => {
    // The CA is not known yet, so that the chain cannot be verified here: its fingerprint is, and the call that
    // carries the token then verifies the chain against exactly this CA.
    const socket = connect({
      host,
      port,
      servername: '',
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
      timeout: deadlineMs,
    });
    const fail = (error: Error): void => {
      socket.destroy();
      reject(new HubUnreachable(`the hub at ${hub} did not answer: ${error.message}`, { cause: error }));
    };
    socket.once('error', fail);
    socket.once('timeout', () => fail(new Error('no TLS handshake in time')));
    socket.once('secureConnect', () => {
      resolve(chainOf(socket.getPeerCertificate(true)));
      socket.destroy();
    });
  });
  const pinned = chain.find(({ raw }) => createHash('sha256').update(raw).digest('hex') === fingerprint);
  if (pinned !== undefined)
    return `-----BEGIN CERTIFICATE-----\n${pinned.raw.toString('base64')}\n-----END CERTIFICATE-----\n`;
  const message = `the server at ${hub} is not the hub that created the token; check the address, and that nothing intercepts the connection`;
  throw new HubRefused({ code: 'HubNotTrusted', message });
}

function chainOf(leaf: PeerCertificate & { issuerCertificate?: PeerCertificate }): readonly PeerCertificate[] {
  const chain: PeerCertificate[] = [];
  for (
    let next: typeof leaf | undefined = leaf;
    next?.raw !== undefined && !chain.includes(next);
    next = next.issuerCertificate
  )
    chain.push(next);
  return chain;
}

/** `host:port` or `[v6]:port`. @throws HubRefused when it is neither */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65_535)
    throw new HubRefused({ code: 'HubAddressInvalid', message: `"${address}" is not a host:port of a hub` });
  return { host: match[1] ?? match[2] ?? '', port };
}
