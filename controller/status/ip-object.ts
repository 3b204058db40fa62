import { formerFinalizers } from '../../lib/api/names.ts';
import { apiVersionOf, ips } from '../../lib/kube/resources.ts';
import type { WantedIp } from '../plan/address/ip-object.ts';
import { isOwnIp } from '../settle/address/own-ip.ts';
import { differing } from './desk.ts';
import type { Desk } from './desk.ts';

/** Makes a port's IP object what it should be. */
export function writeIp({ view, client, told }: Desk, wanted: WantedIp): void {
  const { name, labels, spec } = wanted;
  const key = `IP/${name}`;
  const observed = view.ips.get(name);
  if (observed === undefined) {
    const object = { apiVersion: apiVersionOf(ips), kind: ips.kind, metadata: { name, labels }, spec };
    told.write(key, undefined, object, () => client.create(ips, object, { answer: 'metadata' }));
    return;
  }
  const { attachSubnets: _, attachIps: __, attachMacs: ___, containerID: ____, ...compared } = spec;
  // A label is for the subnet it names; a former subnet's goes.
  const stale =
    observed.spec.subnet !== spec.subnet && observed.spec.subnet !== '' ? { [observed.spec.subnet]: null } : {};
  const labelPatch = differing({ ...stale, ...labels }, observed.labels);
  const specPatch = differing(compared, observed.spec);
  if (labelPatch === undefined && specPatch === undefined) return;
  const patch = {
    metadata: { uid: observed.uid, ...(labelPatch && { labels: labelPatch }) },
    ...(specPatch && { spec: specPatch }),
  };
  told.write(key, observed.resourceVersion, patch, () => client.patch(ips, { name }, 'merge', patch));
}

/** Removes an IP object of ours whose port has no address any more. */
export function clearIp({ view, client, told, database }: Desk, port: string): void {
  const observed = view.ips.get(port);
  if (observed === undefined) {
    told.forget(`IP/${port}`);
    return;
  }
  const kept = observed.finalizers.filter((one) => !formerFinalizers.includes(one));
  if (observed.isDeleting && kept.length < observed.finalizers.length) {
    const patch = { metadata: { uid: observed.uid, resourceVersion: observed.resourceVersion, finalizers: kept } };
    told.write(`IP/${port}`, observed.resourceVersion, patch, () => client.patch(ips, { name: port }, 'merge', patch));
    return;
  }
  if (!isOwnIp(observed) || view.isAllocated(port) || database.hasPort(port)) return;
  told.write(`IP/${port}`, observed.resourceVersion, { delete: observed.uid }, () =>
    client.delete(ips, { name: port }, { uid: observed.uid }),
  );
}
