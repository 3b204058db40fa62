import { namespaces } from '../../lib/kube/resources.ts';
import { planNamespaceAnnotations } from '../plan/namespace/namespace.ts';
import { differing } from './desk.ts';
import type { Desk } from './desk.ts';

/** Tells a Namespace its subnets. */
export function publishNamespace({ view, client, told }: Desk, name: string): void {
  const namespace = view.namespaces.get(name);
  if (namespace === undefined) {
    told.forget(`Namespace/${name}`);
    return;
  }
  const { uid, resourceVersion } = namespace;
  const annotations = differing(planNamespaceAnnotations(view, namespace), namespace.annotations);
  if (annotations === undefined || namespace.isDeleting) return;
  const patch = { metadata: { uid, annotations } };
  told.write(`Namespace/${name}`, resourceVersion, patch, () => client.patch(namespaces, { name }, 'merge', patch));
}
