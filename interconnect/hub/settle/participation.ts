/**
 * Which networks a member takes part in. In: its request. Out: the networks, made and changed as far as the member may.
 */
import type { HeldPort, MemberState, Rejection } from '../../model/messages.ts';
import { resolveAttachment, type AttachmentFacts } from './attachments.ts';
import type { Refusals } from './refusals.ts';
import type { Networks } from './networks.ts';
import type { Network } from '../model/record.ts';

/** So that one member cannot use up the networks and keys of all. */
const mostAttachments = 64;

export interface Participation {
  readonly networks: Networks;
  /** Ports recorded for it. */
  readonly recorded: readonly HeldPort[];
  readonly isAttached: (network: string) => boolean;
  readonly isForeignSwitch: (name: string) => boolean;
  readonly prefixWithin: AttachmentFacts['prefixWithin'];
}

export interface Parts {
  /** Networks that it takes part in. */
  readonly networks: ReadonlyMap<string, Network>;
  /** Networks that this changed. */
  readonly changed: readonly string[];
}

/** Takes part as requested. Rejections are added to `refusals`. */
export function takePart(
  cluster: string,
  request: MemberState,
  participation: Participation,
  refusals: Refusals,
): Parts {
  const { networks, recorded, isAttached, isForeignSwitch, prefixWithin } = participation;
  const taking = new Map<string, Network>();
  const changed: string[] = [];
  for (const { transitSwitch } of request.attachments.slice(mostAttachments)) refusals.add(tooMany(transitSwitch));
  for (const attachment of request.attachments.slice(0, mostAttachments)) {
    const name = attachment.transitSwitch;
    const resolution = resolveAttachment(cluster, attachment, {
      network: networks.get(name),
      networks: Array.from(networks.values()),
      standard: networks.standard,
      isAttached: isAttached(name),
      claimed: [...recorded, ...attachment.held],
      isForeignSwitch,
      prefixWithin,
    });
    for (const rejection of resolution.rejections) refusals.add(rejection);
    if (resolution.definition !== undefined) {
      networks.put(resolution.definition);
      changed.push(name);
    }
    const network = networks.get(name);
    if (resolution.isAttached && network !== undefined) taking.set(name, network);
  }
  return { networks: taking, changed };
}

/** Keeps its part: an absent member changes no network, and is only removed from networks that exclude it now. */
export function stayIn(cluster: string, request: MemberState, networks: Networks): Parts {
  const taking = new Map<string, Network>();
  for (const { transitSwitch } of request.attachments) {
    const network = networks.get(transitSwitch);
    if (network === undefined) continue;
    const { clusters, definedBy } = network;
    if (clusters.length === 0 || clusters.includes(cluster) || definedBy === cluster)
      taking.set(transitSwitch, network);
  }
  return { networks: taking, changed: [] };
}

function tooMany(transitSwitch: string): Rejection {
  const message = `a cluster takes part in ${mostAttachments} transit switches at most, so ${transitSwitch} is refused`;
  return { kind: 'transit-switch', value: transitSwitch, code: 'TooManySwitches', message, holder: '', transitSwitch };
}
