/** The objects of a test. In: a network and an end of it. Out: manifests. Pure. */
import { annotation, label } from '../../../lib/api/names.ts';
import type { TestEnd, TestNetwork, TestRole } from '../../model/test-traffic.ts';
import { answerOf, serveCommand, testPort } from './probes.ts';

export const testContainer = 'test';
export const testRoles: readonly TestRole[] = ['client', 'server'];
/** Time after which pods end by themselves, if the command could not delete them because its machine was switched off. */
const longestSeconds = 1800;
/** The user of the images of Isthmus. */
const nobody = 65_532;

export interface TestRun {
  /** Unique: no answer of another run is taken for one of this. */
  readonly id: string;
  readonly image: string;
  readonly pullPolicy: string;
}

export function namespaceManifest({ namespace }: TestNetwork, { id }: TestRun): object {
  const labels = {
    [label.verification]: id,
    // Admits only pods without any privilege, as these are.
    'pod-security.kubernetes.io/enforce': 'restricted',
  };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } };
}

/** Allowed by the Pod Security Standard `restricted`. */
export function podManifest(network: TestNetwork, end: TestEnd, role: TestRole, run: TestRun): object {
  const { namespace } = network;
  const name = { namespace, name: role };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...name,
      labels: { [label.verification]: role },
      annotations: { [annotation.logicalSwitch]: end.subnet },
    },
    spec: {
      // Bypasses the scheduler: the nodes were chosen so that packets take different ways.
      nodeName: end.nodes[role],
      restartPolicy: 'Never',
      activeDeadlineSeconds: longestSeconds,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      tolerations: [{ operator: 'Exists' }],
      securityContext: {
        runAsNonRoot: true,
        runAsUser: nobody,
        runAsGroup: nobody,
        seccompProfile: { type: 'RuntimeDefault' },
        // Its group may send pings without a capability; the sysctl is among those that Kubernetes calls safe.
        sysctls: [{ name: 'net.ipv4.ping_group_range', value: `${nobody} ${nobody}` }],
      },
      containers: [
        {
          name: testContainer,
          image: run.image,
          imagePullPolicy: run.pullPolicy,
          command: serveCommand(answerOf(run.id, { cluster: end.cluster, ...name, name: role })),
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  };
}

/** The Service of one cluster alone, so that its endpoints are known: clusters that export one of the same name would share it. */
export function serviceNameOf({ cluster }: TestEnd): string {
  return `from-${cluster}`;
}

export function serviceManifest({ namespace }: TestNetwork, end: TestEnd): object {
  const server: TestRole = 'server';
  return {
    apiVersion: 'v1',
    kind: 'Service',
    // Pods of another VPC are no endpoints of a Service of the default one.
    metadata: { namespace, name: serviceNameOf(end), annotations: { [annotation.vpc]: end.vpc } },
    spec: {
      ipFamilyPolicy: 'PreferDualStack',
      selector: { [label.verification]: server },
      ports: [{ port: testPort, protocol: 'TCP' }],
    },
  };
}
