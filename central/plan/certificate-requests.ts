/**
 * Decides on CertificateSigningRequests of chassis: a certificate or a refusal. Pure.
 *
 * The API server reports which node sent a request: the token of a daemon is bound to its pod, and the pod to its node. The name in the certificate
 * is the node's chassis name, which OVN compares with the rows that the client writes. A name belongs to the node that was certified for it first.
 */
import { chassisUsages } from '../../lib/ovn/chassis-request.ts';

export interface ChassisRequest {
  readonly username: string;
  /** Node of the pod that the token is bound to, as reported by the API server. */
  readonly node: string | undefined;
  readonly usages: readonly string[];
  /** The requested name; undefined if the text is not a request. */
  readonly chassis: string | undefined;
}

export interface Situation {
  /** User name of the daemons' ServiceAccount. */
  readonly daemon: string;
  /** Node → the chassis name that was certified last. */
  readonly certified: ReadonlyMap<string, string>;
  readonly hasNode: (name: string) => boolean;
}

export type Judgement =
  | { readonly verdict: 'issue'; readonly node: string; readonly chassis: string }
  | { readonly verdict: 'deny'; readonly message: string };

/** Chassis names that both OVN and Open vSwitch accept. */
const chassisName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export function judge(request: ChassisRequest, { daemon, certified, hasNode }: Situation): Judgement {
  const { username, node, usages, chassis } = request;
  if (username !== daemon) return deny(`${username} may not request certificates of chassis: only ${daemon} may`);
  if (node === undefined)
    return deny('the token of the request is not bound to a pod on a node; Kubernetes 1.30 and later bind them');
  if (!hasNode(node)) return deny(`there is no Node ${node}`);
  const foreign = usages.find((usage) => !(chassisUsages as readonly string[]).includes(usage));
  if (foreign !== undefined)
    return deny(`chassis get certificates for ${chassisUsages.join(' and ')}, not for ${foreign}`);
  if (chassis === undefined) return deny('spec.request is not a PKCS #10 request signed with its own key');
  if (!chassisName.test(chassis))
    return deny(
      `${JSON.stringify(chassis.slice(0, 80))} is not a valid chassis name: use up to 63 letters, digits, ".", "_" and "-"`,
    );
  const holder = [...certified].find(([other, name]) => name === chassis && other !== node && hasNode(other))?.[0];
  if (holder !== undefined)
    return deny(
      `chassis ${chassis} belongs to node ${holder}; give the Open vSwitch of node ${node} another name (external_ids:system-id)`,
    );
  return { verdict: 'issue', node, chassis };
}

function deny(message: string): Judgement {
  return { verdict: 'deny', message };
}
