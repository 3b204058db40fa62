/** Services of two clusters as their users have them: exported with kubectl, found by name in pods, and gone when what they need goes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { answerCommand, imageName } from '../lab/cri/image.ts';
import { checkout } from '../lab/layout.ts';
import { openLab } from '../lab/lib/lab.ts';
import { run, tryRun } from '../lab/run.ts';
import { commandsOf } from './services/guide.ts';
import { User } from './user.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const clusters = ['east', 'west'] as const;
type Cluster = (typeof clusters)[number];
const space = 'shop';
const suffix = 'svc.clusterset.local';
/** The BFD sessions of a path, and what follows them, on a busy machine. */
const patienceMs = 30_000;

describe('Services of two clusters of machines', () => {
  const user = new User(openLab());
  const { lab } = user;

  const apply = (cluster: Cluster, ...items: readonly object[]): Promise<string> =>
    lab.kubectl(cluster, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const exportIn = (cluster: Cluster, name: string): Promise<string> =>
    apply(cluster, {
      apiVersion: 'multicluster.x-k8s.io/v1beta1',
      kind: 'ServiceExport',
      metadata: { namespace: space, name },
    });
  const unexport = (cluster: Cluster, name: string): Promise<string> =>
    lab.kubectl(cluster, ['-n', space, 'delete', 'serviceexport', name]);
  const lookup = (name: string, ...flags: readonly string[]): readonly string[] => {
    return ['-n', 'demo', 'exec', 'web-1', '--', 'nslookup', ...flags, `${name}.`];
  };
  /** The addresses that a pod of west finds for a name; empty if there is no such name. */
  const resolve = async (name: string): Promise<readonly string[]> => {
    const { stdout, stderr } = await lab.tryKubectl('west', lookup(name));
    // The server's own address has a port.
    const found = [...stdout.matchAll(/^Address[^:\n]*:\s*(\d+(?:\.\d+){3})$/gm)].map(([, address = '']) => address);
    if (found.length === 0 && !stdout.includes('NXDOMAIN')) throw new Error(`no answer: ${stdout}${stderr}`);
    return found.sort();
  };
  const untilResolved = async (name: string, isRight: (addresses: readonly string[]) => boolean): Promise<string> => {
    let found: readonly string[] = [];
    await eventually(
      `the answer for ${name}`,
      async () => {
        found = await resolve(name);
        return isRight(found) || notYet(found.join() || 'no such name');
      },
      patienceMs,
    );
    return found[0] ?? '';
  };
  /** The pods that answer a pod of west, or the exit code of curl. */
  const ask = async (address: string, times = 8): Promise<string> => {
    const names = new Set<string>();
    for (let at = 0; at < times; at += 1) {
      const curl = ['curl', '-sS', '--max-time', '2', `http://${address}/`];
      const { code, stdout } = await tryRun(curl, { netns: lab.ns('west', 'demo/web-1') });
      names.add(code === 0 ? stdout.trim() : `curl ${String(code)}`);
    }
    return [...names].sort().join();
  };
  const untilAnswered = (address: string, wanted: string): Promise<unknown> =>
    eventually(
      `answers of ${wanted}`,
      async () => {
        const names = await ask(address);
        return names === wanted || notYet(names);
      },
      patienceMs,
    );

  const verifyArguments = (...flags: readonly string[]): readonly string[] => {
    return ['ic', 'verify', '--peer-kubeconfig', join(lab.cluster('west').dir, 'kubeconfig'), ...flags];
  };
  const verify = (...flags: readonly string[]) => user.tryRun('east', ['isthmus', ...verifyArguments(...flags)]);
  const testNamespaces = async (): Promise<string> => {
    const list = ['get', 'namespaces', '-l', 'isthmus.network/verification', '-o', 'name'];
    return (await Promise.all(clusters.map((cluster) => lab.kubectl(cluster, list)))).join('');
  };
  const untilNothingIsLeft = (): Promise<unknown> =>
    eventually('the end of all test pods', async () => {
      const left = await testNamespaces();
      return left === '' || notYet(left);
    });

  before(async () => {
    const guide = readFileSync(join(checkout, 'docs/guides/multicluster-services.md'), 'utf8');
    const setUp = async (cluster: Cluster): Promise<void> => {
      await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: space } });
      await apply(
        cluster,
        podOf(`${cluster}-1`, lab.cluster(cluster).nodes[1]?.name ?? '', { app: 'web' }),
        podOf(
          `${cluster}-db`,
          lab.cluster(cluster).nodes[2]?.name ?? '',
          { app: 'db' },
          { hostname: 'db-0', subdomain: 'db' },
        ),
        serviceOf('web', { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] }),
        serviceOf('db', { clusterIP: 'None', selector: { app: 'db' }, ports: [{ port: 8080 }] }),
      );
      for (const line of commandsOf(guide, 'Names'))
        await run(['sh', '-c', line], { env: user.environment(cluster), timeoutMs: 120_000 });
      await user.untilRolledOut(cluster, 'deployment/coredns');
      await lab.kubectl(cluster, ['-n', space, 'wait', 'pod', '--all', '--for=condition=Ready', '--timeout=60s']);
    };
    await Promise.all(clusters.map(setUp));
  });
  after(async () => {
    await tryRun(['nft', 'delete', 'table', 'bridge', 'cut'], { netns: lab.layout.netns });
    for (const cluster of clusters) await lab.tryKubectl(cluster, ['delete', 'namespace', space]);
  });

  it('have a name and an address in the cluster that does not have them', async (context) => {
    const start = performance.now();
    await exportIn('east', 'web');
    const address = await untilResolved(`web.${space}.${suffix}`, ([one = '']) => one.startsWith('100.127.'));
    await untilAnswered(address, 'east-1');
    context.diagnostic(`resolved and reached ${Math.round(performance.now() - start)} ms after the export`);
    const records = await lab.kubectl('west', lookup(`web.${space}.${suffix}`, '-type=SRV'));
    assert.match(records, new RegExp(String.raw`service = \d+ \d+ 80 web\.${space}\.`));
    assert.deepEqual(
      await resolve(`east.web.${space}.${suffix}`),
      [],
      'a Service with an address has no name of a cluster',
    );
  });

  it('are served by all clusters that export them', async () => {
    await exportIn('west', 'web');
    await untilAnswered(await untilResolved(`web.${space}.${suffix}`, ({ length }) => length === 1), 'east-1,west-1');
  });

  it('without an address have the names of their pods, with the cluster before them', async () => {
    await exportIn('east', 'db');
    const pod = await podAddress('east', 'east-db');
    for (const name of ['db', 'db-0.east.db'])
      await untilResolved(`${name}.${space}.${suffix}`, (found) => found.join() === pod);
    const own = await podAddress('west', 'west-db');
    await exportIn('west', 'db');
    await untilResolved(`db.${space}.${suffix}`, (found) => found.join() === [pod, own].sort().join());
    await untilResolved(`db-0.west.db.${space}.${suffix}`, (found) => found.join() === own);
  });

  it('are served by what is left while a cluster cannot be reached', async (context) => {
    const address = await untilResolved(`web.${space}.${suffix}`, ({ length }) => length === 1);
    await cut();
    const start = performance.now();
    await untilAnswered(address, 'west-1');
    context.diagnostic(
      `served by west alone ${Math.round(performance.now() - start)} ms after the cut, with the time to ask`,
    );
    const own = await podAddress('west', 'west-db');
    await untilResolved(`db.${space}.${suffix}`, (found) => found.join() === own);
    await run(['nft', 'delete', 'table', 'bridge', 'cut'], { netns: lab.layout.netns });
    await untilAnswered(address, 'east-1,west-1');
  });

  it('are proved by isthmus ic verify with pods of its own, which it deletes', async (context) => {
    const start = performance.now();
    const { code, stdout, stderr } = await verify('--service', '-o', 'json');
    assert.equal(code, 0, `${stdout}${stderr}`);
    const { checks } = JSON.parse(stdout) as { checks: readonly { cluster: string; name: string; evidence: string }[] };
    const sent = checks.filter(({ name }) => name.endsWith(' in ovn-cluster'));
    const whats = ['ping (IPv4)', 'TCP (IPv4)', 'TCP by ClusterSetIP', 'DNS name'];
    const wanted = clusters.flatMap((cluster) => {
      const other = cluster === 'east' ? 'west' : 'east';
      return whats.map((what) => `${cluster} ${what} to ${other} in ovn-cluster`);
    });
    assert.deepEqual(sent.map(({ cluster, name }) => `${cluster} ${name}`).sort(), wanted.sort());
    for (const { name, evidence } of sent) context.diagnostic(`${name}: ${evidence}`);
    context.diagnostic(`verified in ${Math.round(performance.now() - start)} ms`);
    await untilNothingIsLeft();
  });

  it('that do not pass have a cause in isthmus ic verify, and its pods are deleted then and after Ctrl-C', async () => {
    await cut();
    const { code, stdout } = await verify('--pods').finally(() =>
      run(['nft', 'delete', 'table', 'bridge', 'cut'], { netns: lab.layout.netns }),
    );
    assert.equal(code, 1, stdout);
    assert.match(
      stdout,
      /FAILED +east +ping \(IPv4\) to west in ovn-cluster +0 of 3 pings answered: .* on n\d → .*; \w+ \((?:east|west)\): /,
    );
    await untilNothingIsLeft();
    const argv = [join(checkout, 'cli/bin/isthmus'), ...verifyArguments('--pods')];
    const child = spawn(argv[0] ?? '', argv.slice(1), {
      env: { ...process.env, ...user.environment('east') },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    await eventually('pods of the test', async () => (await testNamespaces()) !== '' || notYet('none'));
    child.kill('SIGINT');
    assert.deepEqual(await ended, [130, null]);
    await untilNothingIsLeft();
    await user.untilWell();
  });

  it('are gone for pods when nobody exports them', async () => {
    const address = await untilResolved(`web.${space}.${suffix}`, ({ length }) => length === 1);
    await unexport('east', 'web');
    await untilAnswered(address, 'west-1');
    await unexport('west', 'web');
    await untilResolved(`web.${space}.${suffix}`, ({ length }) => length === 0);
  });

  it('go with their namespace, and other clusters keep theirs', async () => {
    await lab.kubectl('west', ['delete', 'namespace', space, '--timeout=60s']);
    const list = ['get', 'serviceimport', '-A', '-o', 'jsonpath={.items[*].metadata.name}'];
    assert.equal(await lab.kubectl('west', list), '');
    await untilResolved(`db.${space}.${suffix}`, ({ length }) => length === 0);
    await eventually('east has endpoints of its own alone', async () => {
      const slices = ['-n', space, 'get', 'endpointslices', '-l', 'multicluster.kubernetes.io/source-cluster'];
      const own = await lab.kubectl('east', [...slices, '-o', 'jsonpath={.items[*].endpoints[*].addresses[*]}']);
      return own === (await podAddress('east', 'east-db')) || notYet(own);
    });
  });

  async function podAddress(cluster: Cluster, pod: string): Promise<string> {
    return lab.kubectl(cluster, ['-n', space, 'get', 'pod', pod, '-o', 'jsonpath={.status.podIP}']);
  }

  /** Drops the packets of tunnels between the clusters, as a broken line would. */
  async function cut(): Promise<void> {
    const [east, west] = clusters.map((cluster) =>
      lab
        .cluster(cluster)
        .nodes.map(({ address }) => address)
        .join(', '),
    );
    const drop = (from = '', to = ''): string =>
      `add rule bridge cut forward ip saddr { ${from} } ip daddr { ${to} } udp dport 6081 drop`;
    const chain = 'add chain bridge cut forward { type filter hook forward priority 0; }';
    const rules = ['add table bridge cut', chain, drop(east, west), drop(west, east)];
    await run(['nft', rules.join('; ')], { netns: lab.layout.netns });
  }
});

function podOf(name: string, nodeName: string, labels: object, spec: object = {}): object {
  const env = [{ name: 'POD_NAME', value: name }];
  const container = { name: 'web', image: imageName, imagePullPolicy: 'Never', command: answerCommand, env };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: space, labels },
    spec: { nodeName, terminationGracePeriodSeconds: 1, containers: [container], ...spec },
  };
}

function serviceOf(name: string, spec: object): object {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: space }, spec };
}
