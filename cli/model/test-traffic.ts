/** Test pods of `ic verify --pods`, and what was found with them. */

/** Role of a pod: a client asks the server of another cluster. Both answer, so that a client also shows that its own pod network works. */
export type TestRole = 'client' | 'server';

/** One cluster's part in a test: the network between clusters leads into this VPC. */
export interface TestEnd {
  /** Name among the members. */
  readonly cluster: string;
  readonly vpc: string;
  readonly subnet: string;
  readonly nodes: Readonly<Record<TestRole, string>>;
}

/** The test pods of one transit switch: two in each cluster that takes part, in a Namespace of the same name. */
export interface TestNetwork {
  readonly transitSwitch: string;
  readonly namespace: string;
  readonly ends: readonly TestEnd[];
}

/** A pod that runs. */
export interface TestPod {
  readonly name: TestRole;
  readonly namespace: string;
  readonly cluster: string;
  readonly node: string;
  readonly addresses: readonly string[];
}

/** Traffic in one direction: from the client of one cluster to the server of another one. */
export interface TestFlow {
  readonly network: TestNetwork;
  readonly from: TestEnd;
  readonly to: TestEnd;
}

/** What a program in a test pod printed, and its exit code. */
export interface ProgramResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** What one probe found, as evidence. */
export interface Probed {
  readonly isWell: boolean;
  readonly said: string;
}
