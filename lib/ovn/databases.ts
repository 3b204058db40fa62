/**
 * Addresses of OVN's databases and the credentials for them. In: flags that name servers and files; without them the ConfigMap
 * `isthmus-ovn`, to which the program beside the databases writes the members, and the Secret `isthmus-ovn-client`. Out: remotes for
 * `openOvsdb`, updated when they change, and files with the credentials, rewritten when they are renewed. Called by the rooms that
 * write to OVN's databases.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OvsdbOptions, TlsFiles } from 'ovsdb-client';
import { reflect } from '../kube/reflector.ts';
import { configMaps, secrets } from '../kube/resources.ts';
import { decodeSecret } from '../kube/secret-data.ts';
import type { KubeClient, Reflector, Resource } from '../kube/types.ts';
import { list, text, UsageError } from '../run/flags.ts';
import type { Logger } from '../run/logger.ts';
import { waitUntil } from '../run/wait-until.ts';
import { CredentialFiles } from './credential-files.ts';

/** Written by the program beside the databases, read by their clients. */
export const databasesConfigMap = 'isthmus-ovn';
/** Keys of the ConfigMap: remotes separated by commas, and the CA certificates for the servers that chassis connect to. */
export const databaseKeys = {
  nb: 'nb',
  sb: 'sb',
  chassis: 'sb-chassis',
  chassisAuthorities: 'chassis-ca.crt',
} as const;
/** The Secret with the credentials of the controller and the agent: `ca.crt`, `tls.crt` and `tls.key`. */
export const clientSecret = 'isthmus-ovn-client';

export type DatabaseName = 'nb' | 'sb';

export const databaseFlags = {
  nb: list('remotes of the OVN_Northbound database; without them those in the ConfigMap isthmus-ovn are followed', []),
  sb: list('remotes of the OVN_Southbound database; found like those of --nb', []),
  'ovn-ca': text('CA file for ssl: remotes; without it the Secret isthmus-ovn-client is read', undefined),
  'ovn-cert': text('certificate file for ssl: remotes', undefined),
  'ovn-key': text('key file for ssl: remotes', undefined),
} as const;

export interface DatabaseSettings {
  readonly nb: readonly string[];
  readonly sb: readonly string[];
  readonly ovnCa: string | undefined;
  readonly ovnCert: string | undefined;
  readonly ovnKey: string | undefined;
}

/** The client leaves a frozen member for another within three times this interval. */
const probeIntervalMs = 3000;

/** How the databases are reached. */
export interface Databases {
  /** Options for `openOvsdb`. Undefined if no server of this database is known. */
  at(name: DatabaseName): Pick<OvsdbOptions, 'remotes' | 'tls' | 'probeIntervalMs'> | undefined;
  /** The present remotes, for messages. */
  remotes(name: DatabaseName): readonly string[];
  close(): Promise<void>;
}

export interface FindOptions {
  readonly settings: DatabaseSettings;
  readonly client: KubeClient;
  /** Of the ConfigMap and the Secret. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Resolves once the servers, and the credentials if needed, are known. @throws UsageError, the signal's reason */
export async function findDatabases({ settings, client, namespace, signal, log }: FindOptions): Promise<Databases> {
  const tls = filesOf(settings);
  if (settings.nb.length > 0 || settings.sb.length > 0) {
    return {
      at: (name) => (settings[name].length === 0 ? undefined : { remotes: settings[name], ...(tls && { tls }) }),
      remotes: (name) => settings[name],
      close: () => Promise.resolve(),
    };
  }
  const common = { client, namespace, signal, log };
  const addresses = follow({ ...common, resource: configMaps, name: databasesConfigMap });
  await addresses.synced;
  const configMap = `${namespace}/${databasesConfigMap}`;
  const known = () => parseServers(addresses.get(configMap));
  if (known() === undefined) log.info({ configMap }, 'waiting for the addresses of OVN’s databases');
  let servers = await waitUntil([(check) => addresses.subscribe(check)], known, signal);
  // If the ConfigMap no longer names servers, the last known servers stay in use.
  addresses.subscribe(({ after }) => (servers = parseServers(after) ?? servers));
  const isSecured = [...servers.nb, ...servers.sb].some((remote) => remote.startsWith('ssl:'));
  const own = tls === undefined && isSecured ? await followCredentials(common) : undefined;
  const files = tls ?? own?.files;
  return {
    at: (name) => ({ remotes: () => servers[name], probeIntervalMs, ...(files && { tls: files }) }),
    remotes: (name) => servers[name],
    async close() {
      await Promise.all([addresses.stop(), own?.close()]);
    },
  };
}

interface FollowOptions extends Pick<FindOptions, 'client' | 'namespace' | 'signal' | 'log'> {
  readonly resource: Resource;
  readonly name: string;
}

/** Watches one object by its name, so that the reader needs no rights to other objects. */
function follow({ resource, name, ...rest }: FollowOptions): Reflector<unknown> {
  const parse = (raw: { readonly [field: string]: unknown }): unknown => raw['data'];
  return reflect({ ...rest, resource, fieldSelector: `metadata.name=${name}`, parse });
}

/** The remotes of a key; empty if the key is missing. */
export function remotesIn(data: unknown, key: string): readonly string[] {
  const value = (data as Readonly<Record<string, unknown>> | undefined)?.[key];
  if (typeof value !== 'string') return [];
  return value.split(',').flatMap((remote) => (remote.trim() === '' ? [] : [remote.trim()]));
}

function parseServers(data: unknown): { readonly nb: readonly string[]; readonly sb: readonly string[] } | undefined {
  const nb = remotesIn(data, databaseKeys.nb);
  const sb = remotesIn(data, databaseKeys.sb);
  return nb.length === 0 || sb.length === 0 ? undefined : { nb, sb };
}

async function followCredentials(
  options: Pick<FindOptions, 'client' | 'namespace' | 'signal' | 'log'>,
): Promise<{ readonly files: TlsFiles; close(): Promise<void> }> {
  const { namespace, signal, log } = options;
  const secret = follow({ ...options, resource: secrets, name: clientSecret });
  await secret.synced;
  const complete = (data: unknown): Readonly<Record<string, string>> | undefined => {
    const { 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key } = decodeSecret(data);
    return ca === undefined || cert === undefined || key === undefined
      ? undefined
      : { 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key };
  };
  const path = `${namespace}/${clientSecret}`;
  const known = () => complete(secret.get(path));
  if (known() === undefined) log.info({ secret: path }, 'waiting for the certificate for OVN’s databases');
  const first = await waitUntil([(check) => secret.subscribe(check)], known, signal);
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-ovn-'));
  const files = new CredentialFiles(join(folder, 'tls'));
  await files.write(first);
  let writing = Promise.resolve();
  secret.subscribe(({ after }) => {
    const renewed = complete(after);
    if (renewed === undefined) return;
    writing = writing.then(async () => {
      await files.write(renewed);
      log.info({ secret: clientSecret }, 'certificate for OVN’s databases renewed');
    });
  });
  return {
    files: { ca: files.path('ca.crt'), cert: files.path('tls.crt'), key: files.path('tls.key') },
    async close() {
      await secret.stop();
      await writing;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function filesOf({ ovnCa: ca, ovnCert: cert, ovnKey: key }: DatabaseSettings): TlsFiles | undefined {
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  if (ca === undefined || cert === undefined || key === undefined)
    throw new UsageError('--ovn-ca, --ovn-cert and --ovn-key go together', 2);
  return { ca, cert, key };
}
