import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createToken, readToken, type TokenWish } from '../../lib/pki/join-token.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { secrets } from '../../lib/kube/resources.ts';
import { formatCidr, hasHostBits, parseCidr } from '../../lib/net/cidr.ts';
import { text, toggle, UsageError } from '../../lib/run/flags.ts';
import { command, duration, durationMs, repeatable, type ExitCode } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { instant } from '../model/units.ts';
import { clusterFlags, outputFlags, withCluster, type Cluster } from '../watch/cluster.ts';
import { authoritySecret, secretValue } from '../watch/secrets.ts';

export const clusterName = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;
const highestPort = 65_535;
const hubAddress = /^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\]):[1-9][0-9]{0,4}$/;

export const token = command(
  {
    name: 'token',
    operands: [],
    summary: 'create a join token, in the cluster of the hub',
    description:
      'Prints a token that lets one cluster join this hub once. It is signed with the Secret isthmus-hub-authority, so anyone\nwho can read that Secret can create tokens. The token is a credential until it is redeemed or has expired: pass it on\nas you would a password. Nothing is written to the cluster.',
    examples: [
      'isthmus ic token --cluster east --hub hub.example.com:6650',
      'isthmus ic token --cluster east --hub 192.0.2.10:6650 --ttl 30m --allow 10.16.0.0/16 --allow fd00:10:16::/112',
    ],
  },
  {
    cluster: text('name of the cluster among the members'),
    hub: text('host:port at which that cluster reaches the hub'),
    ttl: duration('how long it can be redeemed', '1h'),
    allow: repeatable('prefixes that the cluster may offer; without the flag all'),
    replace: toggle('redeeming the token ends the membership of a present member of this name'),
    ...clusterFlags,
    output: outputFlags.output,
  },
  async ({ flags, terminal }) => {
    const wish = checkedWish(flags);
    return await withCluster(flags, terminal, async (cluster): Promise<ExitCode> => {
      const expiresMs = terminal.now() + durationMs(flags.ttl);
      const line = await tokenFor(cluster, { ...wish, expiresMs, replace: flags.replace });
      const claims = readToken(line);
      if (flags.output === 'json') terminal.out(`${JSON.stringify({ token: line, claims }, undefined, 2)}\n`);
      else {
        terminal.out(`${line}\n`);
        terminal.note(
          `for ${wish.cluster}, valid for one join until ${instant(expiresMs)}; there: isthmus ic join TOKEN\n`,
        );
      }
      return 0;
    });
  },
);

interface Wished {
  readonly cluster: string;
  readonly hub: string;
  readonly allow: readonly string[] | undefined;
}

function checkedWish({ cluster, hub, allow = [] }: Wished) {
  if (!clusterName.test(cluster))
    throw new UsageError(`--cluster ${cluster}: up to 40 lower-case letters, digits and "-", as a DNS label`, 2);
  if (!hubAddress.test(hub)) throw new UsageError(`--hub ${hub}: write host:port, such as 192.0.2.10:6650`, 2);
  const port = Number(hub.slice(hub.lastIndexOf(':') + 1));
  if (port > highestPort) throw new UsageError(`--hub ${hub}: ${port} is not a port from 1 to ${highestPort}`, 2);
  for (const prefix of allow) checkPrefix(prefix);
  return { cluster, hub, allowedPrefixes: allow };
}

function checkPrefix(text: string): void {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new UsageError(`--allow ${text}: is not a prefix, such as 10.16.0.0/16`, 2);
  if (!hasHostBits(text)) return;
  const message = `--allow ${text}: ${text.slice(0, text.indexOf('/'))} is an address within ${formatCidr(cidr)}; write that network`;
  throw new UsageError(message, 2);
}

/** A token for one join. @throws CommandFailed if there is no usable authority in the cluster */
export async function tokenFor(cluster: Cluster, wish: TokenWish): Promise<string> {
  return createToken(await readAuthorityKey(cluster), wish);
}

/** The only code that reads the authority's key; it is used only to sign. */
async function readAuthorityKey({ client, namespace, label }: Cluster): Promise<{ key: string; certificate: string }> {
  const where = `Secret ${namespace}/${authoritySecret} of ${label}`;
  const raw = await client.get(secrets, { namespace, name: authoritySecret }).catch((error: unknown) => {
    if (!(error instanceof KubeApiError) || error.status !== 404) throw error;
    const message = `there is no ${where}: run this in the cluster of the hub (--context), once the hub has started`;
    throw new CommandFailed({ code: 'NoHub', message });
  });
  const [key, certificate] = [secretValue(raw, 'tls.key'), secretValue(raw, 'tls.crt')];
  const damaged = new CommandFailed({
    code: 'AuthorityUnreadable',
    message: `${where} has no usable tls.key and tls.crt: restore it from a backup`,
  });
  if (key === undefined || certificate === undefined) throw damaged;
  try {
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) throw damaged;
  } catch (error) {
    // The message of OpenSSL for a damaged key may quote the key, and adds no information.
    if (error instanceof Error) throw damaged;
    throw error;
  }
  return { key, certificate };
}
