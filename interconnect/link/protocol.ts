/** Loads the hub's protocol and turns its wire form into the types of `messages.ts`. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { Problem } from '../../lib/desired/problem.ts';

const file = 'proto/hub/v1/hub.proto';
/** Bytes of an update of the hub: a thousand clusters with ten routes each are one megabyte. */
export const longestUpdate = 64 * 1024 * 1024;
/** Bytes of a state of a member: a million prefixes fit, which is the most that a HubMember may allow. */
export const longestState = 64 * 1024 * 1024;
/** Bytes of the other calls, which strangers may send too. */
export const longestCall = 64 * 1024;
/** Trailer that carries a refusal's code, so that a member can put it in a condition. */
const codeTrailer = 'isthmus-code';

/** Code of a refusal that passes by itself: the hub is there, but what it needs for this call is not. */
export const hubUnavailable = 'HubUnavailable';

/** The hub refused: a person has to act. */
export class HubRefused extends Error {
  readonly code: string;
  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.message, options);
    this.name = 'HubRefused';
    this.code = problem.code;
  }
}

/** The hub could not be reached or the connection broke. */
export class HubUnreachable extends Error {
  readonly code = 'HubUnreachable';
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HubUnreachable';
  }
}

/** The service of the .proto file. The file lies above this module, both in the source tree and beside a bundle. */
export function hubService(): grpc.ServiceDefinition {
  const definition = loadSync(find(import.meta.dirname), {
    longs: Number,
    defaults: true,
    arrays: true,
    objects: true,
  });
  const service = definition['isthmus.hub.v1.Hub'];
  if (service === undefined || 'format' in service) throw new Error(`${file} has no service isthmus.hub.v1.Hub`);
  return service;
}

function find(from: string): string {
  for (let directory = from; ; directory = dirname(directory)) {
    if (existsSync(join(directory, file))) return join(directory, file);
    if (dirname(directory) === directory)
      throw new Error(`${file} is not in any folder above ${from}; it must be beside the program`);
  }
}

/** As a gRPC error: refusals keep their code in a trailer. */
export function refusal(problem: Problem): Partial<grpc.StatusObject> {
  const metadata = new grpc.Metadata();
  metadata.set(codeTrailer, problem.code);
  return { code: grpc.status.FAILED_PRECONDITION, details: problem.message, metadata };
}

/** Texts of the transport when its pings are unanswered, and when the connection ends for another reason. */
const silence = /keepalive|ping timeout|connection dropped/i;

/** Texts of TLS about a certificate that the authority of this cluster's hub has not signed. */
const distrust = /self-signed|unable to (verify|get)|certificate signature/i;

/** The transport's own words around the reason. */
const wrapping = /^No connection established\. Last error: (?:Error: )?(.*?)\.?\s*(?:Resolution note:.*)?$/s;

/** The other direction: a gRPC error as one of this package's errors. */
export function hubError(hub: string, error: Partial<grpc.ServiceError>): HubRefused | HubUnreachable {
  const code = error.metadata?.get(codeTrailer)[0];
  const details = error.details ?? error.message ?? 'no reason given';
  if (code === hubUnavailable) return new HubUnreachable(details, { cause: error });
  if (typeof code === 'string') return new HubRefused({ code, message: details }, { cause: error });
  const reason = wrapping.exec(details)?.[1] ?? details;
  if (distrust.test(reason)) {
    const message = `the server at ${hub} has a certificate of another authority than the one this cluster trusts (${reason}): the address is that of another server, or the hub was recreated without its backup`;
    return new HubRefused({ code: 'HubNotTrusted', message }, { cause: error });
  }
  const cause = silence.test(details) ? `its keep-alive was unanswered or the connection broke (${reason})` : reason;
  return new HubUnreachable(`the hub at ${hub} did not answer: ${cause}`, { cause: error });
}
