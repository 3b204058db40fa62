/**
 * Address of the API server and credentials for it: a kubeconfig file, or the service account of this pod.
 * Even the configuration part of the Kubernetes client costs 0.5 s and 60 MB at import. Therefore static credentials
 * (certificates, tokens, passwords) are read here, and the client is loaded only for users that log in by a program or a
 * cloud's plug-in.
 */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { KubeConfigError } from './errors.ts';

export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface Credentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: TlsOptions;
}

export interface KubeEndpoint {
  readonly server: URL;
  /** Reads files again, so that rotated tokens and certificates take effect. */
  readonly readCredentials: () => Promise<Credentials>;
}

type Fields = Readonly<Record<string, unknown>>;

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';

/** A kubeconfig in memory, with absolute paths. */
export interface KubeconfigDocument {
  /** Its origin, for messages. */
  readonly source: string;
  readonly content: Fields;
}

/**
 * Reads `kubeconfig` (a file or a document, its current context), or without one the pod's service account.
 * @throws KubeConfigError
 */
export async function loadEndpoint(
  kubeconfig: string | KubeconfigDocument | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<KubeEndpoint> {
  if (kubeconfig === undefined) return inCluster(env);
  if (typeof kubeconfig !== 'string') return fromContent(kubeconfig.source, kubeconfig.content);
  return fromContent(kubeconfig, await readKubeconfig(kubeconfig));
}

function inCluster(env: Readonly<Record<string, string | undefined>>): KubeEndpoint {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined)
    throw new KubeConfigError(
      'no kubeconfig given and KUBERNETES_SERVICE_HOST is not set: pass --kubeconfig, or run in a pod',
    );
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    readCredentials: async () => ({
      headers: { authorization: `Bearer ${(await readText(`${serviceAccount}/token`)).trim()}` },
      tls: { ca: await readText(`${serviceAccount}/ca.crt`) },
    }),
  };
}

/** A file's raw content. @throws KubeConfigError */
export async function readKubeconfig(file: string): Promise<unknown> {
  const { parseYaml } = await import('./yaml.ts');
  try {
    return parseYaml(await readText(file));
  } catch (error) {
    throw new KubeConfigError(
      `${file}: cannot be read as a kubeconfig: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

async function fromContent(source: string, content: unknown): Promise<KubeEndpoint> {
  const root = new Section(source, '', content);
  const context = root.named('contexts', root.text('current-context', true), 'context');
  const cluster = root.named('clusters', context.text('cluster', true), 'cluster');
  const user = root.named('users', context.text('user', true), 'user');
  if (cluster.has('proxy-url'))
    throw cluster.error('proxy-url', 'proxies are not supported: reach the API server directly');
  const server = parseServer(cluster);
  if (user.has('exec') || user.has('auth-provider'))
    return { server, readCredentials: await loginCredentials(source, content) };
  return { server, readCredentials: () => staticCredentials(cluster, user) };
}

function parseServer(cluster: Section): URL {
  const text = cluster.text('server', true);
  if (!URL.canParse(text)) throw cluster.error('server', `"${text}" is no URL`);
  const url = new URL(text);
  if (url.protocol === 'https:') return url;
  if (url.protocol !== 'http:') throw cluster.error('server', `"${text}" is no https: URL`);
  // A token over plain HTTP is readable on the network, so the file must allow this explicitly.
  if (cluster.flag('insecure-skip-tls-verify')) return url;
  throw cluster.error('server', 'plain http: needs insecure-skip-tls-verify: true in the same cluster');
}

async function staticCredentials(cluster: Section, user: Section): Promise<Credentials> {
  const headers: Record<string, string | string[]> = {};
  // Like kubectl: the file takes precedence, because it is rotated.
  const token = user.has('tokenFile') ? (await readText(user.path('tokenFile'))).trim() : user.text('token');
  const username = user.text('username');
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
  else if (username !== undefined)
    headers['authorization'] = `Basic ${Buffer.from(`${username}:${user.text('password') ?? ''}`).toString('base64')}`;
  for (const field of ['as-uid', 'as-user-extra'])
    if (user.has(field)) throw user.error(field, 'is not supported: impersonate with "as" and "as-groups"');
  const as = user.text('as');
  if (as !== undefined) headers['impersonate-user'] = as;
  if (user.has('as-groups')) headers['impersonate-group'] = user.texts('as-groups');
  const servername = cluster.text('tls-server-name');
  const [ca, cert, key] = await Promise.all([
    cluster.pem('certificate-authority'),
    user.pem('client-certificate'),
    user.pem('client-key'),
  ]);
  return {
    headers,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
      ...(cluster.flag('insecure-skip-tls-verify') ? { rejectUnauthorized: false } : {}),
    },
  };
}

/** For `exec` and `auth-provider`: the Kubernetes client runs the program and keeps the token fresh. */
async function loginCredentials(source: string, content: unknown): Promise<() => Promise<Credentials>> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(content));
  config.makePathsAbsolute(dirname(source));
  return async () => {
    const options: Parameters<typeof config.applyToHTTPSOptions>[0] = {};
    await config.applyToHTTPSOptions(options);
    const tls: Record<string, string | boolean> = {};
    for (const field of ['ca', 'cert', 'key', 'servername'] as const) {
      const value = options[field];
      if (typeof value === 'string' || Buffer.isBuffer(value)) tls[field] = value.toString();
    }
    if (options.rejectUnauthorized === false) tls['rejectUnauthorized'] = false;
    const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]);
    return { headers: Object.fromEntries(headers), tls };
  };
}

/** One mapping of the file; its errors contain its name. */
class Section {
  readonly #file: string;
  readonly #path: string;
  readonly #fields: Fields;

  constructor(file: string, path: string, value: unknown) {
    this.#file = file;
    this.#path = path;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw this.error('', 'is missing or is not a mapping');
    this.#fields = value as Fields;
  }

  error(field: string, problem: string): KubeConfigError {
    const where = [this.#path, field].filter((part) => part !== '').join('.');
    return new KubeConfigError(`kubeconfig ${this.#file}: ${where === '' ? 'the file' : where} ${problem}`);
  }

  has(field: string): boolean {
    return this.#fields[field] !== undefined && this.#fields[field] !== null && this.#fields[field] !== '';
  }

  text(field: string, required: true): string;
  text(field: string): string | undefined;
  text(field: string, required = false): string | undefined {
    if (this.has(field)) {
      const value = this.#fields[field];
      if (typeof value !== 'string') throw this.error(field, 'must be a text');
      return value;
    }
    if (required) throw this.error(field, 'is missing');
    return undefined;
  }

  texts(field: string): string[] {
    const value = this.#fields[field];
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
      throw this.error(field, 'must be a list of texts');
    return value as string[];
  }

  flag(field: string): boolean {
    return this.#fields[field] === true;
  }

  path(field: string): string {
    return resolve(dirname(this.#file), this.text(field, true));
  }

  /** `field` names a file, `<field>-data` contains it in base64. */
  async pem(field: string): Promise<string | undefined> {
    const data = this.text(`${field}-data`);
    if (data !== undefined) return Buffer.from(data, 'base64').toString();
    return this.has(field) ? readText(this.path(field)) : undefined;
  }

  named(list: string, name: string, field: string): Section {
    const items = this.#fields[list];
    const found: unknown = Array.isArray(items)
      ? items.find((item: unknown) => (item as Fields | null)?.['name'] === name)
      : undefined;
    if (found === undefined) throw this.error(list, `has no entry "${name}"`);
    return new Section(this.#file, `${list}[${name}].${field}`, (found as Fields)[field]);
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new KubeConfigError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
