/**
 * `make demo`: brings the lab up, applies examples/demo.yaml to two clusters, and proves with measured round trips that
 * packets take every way there is. Ends with 1 and a reason if one fails; leaves the lab up.
 */
import { join } from 'node:path';
import { interruptible } from './interrupt.ts';
import { checkout, labName, publicStateDir } from './layout.ts';
import { type LabHandle, openLab, type RoundTrip } from './lib/lab.ts';
import { upFromEnvironment } from './main.ts';
import { tool } from './tools.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const example = join(checkout, 'examples/demo.yaml');
const pods = ['web-1', 'web-2', 'web-3'];

interface Path {
  readonly what: string;
  readonly from: string;
  readonly to: string;
  readonly netns: string;
  readonly address: string;
}

async function applyExample(lab: LabHandle, cluster: string): Promise<void> {
  await lab.kubectl(cluster, ['apply', '-f', example]);
  await eventually(
    `the pods of examples/demo.yaml in ${cluster}`,
    async () => {
      const list = JSON.parse(await lab.kubectl(cluster, ['-n', 'demo', 'get', 'pods', '-o', 'json'])) as {
        items: { metadata: { name: string }; status: { phase: string } }[];
      };
      const waiting = pods.filter(
        (name) => list.items.find((pod) => pod.metadata.name === name)?.status.phase !== 'Running',
      );
      return waiting.length === 0 || notYet(`${waiting.join(', ')} not Running; see kubectl -n demo get events`);
    },
    60_000,
    500,
  );
}

async function pathsOf(lab: LabHandle, home: string, away: string): Promise<Path[]> {
  const [router] = lab.layout.routers;
  if (router === undefined) throw new Error('this topology has no router: the demo shows one');
  const outside = router.outside.replace(/\/\d+$/, '');
  const node = lab.cluster(home).nodes[0];
  const address = (cluster: string, pod: string, family?: 4 | 6): Promise<string> =>
    lab.addressOf(cluster, `demo/${pod}`, family);
  const first = { from: `${home} web-1`, netns: lab.ns(home, 'demo/web-1') };
  return [
    { what: 'pod → pod, same node', ...first, to: `${home} web-2`, address: await address(home, 'web-2') },
    { what: 'pod → pod, across nodes', ...first, to: `${home} web-3`, address: await address(home, 'web-3') },
    { what: 'pod → pod, across clusters', ...first, to: `${away} web-3`, address: await address(away, 'web-3') },
    { what: 'the same over IPv6', ...first, to: `${away} web-3`, address: await address(away, 'web-3', 6) },
    { what: 'pod → node', ...first, to: `${home} ${node?.name ?? ''}`, address: node?.address ?? '' },
    { what: 'pod → outside, through NAT', ...first, to: `router ${router.name}`, address: outside },
    {
      what: 'router → pod, on the BGP route',
      from: `router ${router.name}`,
      netns: router.netns,
      to: `${home} web-3`,
      address: await address(home, 'web-3'),
    },
  ];
}

/** Measures one path; a failure is a value, so that the table shows the others too. */
async function measure(lab: LabHandle, path: Path): Promise<RoundTrip | Error> {
  try {
    return await lab.ping(path.netns, path.address);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function renderTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}

function lookAround(lab: LabHandle, home: string, away: string, remoteAddress: string): string {
  const { name } = lab.layout;
  // Programs of OVN take no relative paths, and none with a comma or a colon.
  const state = lab.layout.dir === publicStateDir(name) ? `$PWD/.lab/${name}` : lab.layout.dir;
  return `The lab stays up. To look around:

  export PATH="${state}/${home}/bin:${join(tool('kubectl'), '..')}:$PATH" KUBECONFIG="${state}/${home}/kubeconfig"
  kubectl get pods -A -o wide; kubectl get subnets,ips; kubectl get interconnects,remoteclusters,bgppeers
  kubectl apply -f examples/subnet.yaml
  make cli; isthmus ic status; isthmus ic diagnose ${away}
  ip netns exec ${name}-${home}-demo-web-1 ping ${remoteAddress}
  ovn-nbctl --db="unix:${state}/${home}/nb.sock" show
  ovs-vsctl --db="unix:${state}/${home}/n1/db.sock" show
  vtysh --vty_socket "${state}/${lab.layout.routers[0]?.name ?? ''}" -c 'show bgp summary' -c 'show ip route bgp'
  make lab-status; tail -f "${state}/${home}/controller.log"

  make lab-down   # when you have seen enough`;
}

async function demo(): Promise<number> {
  const started = Date.now();
  const seconds = (): string => ((Date.now() - started) / 1000).toFixed(1);
  await upFromEnvironment();
  const lab = openLab();
  const [home, away] = lab.layout.clusters.map((cluster) => cluster.name);
  if (home === undefined || away === undefined) throw new Error('this topology has one cluster: the demo joins two');
  await Promise.all([applyExample(lab, home), applyExample(lab, away)]);
  console.log(`${seconds().padStart(6)} s  examples/demo.yaml runs in ${home} and ${away}\n`);
  const paths = await pathsOf(lab, home, away);
  const results = await Promise.all(paths.map((path) => measure(lab, path)));
  const rows = paths.map(({ what, from, to, address }, at) => {
    const result = results[at];
    const times =
      result instanceof Error || result === undefined
        ? ['FAILED', '']
        : [result.minMs.toFixed(2), result.avgMs.toFixed(2)];
    return [what, from, `${to} (${address})`, ...times];
  });
  console.log(renderTable([['path', 'from', 'to', 'min ms', 'avg ms'], ...rows]));
  const failures = results.flatMap((result, at) =>
    result instanceof Error ? [`${paths[at]?.what ?? ''}: ${result.message}`] : [],
  );
  console.log(
    `\n${lookAround(lab, home, away, paths[2]?.address ?? '')}\n\n${failures.length === 0 ? `All ${String(paths.length)} paths work.` : failures.join('\n')} Total: ${seconds()} s.`,
  );
  return failures.length === 0 ? 0 : 1;
}

if (process.getuid?.() !== 0) {
  console.error('the lab makes network namespaces: run it as root');
  process.exit(1);
}
interruptible(labName(), demo).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
