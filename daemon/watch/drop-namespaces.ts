/** Watches the Namespaces with a label that asks for events about dropped packets, and no others. */
import { label } from '../../lib/api/names.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { namespaces } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';

export function watchDropNamespaces(options: {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
}) {
  return reflect({
    ...options,
    resource: namespaces,
    labelSelector: `${label.policyDrops}=on`,
    parse: ({ metadata }) => metadata.name,
  });
}
