/** Base of all errors of this package; `retry` tells whether a caller can retry. */
export class GobgpError extends Error {
  readonly code: string;
  readonly retry: 'backoff' | 'never';

  constructor(code: string, retry: 'backoff' | 'never', message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.retry = retry;
  }
}

/** No answer from the target: no process, no socket, no permission, or a frozen process. */
export class GobgpUnreachable extends GobgpError {
  constructor(target: string, detail: string, options?: ErrorOptions) {
    super('GobgpUnreachable', 'backoff', `gobgpd does not answer at ${target}: ${detail}`, options);
  }
}

/** Something answers at the target, but it offers neither generation of the API. */
export class GobgpIncompatible extends GobgpError {
  constructor(target: string) {
    super(
      'GobgpIncompatible',
      'backoff',
      `what listens at ${target} is not a gobgpd of version 3 or 4; check the address`,
    );
  }
}

/** gobgpd answered a call with an error of its own. */
export class GobgpRejected extends GobgpError {
  readonly call: string;
  /** gobgpd's own words. */
  readonly details: string;

  constructor(call: string, details: string, options?: ErrorOptions) {
    super('GobgpRejected', 'backoff', `gobgpd refused ${call}: ${details}`, options);
    this.call = call;
    this.details = details;
  }
}

/** An argument was refused here, before anything was sent. */
export class GobgpInvalidArgument extends GobgpError {
  constructor(message: string) {
    super('GobgpInvalidArgument', 'never', message);
  }
}

/** This generation of gobgpd does not support the request; only a newer generation does. */
export class GobgpUnsupported extends GobgpError {
  constructor(what: string) {
    super('GobgpUnsupported', 'never', `${what} needs gobgpd 4, and this is gobgpd 3; run a newer gobgpd`);
  }
}
