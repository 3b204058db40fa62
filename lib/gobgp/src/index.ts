// gobgp-js: gobgpd over gRPC. In come peers, prefixes and policies as plain values; out go calls in whichever API generation the process
// speaks, found by one probe. Paths travel as bytes of the wire, which both generations read alike. Every address and prefix is
// checked before a call, because gobgpd dies of some that are not. Errors are the classes of errors.ts.
//
// Families are unicast of IPv4 and IPv6, and EVPN: whatever has `evpn` beside its prefix is an IP prefix route (RFC 9136), in what is
// added, withdrawn, listed and watched alike. `routeKey` says which paths replace each other, `pathFingerprint` whether they say the same.
export { canonicalAddress } from './address.ts';
export type { DecodedAttributes, Origin, PathAttributes } from './attributes.ts';
export type { BgpGlobal, BgpPath, GobgpClient, ListedPath, PathTable, PeerEvent } from './api.ts';
export { openGobgp, pathFingerprint } from './client.ts';
export {
  GobgpError,
  GobgpIncompatible,
  GobgpInvalidArgument,
  GobgpRejected,
  GobgpUnreachable,
  GobgpUnsupported,
} from './errors.ts';
export { type BgpNotification, notificationName, notificationOfLogLine, notificationText } from './notifications.ts';
export type { EvpnKey, EvpnPrefix } from './evpn.ts';
export type { Encapsulation, ExtendedCommunities } from './extended-communities.ts';
export {
  addressFamilies,
  type AddressFamily,
  canonicalPrefix,
  decodePrefix,
  encodePrefix,
  familyOfPrefix,
  unicastFamilies,
  type UnicastFamily,
} from './nlri.ts';
export {
  type BfdConfig,
  type GracefulRestartConfig,
  isSamePeer,
  isSessionKept,
  type Peer,
  type PeerConfig,
} from './peers.ts';
export {
  isSamePolicies,
  isSameStatement,
  type PolicyActions,
  type PolicyAssignment,
  type PolicyStatement,
  type RoutingPolicies,
} from './policies.ts';
export type { RouteChange } from './route-messages.ts';
export { type PathKey, type Route, type RouteKey, routeKey } from './route-nlri.ts';
export type { RouteListener, RouteWatch } from './routes.ts';
export type { FamilyCounts, PeerSession, SessionState } from './sessions.ts';
export type { ApiGeneration, TransportOptions } from './transport.ts';
