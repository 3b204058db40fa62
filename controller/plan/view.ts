/**
 * What plans see: the state of one moment. Plans are functions of it and of a key; they give rows of the
 * northbound database and what Kubernetes is to be told, and know nothing of what is there already.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Allocation, SubnetPool } from '../ipam/subnet-pool.ts';
import type { IpObject, Namespace, Node, Pod, Subnet, Vpc } from '../state/objects.ts';
import type { Verdict } from './judge.ts';

export interface View {
  readonly vpcs: ReadonlyMap<string, Vpc>;
  readonly subnets: ReadonlyMap<string, Subnet>;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  /** By `namespace/name`. */
  readonly pods: ReadonlyMap<string, Pod>;
  readonly ips: ReadonlyMap<string, IpObject>;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** Subnets of a namespace, in the order they are used. */
  boundSubnets(namespace: string): readonly string[];
  /** What the object with this uid holds under a port's name. */
  allocation(port: string, uid: string | undefined): Allocation | undefined;
  /** Whether anybody holds addresses under a port's name. */
  isAllocated(port: string): boolean;
  pool(subnet: string): SubnetPool | undefined;
  /** Why a pod or node has no address; by its key, `pod/default/web` or `node/n1`. */
  addressProblem(key: string): Problem | undefined;
}
