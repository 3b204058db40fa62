/** The commands of `isthmus` with a real API server that has the chart's CRDs. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createKey, createRequest, verifyRequest } from '../../lib/pki/certificate.ts';
import { createHubAuthority, issueMember } from '../../interconnect/link/certificate.ts';
import { createToken, verifyToken } from '../../lib/pki/join-token.ts';
import { annotation, interconnectFinalizer } from '../../lib/api/names.ts';
import {
  apiVersionOf,
  interconnectGateways,
  interconnects,
  nodes,
  remoteClusters,
  secrets,
  subnets,
  transitSwitches,
  vpcs,
} from '../../lib/kube/resources.ts';
import { addressOf, allGood, CliBed, namespace, program, startHandshake } from './cli-bed.ts';

describe('isthmus', () => {
  let bed: CliBed;
  before(async () => {
    bed = await CliBed.start([interconnects, interconnectGateways, remoteClusters, transitSwitches, subnets, vpcs]);
  });
  after(() => bed.stop());

  it('prints its usage, and exits with 2 on wrong usage', async () => {
    const help = await bed.spawn(['--help']);
    assert.equal((await bed.spawn(['odd'])).code, 2);
    assert.equal(help.code, 0);
    assert.match(help.out, /diagnose \[CLUSTER\]/);
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
      version: string;
    };
    assert.ok(
      execFileSync(process.execPath, [program, '--version'], { encoding: 'utf8' }).startsWith(`isthmus ${version} `),
    );
    for (const argv of [[], ['odd'], ['drain'], ['status', '--odd']])
      assert.equal((await bed.run(argv)).code, 2, argv.join(' '));
  });

  it('runs from its bundle outside the checkout', () => {
    const out = join(bed.dir, 'opt');
    execFileSync(process.execPath, [join(import.meta.dirname, '../../images/bundle.ts'), out], { stdio: 'pipe' });
    const bundled = join(out, 'isthmus.mjs');
    const help = execFileSync(process.execPath, [bundled, '--help'], { encoding: 'utf8', cwd: bed.dir });
    assert.match(help, /usage: isthmus \[ic\|bgp\|why\|policy\|nodes\] <command>/);
    assert.match(readFileSync(bundled, 'utf8'), /^#!\/usr\/bin\/env node\n/);
    const options = { encoding: 'utf8', env: bed.environment } as const;
    const { status, stdout } = spawnSync(process.execPath, [bundled, 'ic', 'status'], options);
    assert.equal(status, 1);
    assert.match(stdout, /NotAMember/);
  });

  it('exits with 3 if the API server is down or the kubeconfig is wrong', async () => {
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      users: [{ name: 'x', user: {} }],
    };
    const file = join(bed.dir, 'dead.json');
    writeFileSync(
      file,
      JSON.stringify({ ...config, clusters: [{ name: 'x', cluster: { server: 'https://127.0.0.1:1' } }] }),
    );
    const dead = await bed.run(['status'], file);
    assert.deepEqual([dead.code, dead.out], [3, '']);
    assert.match(dead.err, /^cannot reach the cluster: .*ECONNREFUSED/);
    const absent = await bed.run(['status', '--context', 'nowhere']);
    assert.equal(absent.code, 3);
    assert.match(absent.err, /no context "nowhere"/);
  });

  it('exits with 3 within --timeout if the API server does not answer', async () => {
    const silent = createServer((socket) => bed.sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = `https://${addressOf(silent)}`;
    const file = join(bed.dir, 'silent.json');
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
        users: [{ name: 'x', user: {} }],
        clusters: [{ name: 'x', cluster: { server: address } }],
      }),
    );
    const began = performance.now();
    const { code, err } = await bed.run(['status', '--timeout', '1s'], file);
    silent.close();
    assert.equal(code, 3, err);
    assert.ok(performance.now() - began < 8000);
  });

  it('exits with 1 and explains how to join if the cluster is not a member', async () => {
    const { code, out } = await bed.run(['status']);
    assert.equal(code, 1);
    assert.match(out, /NotAMember: test has no Interconnect "default"/);
  });

  it('token needs the hub’s Secret, and creates tokens signed by the hub’s authority', async () => {
    const wish = ['token', '--cluster', 'east', '--hub', bed.hub, '--allow', '10.16.0.0/16', '--ttl', '10m'];
    const none = await bed.run(wish);
    assert.deepEqual([none.code, none.out], [1, '']);
    assert.match(none.err, /NoHub: there is no Secret kube-system\/isthmus-hub-authority/);
    await bed.putSecret('isthmus-hub-authority', {
      'tls.key': bed.authority.key,
      'tls.crt': bed.authority.certificate,
    });
    const made = await bed.run(wish);
    assert.equal(made.code, 0, made.err);
    const claims = verifyToken(bed.authority, made.out);
    assert.ok(!('code' in claims), made.out);
    assert.deepEqual(
      [claims.cluster, claims.hub, claims.allowedPrefixes, claims.replace],
      ['east', bed.hub, ['10.16.0.0/16'], false],
    );
    assert.ok(Math.abs(claims.expiresMs - Date.now() - 600_000) < 30_000);
    assert.match(made.err, /valid for one join until/);
    assert.equal((await bed.run(['token', '--cluster', 'East', '--hub', bed.hub])).code, 2);
    assert.equal((await bed.run(['token', '--cluster', 'east', '--hub', 'nowhere'])).code, 2);
    assert.equal((await bed.run([...wish, '--allow', '10.16'])).code, 2);
    const far = await bed.run(['token', '--cluster', 'east', '--hub', 'hub.example.com:99999']);
    assert.deepEqual([far.code, far.err], [2, '--hub hub.example.com:99999: 99999 is not a port from 1 to 65535\n']);
    const inside = await bed.run([...wish, '--allow', '10.0.0.1/8']);
    assert.equal(inside.code, 2);
    assert.match(inside.err, /--allow 10\.0\.0\.1\/8: 10\.0\.0\.1 is an address within 10\.0\.0\.0\/8; write that/);
  });

  it('join creates Secret and Interconnect, and explains why a cluster is not ready in time', async () => {
    const token = createToken(bed.authority, {
      cluster: 'east',
      hub: bed.hub,
      expiresMs: Date.now() + 600_000,
      replace: false,
    });
    assert.equal((await bed.run(['join', 'nonsense'])).code, 2);
    assert.equal((await bed.run(['join', token, '--cluster', 'west'])).code, 2);
    const stale = createToken(bed.authority, {
      cluster: 'east',
      hub: bed.hub,
      expiresMs: Date.now() - 1000,
      replace: false,
    });
    assert.match((await bed.run(['join', stale])).err, /TokenExpired/);

    const late = await bed.spawn(['join', '-', '--wait', '1s'], `${token}\n`);
    assert.equal(late.code, 1);
    assert.match(
      late.err,
      /east is not ready after \d+\.\d s\nAgentNotRunning: no agent has ever been the leader here/,
    );
    const secret = await bed.kube.get(secrets, { namespace, name: 'isthmus-interconnect-token' });
    assert.equal(Buffer.from((secret['data'] as Record<string, string>)['token'] ?? '', 'base64').toString(), token);
    const { spec } = await bed.kube.get(interconnects, { name: 'default' });
    assert.deepEqual(
      [(spec as Record<string, unknown>)['clusterName'], (spec as Record<string, unknown>)['hub']],
      ['east', bed.hub],
    );

    const joining = bed.run(['join', token]);
    // Without HubReachable the cluster is not yet a member that needs no token, whichever comes first.
    await bed.tell(...allGood.filter(({ type }) => type !== 'HubReachable'));
    const joined = await joining;
    assert.equal(joined.code, 0, joined.err);
    assert.match(joined.out, /^east is ready after [0-9.]+ s: fine/);
    await bed.tell(...allGood);
    const unused = createToken(bed.authority, {
      cluster: 'east',
      hub: bed.hub,
      expiresMs: Date.now() + 600_000,
      replace: false,
    });
    assert.match((await bed.run(['join', unused])).out, /^east is a member of .* already; the token was not used/);
    const kept = await bed.kube.get(secrets, { namespace, name: 'isthmus-interconnect-token' });
    assert.equal(Buffer.from((kept['data'] as Record<string, string>)['token'] ?? '', 'base64').toString(), token);
    const other = createToken(bed.authority, {
      cluster: 'north',
      hub: bed.hub,
      expiresMs: Date.now() + 600_000,
      replace: false,
    });
    assert.match((await bed.run(['join', other])).err, /ClusterNameFixed: this cluster is a member already, as "east"/);
    const nameOf = async () =>
      (await bed.kube.get(interconnects, { name: 'default' }))['spec'] as { clusterName: string };
    for (const [name, line] of [
      ['north', other],
      ['east', unused],
    ] as const) {
      assert.match((await bed.run(['join', line, '--rename'])).out, new RegExp(`^${name} is ready`));
      assert.equal((await nameOf()).clusterName, name);
    }
  });

  it('status and diagnose exit with 0 for a healthy cluster', async () => {
    await bed.renewLease();
    const key = await createKey();
    const request = await verifyRequest(await createRequest(key, 'east'));
    assert.ok(request);
    const certificate = await issueMember(bed.authority, request.publicKey, 'east', Date.now());
    await bed.putSecret('isthmus-interconnect-identity', {
      'tls.key': key,
      'tls.crt': certificate,
      'ca.crt': bed.authority.certificate,
    });
    await bed.put(vpcs, 'ovn-cluster', {});
    await bed.put(subnets, 'ovn-default', { cidrBlock: '10.16.0.0/16', protocol: 'IPv4' }, undefined, {
      annotations: { [annotation.accepted]: '10.16.0.0/16 10.16.0.1' },
    });
    for (const at of [1, 2]) {
      await bed.put(nodes, `e${at}`, {}, undefined, {
        labels: { 'ovn.kubernetes.io/ic-gw': 'true' },
        annotations: { [annotation.chassis]: `e${at}` },
      });
      const peers = [{ chassis: 'w1', cluster: 'west', address: '192.0.2.21' }];
      const tunnels = [{ chassis: 'w1', address: '192.0.2.21', state: 'up' }];
      const probes = [
        {
          chassis: 'w1',
          address: '192.0.2.21',
          rttMs: { min: 0.5, avg: 0.75, max: 1 },
          lossPercent: 0,
          mtu: 1500,
          at: new Date().toISOString(),
        },
      ];
      await bed.put(
        interconnectGateways,
        `e${at}`,
        {},
        {
          chassis: `e${at}`,
          address: `192.0.2.1${at}`,
          paths: [`ts/${at - 1}`],
          wantedMTU: 1500,
          peers,
          tunnels,
          probes,
        },
      );
    }
    const path = (at: number) => ({
      path: at,
      switch: `ts${at === 0 ? '' : at}`,
      cidr: `100.100.${at * 32}.0/19`,
      tunnelKey: 16_711_681 + at,
      holder: `e${at + 1}`,
      gateways: [`e${at + 1}`, `e${2 - at}`],
      state: 'Settled',
    });
    await bed.put(
      transitSwitches,
      'ts',
      { vpc: 'ovn-cluster' },
      { cidr: '100.100.0.0/16', vpc: 'ovn-cluster', paths: [path(0), path(1)] },
    );
    const up = (at: number) => ({
      transitSwitch: 'ts',
      path: at,
      localGateway: `e${at + 1}`,
      remoteGateway: 'w1',
      state: 'Up',
      bfd: 'up',
    });
    await bed.kube.create(remoteClusters, {
      apiVersion: apiVersionOf(remoteClusters),
      kind: 'RemoteCluster',
      metadata: { name: 'west' },
    });
    await bed.kube.patch(
      remoteClusters,
      { name: 'west' },
      'merge',
      {
        status: {
          phase: 'Ready',
          paths: [up(0), up(1)],
          pathsUp: '2/2',
          routes: [
            {
              prefix: '10.17.0.0/16',
              transitSwitch: 'ts',
              nextHop: '100.100.0.2',
              state: 'Active',
              origin: 'connected',
            },
          ],
          routesActive: 1,
          routesRejected: 0,
        },
      },
      { subresource: 'status' },
    );
    const status = await bed.run(['status']);
    assert.equal(status.code, 0, status.out);
    assert.match(status.out, /^east: well\n/);
    const found = await bed.run(['diagnose', 'west', '-o', 'json']);
    assert.equal(found.code, 0, found.out);
    const { steps } = JSON.parse(found.out) as { steps: { id: string; state: string }[] };
    assert.deepEqual(
      steps.filter(({ state }) => state !== 'ok'),
      [],
    );
  });

  it('status and diagnose list what a user with few rights may not read, and exit with 3 without any rights', async () => {
    const rules = [{ apiGroups: ['isthmus.network'], resources: ['interconnects'], verbs: ['list'] }];
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await bed.kube.request('POST', `${rbac}/clusterroles`, { metadata: { name: 'looker' }, rules });
    await bed.kube.request('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name: 'looker' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'looker' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'looker' }],
    });
    const few = await bed.run(['diagnose'], bed.kubeconfigAs('looker'));
    assert.equal(few.code, 0, few.out);
    assert.match(few.out, /Not seen\n.*no permission to read remoteclusters/s);
    assert.match(few.out, /other cluster +unknown +no permission to read RemoteClusters/);
    const status = await bed.run(['status'], bed.kubeconfigAs('looker'));
    assert.equal(status.code, 1, status.out);
    assert.match(
      status.out,
      /^east: not known: no permission to read remoteclusters, transitswitches, interconnectgateways\n/,
    );
    const none = await bed.run(['diagnose'], bed.kubeconfigAs('nobody'));
    assert.deepEqual([none.code, none.out], [3, '']);
    assert.match(none.err, /permission denied: .*interconnects/);
  });

  it('routes lists all routes, and explains one with --why', async () => {
    assert.match((await bed.run(['routes'])).out, /^PREFIX .*\n10\.17\.0\.0\/16 +west +100\.100\.0\.2 +ts +Active/);
    assert.match((await bed.run(['routes', '--cluster', 'wset'])).err, /UnknownCluster: .*it knows west/);
    const reached = await bed.run(['routes', '--why', '10.17.3.4']);
    assert.deepEqual(
      [reached.code, reached.out.split('\n')[0]],
      [0, '10.17.3.4 has a route to cluster west by 10.17.0.0/16, next hop 100.100.0.2 on ts'],
    );
    const not = await bed.run(['routes', '--why', '10.99.0.1', '-o', 'json']);
    assert.equal(not.code, 1);
    assert.equal((JSON.parse(not.out) as { answer: string }).answer, 'NotOffered');
    assert.equal((await bed.run(['routes', '--why', 'web'])).code, 2);
  });

  it('diagnose tells hubs of another authority, frozen hubs and dead hubs apart', async () => {
    const causes = async (hub: string, message: string): Promise<readonly string[]> => {
      await bed.kube.patch(interconnects, { name: 'default' }, 'merge', { spec: { hub } });
      await bed.tell(...allGood.filter(({ type }) => type !== 'HubReachable'), {
        type: 'HubReachable',
        status: 'False',
        reason: 'HubUnreachable',
        message,
      });
      await bed.renewLease();
      const { code, out } = await bed.run(['diagnose', '-o', 'json', '--timeout', '2s']);
      assert.equal(code, 1);
      return (JSON.parse(out) as { causes: { code: string }[] }).causes.map((one) => one.code);
    };
    const stranger = await startHandshake(await createHubAuthority(Date.now()), bed.sockets);
    const frozen = createServer((socket) => bed.sockets.add(socket)).listen(0, '127.0.0.1');
    await once(frozen, 'listening');
    assert.deepEqual(await causes(addressOf(stranger), 'self-signed certificate in certificate chain'), [
      'HubNotTrusted',
    ]);
    assert.deepEqual(await causes(addressOf(frozen), 'Deadline exceeded'), ['HubFrozen']);
    const dead = addressOf(stranger);
    stranger.close();
    await once(stranger, 'close');
    assert.deepEqual(await causes(dead, `connect ECONNREFUSED ${dead}`), ['HubDown']);
    assert.deepEqual(await causes(bed.hub, 'Deadline exceeded'), ['HubUnreachableFromAgent']);
    frozen.close();
    await bed.tell(...allGood);
  });

  it('drain waits until no path uses the gateway, and refuses the last gateway; undrain reverts it', async () => {
    const stuck = await bed.run(['drain', 'e1', '--wait', '1s']);
    assert.equal(stuck.code, 1);
    assert.match(stuck.err, /StillDraining: e1 is marked, but ts\/0 still leads through it after 1s/);
    assert.equal(await bed.isDrained('e1'), true);
    const draining = bed.run(['drain', 'e1']);
    await bed.kube.patch(
      interconnectGateways,
      { name: 'e1' },
      'merge',
      { status: { paths: [] } },
      { subresource: 'status' },
    );
    const { status } = await bed.kube.get(transitSwitches, { name: 'ts' });
    const paths = (status as { paths: object[] }).paths.map((path) => ({
      ...path,
      holder: 'e2',
      gateways: ['e2', 'e1'],
    }));
    await bed.kube.patch(transitSwitches, { name: 'ts' }, 'merge', { status: { paths } }, { subresource: 'status' });
    const drained = await draining;
    assert.equal(drained.code, 0, drained.err);
    assert.match(drained.out, /^e1 is drained after .*: ts\/0 on e2, ts\/1 on e2/);
    const last = await bed.run(['drain', 'e2']);
    assert.equal(last.code, 1);
    assert.match(last.err, /LastGateway: e2 is the last gateway/);
    assert.equal(await bed.isDrained('e2'), false);
    assert.match((await bed.run(['drain', 'n9'])).err, /NoSuchGateway: n9 is not a gateway of east; there are e1, e2/);
    assert.equal((await bed.run(['undrain', 'e1'])).code, 0);
    assert.equal(await bed.isDrained('e1'), false);
  });

  it('bench reports the probes and the hub’s handshake times', async () => {
    const { code, out } = await bed.run(['bench', '--handshakes', '3']);
    assert.equal(code, 0, out);
    assert.match(out, /median [0-9.]+ms, least [0-9.]+ms, of 3/);
    assert.match(out, /east\/e1 +west\/w1 +0\.50ms +0\.75ms +1\.00ms +0% +1500 +1500/);
    assert.equal((await bed.run(['bench', '--marker', '10.99.0.0/24'])).code, 2);
  });

  it('verify checks all conditions and paths, and --disruptive requires a healthy network', async () => {
    const { code, out } = await bed.run(['verify']);
    assert.equal(code, 0, out);
    assert.match(out, /all \d+ checks passed/);
    await bed.tell(...allGood.slice(1), {
      type: 'Ready',
      status: 'False',
      reason: 'NotClaimed',
      message: 'no gateway',
    });
    const ill = await bed.run(['verify']);
    assert.equal(ill.code, 1);
    assert.match(ill.out, /^CHECK.*\nFAILED +east +Ready +no gateway/);
    assert.match((await bed.run(['verify', '--disruptive'])).err, /NotWell/);
    assert.equal(await bed.isDrained('e1'), false);
  });

  it('leave waits for the agent, and --force removes the finalizer and lists what stays', async () => {
    await bed.kube.patch(interconnects, { name: 'default' }, 'merge', {
      metadata: { finalizers: [interconnectFinalizer, 'example.com/other'] },
    });
    const waiting = await bed.run(['leave', '--wait', '1s']);
    assert.equal(waiting.code, 1);
    assert.match(waiting.err, /StillLeaving: east has not left after 1s/);
    const status = await bed.run(['status']);
    assert.match(status.out, /Leaving: east is leaving/);
    const forced = await bed.run(['leave', '--force']);
    assert.equal(forced.code, 0, forced.err);
    assert.match(forced.out, /kubectl delete hubmember east/);
    // Foreign finalizers stay.
    const left = await bed.kube.get(interconnects, { name: 'default' });
    assert.deepEqual(left.metadata.finalizers, ['example.com/other']);
    await bed.kube.patch(interconnects, { name: 'default' }, 'merge', { metadata: { finalizers: null } });
    assert.deepEqual([(await bed.run(['leave'])).out], ['this cluster is not a member\n']);
  });
});
