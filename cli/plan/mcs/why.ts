/** Why an imported Service is or is not reached from this cluster. In: SharedServices of its namespace, and the client. Pure. */
import type { SharedServices } from '../../model/shared-services.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import { importOf, notServed, sharedOf, type ShownExport, type ShownImport } from './services.ts';

/** Where connections come from. */
export interface ImportClient {
  /** As the user wrote it: `pod/shop/a`, `node/n1`. */
  readonly name: string;
  /** The node whose addresses it uses: it is one, or a pod in the network of one. Undefined of other pods. */
  readonly node: string | undefined;
}

export interface ImportWhy {
  readonly service: string;
  readonly cluster: string;
  /** Undefined: any pod of the cluster. */
  readonly client: string | undefined;
  /** The client reaches an endpoint by its address, or by its endpoints if it is headless. */
  readonly isServed: boolean;
  readonly import: ShownImport | undefined;
  /** The export of this cluster, if it has one. */
  readonly export: ShownExport | undefined;
  readonly obstacles: readonly Cause[];
  /** Things that do not prevent connections by address. */
  readonly warnings: readonly Cause[];
}

export function explainImport(
  reading: SharedServices,
  namespace: string,
  name: string,
  client?: ImportClient,
): ImportWhy {
  const service = `${namespace}/${name}`;
  const { exports, names, cluster } = sharedOf(reading, service);
  const found = reading.imports.find((one) => one.namespace === namespace && one.name === name);
  const shown = found === undefined ? undefined : importOf(found, reading);
  const obstacles = [
    ...onNode(client),
    ...(found === undefined || shown === undefined
      ? absent(reading, namespace, name)
      : [...foreign(found.isOurs, service), ...unready(shown), ...unserved(shown, reading)]),
  ];
  const [own] = exports;
  return {
    service,
    cluster,
    client: client?.name,
    isServed: obstacles.length === 0,
    import: shown,
    export: own,
    obstacles,
    warnings: [...exportProblems(own), ...sourceProblems(shown, reading), ...(shown === undefined ? [] : names.causes)],
  };
}

function onNode(client: ImportClient | undefined): readonly Cause[] {
  if (client?.node === undefined) return [];
  const message = `${client.name} uses the addresses of node ${client.node}, to which other clusters have no route back: imports are served to pods with addresses of the cluster`;
  return [cause('ClientOnNode', message, 'connect from a pod without hostNetwork, or to the Service of this cluster')];
}

function absent(reading: SharedServices, namespace: string, name: string): readonly Cause[] {
  const { isServed, namespaces, cluster, isConnected, unreadable } = reading;
  if (unreadable.some(({ what }) => what === 'serviceimports'))
    return [cause('Forbidden', 'you may not read ServiceImports', 'ask for the permission to list serviceimports')];
  if (!isServed)
    return [
      cause(
        notServed.code,
        notServed.message,
        'install or update the CRDs of multicluster.x-k8s.io: the chart has them',
      ),
    ];
  if (cluster === undefined)
    return [cause('NotAMember', 'this cluster has no Interconnect "default"', 'join a hub: isthmus ic join TOKEN')];
  if (!namespaces.includes(namespace) && !unreadable.some(({ what }) => what === 'namespaces'))
    return [
      cause(
        'NoNamespace',
        `this cluster has no namespace ${namespace}: it receives exports only in namespaces that it has`,
        `kubectl create namespace ${namespace}`,
      ),
    ];
  const hub = isConnected
    ? []
    : [cause('HubUnreachable', 'the hub is not reached, so new exports are not received', 'isthmus ic diagnose')];
  const message = `no cluster exports ${namespace}/${name}, as far as this one knows`;
  return [...hub, cause('NotExported', message, `in a cluster that has it: isthmus ic export ${namespace}/${name}`)];
}

function foreign(isOurs: boolean, service: string): readonly Cause[] {
  if (isOurs) return [];
  const message = `ServiceImport ${service} was made by another program, so Isthmus leaves it alone`;
  return [cause('ImportedByAnother', message, 'delete it there, or export the Service by another name')];
}

function unready({ isReady, message, conditions }: ShownImport): readonly Cause[] {
  if (isReady) return [];
  const reason = conditions.find(({ type }) => type === 'Ready')?.reason ?? 'NotReported';
  return [cause(reason, message, 'do what the message says; the agent then reports Ready')];
}

function unserved({ readyEndpoints, sources }: ShownImport, { cluster }: SharedServices): readonly Cause[] {
  if (readyEndpoints > 0) return [];
  const names = sources.map((source) => source.cluster);
  const own = names.includes(cluster ?? '') ? ' here' : '';
  const message =
    names.length === 0
      ? 'no cluster exports it any more'
      : `none of its clusters has a ready endpoint that is reached: ${names.join(', ')}`;
  return [cause('NoEndpoints', message, `isthmus why service of the Service${own} in a cluster that exports it`)];
}

function exportProblems(own: ShownExport | undefined): readonly Cause[] {
  if (own === undefined || own.state === 'exported') return [];
  const codes = { pending: 'ExportPending', refused: 'ExportRefused', invalid: 'ExportInvalid', conflict: 'Conflict' };
  const message = `the export of this cluster is ${own.state === 'conflict' ? 'in conflict' : own.state}: ${own.message}`;
  return [cause(codes[own.state], message, `kubectl describe serviceexport of ${own.service}`)];
}

/** Clusters that export it and serve nothing here. */
function sourceProblems(shown: ShownImport | undefined, { cluster, remotes }: SharedServices): readonly Cause[] {
  return (shown?.sources ?? []).flatMap(({ cluster: source, ready, pathsUp }) => {
    if (ready > 0) return [];
    const remote = remotes.find(({ name }) => name === source);
    if (source === cluster)
      return [cause('NoReadyEndpoint', 'no endpoint of this cluster is ready', 'look at the pods of the Service')];
    if (remote === undefined)
      return [cause('UnknownCluster', `${source} is not known here`, `isthmus ic diagnose ${source}`)];
    if (pathsUp.startsWith('0/'))
      return [
        cause(
          'PathsDown',
          `no path to ${source} is up (${pathsUp}), so its endpoints are left out`,
          `isthmus ic diagnose ${source}`,
        ),
      ];
    const message = `no endpoint of ${source} is ready, or the prefix that has them is not routed`;
    return [cause('NoReadyEndpoint', message, `isthmus ic routes --cluster ${source}, and the pods there`)];
  });
}
