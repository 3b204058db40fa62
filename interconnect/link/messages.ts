/** The messages of `proto/hub/v1/hub.proto` as this code holds them: immutable plain data, camelCase names. */

export interface Encap {
  readonly type: string;
  readonly ip: string;
  readonly options: Readonly<Record<string, string>>;
}

export interface Gateway {
  readonly chassis: string;
  readonly hostname: string;
  readonly encaps: readonly Encap[];
}

export interface MemberState {
  readonly revision: number;
  readonly gateways: readonly Gateway[];
  readonly activeGateway: string;
  readonly prefixes: readonly string[];
  readonly routerId: string;
}

export interface Port {
  readonly transitSwitch: string;
  readonly logicalPort: string;
  readonly mac: string;
  readonly networks: readonly string[];
  readonly tunnelKey: number;
  readonly gateway: string;
}

export interface TransitSwitch {
  readonly name: string;
  readonly cidr: string;
  readonly tunnelKey: number;
  readonly port: Port;
}

export interface Route {
  readonly transitSwitch: string;
  readonly prefix: string;
  readonly nexthop: string;
  readonly origin: string;
}

export interface Member {
  readonly name: string;
  readonly foreign: boolean;
  readonly connected: boolean;
  /** Unix milliseconds; 0 while connected and for foreign members. */
  readonly lastSeenMs: number;
  readonly gateways: readonly Gateway[];
  readonly ports: readonly Port[];
  readonly routes: readonly Route[];
}

export interface Rejection {
  readonly kind: 'gateway' | 'prefix' | 'member';
  readonly value: string;
  readonly code: string;
  readonly message: string;
  readonly holder: string;
}

export interface HubUpdate {
  readonly revision: number;
  readonly full: boolean;
  readonly switches: readonly TransitSwitch[];
  readonly members: readonly Member[];
  readonly removed: readonly string[];
  readonly rejections: readonly Rejection[];
}

/** A certificate and the hub's CA, both PEM. */
export interface IssuedIdentity {
  readonly certificate: string;
  readonly ca: string;
}
