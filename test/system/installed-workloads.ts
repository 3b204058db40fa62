/** The workloads of an installation, without pods: the CLI reads their arguments. */
import { apiVersionOf, daemonSets, deployments } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { systemNamespace } from '../../lib/api/names.ts';

export async function createWorkloads(kube: KubeClient): Promise<void> {
  for (const [resource, name, argument] of [
    [deployments, 'isthmus-controller', '--external-ips=Allow'],
    [daemonSets, 'isthmus-daemon', '--services=on'],
  ] as const) {
    const labels = { app: name };
    const containers = [{ name: 'main', image: 'none', args: [argument] }];
    await kube.create(resource, {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { name, namespace: systemNamespace },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    });
  }
}
