// BGP NOTIFICATIONs (RFC 4271 §4.5, 4486, 6608, 7606, 8538, 9384) as text for statuses and events.

export interface BgpNotification {
  /** Whether the neighbour ended the session or gobgpd did. */
  readonly direction: 'sent' | 'received';
  readonly code: number;
  readonly subcode: number;
  /** Message of the operator of the side that ended the session (RFC 9003). */
  readonly communication?: string;
}

interface Code {
  readonly name: string;
  readonly subcodes: Readonly<Record<number, string>>;
}

const codes: Readonly<Record<number, Code>> = {
  1: {
    name: 'MessageHeaderError',
    subcodes: { 1: 'ConnectionNotSynchronized', 2: 'BadMessageLength', 3: 'BadMessageType' },
  },
  2: {
    name: 'OpenMessageError',
    subcodes: {
      1: 'UnsupportedVersion',
      2: 'BadPeerAs',
      3: 'BadBgpIdentifier',
      4: 'UnsupportedOptionalParameter',
      6: 'UnacceptableHoldTime',
      7: 'UnsupportedCapability',
      11: 'RoleMismatch',
    },
  },
  3: {
    name: 'UpdateMessageError',
    subcodes: {
      1: 'MalformedAttributeList',
      2: 'UnrecognizedWellKnownAttribute',
      3: 'MissingWellKnownAttribute',
      4: 'AttributeFlagsError',
      5: 'AttributeLengthError',
      6: 'InvalidOrigin',
      8: 'InvalidNextHop',
      9: 'OptionalAttributeError',
      10: 'InvalidNetworkField',
      11: 'MalformedAsPath',
    },
  },
  4: { name: 'HoldTimerExpired', subcodes: {} },
  5: { name: 'FiniteStateMachineError', subcodes: {} },
  6: {
    name: 'Cease',
    subcodes: {
      1: 'CeasePrefixLimit',
      2: 'CeaseAdministrativeShutdown',
      3: 'CeasePeerDeconfigured',
      4: 'CeaseAdministrativeReset',
      5: 'CeaseConnectionRejected',
      6: 'CeaseOtherConfigurationChange',
      7: 'CeaseConnectionCollision',
      8: 'CeaseOutOfResources',
      9: 'CeaseHardReset',
      10: 'CeaseBfdDown',
    },
  },
  7: { name: 'RouteRefreshError', subcodes: {} },
};

/** One CamelCase word for the codes. */
export function notificationName({ code, subcode, communication }: BgpNotification): string {
  // gobgpd resets a session administratively when BFD goes down, and gives the reason only as text.
  if (code === 6 && subcode === 4 && communication === 'BFD is down') return 'BfdDown';
  const known = codes[code];
  return known?.subcodes[subcode] ?? known?.name ?? 'UnknownNotification';
}

/** A sentence for people. */
export function notificationText(notification: BgpNotification): string {
  const { direction, code, subcode, communication } = notification;
  const who = direction === 'sent' ? 'gobgpd ended the session' : 'the neighbour ended the session';
  const quoted = communication ? `: "${communication}"` : '';
  return `${who} with NOTIFICATION ${code}/${subcode} (${notificationName(notification)})${quoted}`;
}

/** The notification in gobgpd's words, as `notification-received code 6(cease) subcode 2(administrative shutdown)`. */
export function notificationOfMessage(message: string): BgpNotification | undefined {
  const found = /^notification-(sent|received) code (\d+)\(.*\) subcode (\d+)\(/.exec(message);
  if (!found) return undefined;
  return { direction: found[1] === 'sent' ? 'sent' : 'received', code: Number(found[2]), subcode: Number(found[3]) };
}

/**
 * The notification in a line of gobgpd's log, in JSON at level info. gobgpd 4.8 reports codes only in its log, except those of a
 * notification that a neighbour sends in answer to our OPEN, which are missing there, too.
 */
export function notificationOfLogLine(
  line: string,
): { readonly address: string; readonly notification: BgpNotification } | undefined {
  const found = /"msg":"(sent|received) notification"/.exec(line);
  if (!found) return undefined;
  const { Key, Code, Subcode, 'Communicated-Reason': communication } = parseLine(line) ?? {};
  if (typeof Key !== 'string' || typeof Code !== 'number' || typeof Subcode !== 'number') return undefined;
  const direction = found[1] === 'sent' ? 'sent' : 'received';
  return {
    address: Key,
    notification: {
      direction,
      code: Code,
      subcode: Subcode,
      ...(typeof communication === 'string' && communication !== '' && { communication }),
    },
  };
}

function parseLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}
