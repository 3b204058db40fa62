/** Ten thousand Services with an EndpointSlice each, as those of Deployments are, without pods. */
import { apiVersionOf, endpointSlices, objectPath, services } from '../../../lib/kube/resources.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { forAll } from '../scale-pods.ts';

const namespace = 'default';
/** Services with this label have their endpoints changed. */
export const changedLabel = 'bench.isthmus.network/changed';

export const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);
export const serviceName = (at: number): string => `web-${String(at)}`;
export const sliceName = (at: number): string => `${serviceName(at)}-x7k2p`;

/** Of the pods' network, another one for each Service and number. */
export function endpointAddress(at: number, number: number): string {
  const value = at * 16 + number;
  return `10.${String(100 + (value >> 16))}.${String((value >> 8) & 255)}.${String(value & 255)}`;
}

function endpointsOf(at: number, width: number): readonly object[] {
  return numbers(width).map((number) => ({
    addresses: [endpointAddress(at, number)],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${String((at + number) % 20)}`,
    targetRef: { kind: 'Pod', namespace, name: `${serviceName(at)}-7d4b9c6f5d-${String(number)}` },
  }));
}

/** Creates Services of one port with `width` endpoints each; gives their cluster addresses. */
export async function createServices(
  kube: KubeClient,
  count: number,
  width: number,
  changed: number,
): Promise<readonly string[]> {
  const addresses: string[] = [];
  await forAll(numbers(count), async (at) => {
    const name = serviceName(at);
    const labels = { app: name, ...(at < changed ? { [changedLabel]: 'true' } : {}) };
    const ports = [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }];
    const metadata = { name, namespace, labels: { app: name } };
    const created = await kube.create(services, {
      apiVersion: 'v1',
      kind: services.kind,
      metadata,
      spec: { selector: { app: name }, ports },
    });
    addresses[at] = (created['spec'] as { clusterIP: string }).clusterIP;
    await kube.create(endpointSlices, {
      apiVersion: apiVersionOf(endpointSlices),
      kind: endpointSlices.kind,
      metadata: {
        name: sliceName(at),
        namespace,
        labels: { ...labels, 'kubernetes.io/service-name': name, 'endpointslice.kubernetes.io/managed-by': 'bench' },
      },
      addressType: 'IPv4',
      ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
      endpoints: endpointsOf(at, width),
    });
  });
  return addresses;
}

/** Gives a Service so many endpoints. */
export async function setWidth(kube: KubeClient, at: number, width: number): Promise<void> {
  await kube.request(
    'PATCH',
    objectPath(endpointSlices, { namespace, name: sliceName(at) }),
    { endpoints: endpointsOf(at, width) },
    { contentType: 'application/merge-patch+json' },
  );
}
