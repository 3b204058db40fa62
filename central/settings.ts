/** The flags of central. */
import { hostname } from 'node:os';
import { choice, integer, parseFlags, text, UsageError, type FlagSpec } from '../lib/run/flags.ts';
import { nodeAddress, type Scheme } from './model/databases.ts';

export const flags = {
  node: text('name of this Node'),
  address: text('address of this node, by which the others and all clients reach it'),
  namespace: text('namespace of the ConfigMaps and the Lease', 'kube-system'),
  identity: text('name of this process among the candidates for the lease; unique', hostname()),
  'data-dir': text('folder of nb.db and sb.db', '/var/lib/ovn'),
  'run-dir': text(
    'folder of the control sockets and of the instructions for the containers beside this one',
    '/run/ovn',
  ),
  'tls-dir': text(
    'folder of ca.crt, tls.crt and tls.key: with the scheme ssl, no server starts before they exist',
    '/run/ovn/tls',
  ),
  'members-authority': text(
    'Secret with tls.crt and tls.key of the authority for the servers and for clients that may write every row; Isthmus creates one if this is not set',
    undefined,
  ),
  'chassis-authority': text('Secret with the authority for nodes; Isthmus creates one if this is not set', undefined),
  scheme: choice('how the servers are reached', ['ssl', 'tcp'], 'ssl'),
  replicas: choice(
    'nodes that serve the databases; auto: three where there are as many, one otherwise',
    ['auto', '1', '3', '5'],
    'auto',
  ),
  'node-selector': text('labels of the Nodes that may serve', 'node-role.kubernetes.io/control-plane='),
  'election-timer-ms': integer('how long members wait for their leader before they elect another', 1000),
  'replace-after': text('how long a Node may be not Ready before another one replaces it: 5m, 1h', '5m'),
  'metrics-address': text('host:port of /metrics, /healthz and /readyz', '127.0.0.1:10670'),
  kubeconfig: text('kubeconfig file; in-cluster configuration without it', undefined),
} as const satisfies FlagSpec;

export interface Settings {
  readonly node: string;
  readonly address: string;
  readonly namespace: string;
  readonly identity: string;
  readonly dataDir: string;
  readonly runDir: string;
  readonly tlsDir: string;
  readonly scheme: Scheme;
  readonly replicas: number | 'auto';
  readonly nodeSelector: string;
  readonly electionTimerMs: number;
  readonly replaceAfterMs: number;
  readonly metricsAddress: string;
  readonly kubeconfig: string | undefined;
  readonly authoritySecrets: Readonly<Partial<Record<'members' | 'chassis', string>>>;
}

/** @throws UsageError */
export function parseSettings(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Settings {
  const values = parseFlags(flags, argv, env);
  const address = nodeAddress(values.address);
  if (address === undefined)
    throw new UsageError(`--address ${values.address}: write an IPv4 or IPv6 address, without a port`, 2);
  const { electionTimerMs, replicas } = values;
  if (electionTimerMs < 100 || electionTimerMs > 600_000)
    throw new UsageError(`--election-timer-ms ${electionTimerMs}: OVSDB takes 100 to 600000`, 2);
  return {
    ...values,
    address,
    replicas: replicas === 'auto' ? replicas : Number(replicas),
    authoritySecrets: {
      ...(values.membersAuthority !== undefined && { members: values.membersAuthority }),
      ...(values.chassisAuthority !== undefined && { chassis: values.chassisAuthority }),
    },
    replaceAfterMs: durationMs('replace-after', values.replaceAfter),
  };
}

function durationMs(flag: string, value: string): number {
  const match = /^([1-9]\d{0,5})([smh])$/.exec(value);
  const unit = { s: 1000, m: 60_000, h: 3_600_000 }[match?.[2] ?? ''];
  if (match === null || unit === undefined)
    throw new UsageError(`--${flag} ${value}: write for example 30s, 5m or 1h`, 2);
  return Number(match[1]) * unit;
}
