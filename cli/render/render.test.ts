/** Golden files of the output. `--test-update-snapshots` rewrites them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { diagnose } from '../plan/diagnose/diagnose.ts';
import { listRoutes } from '../plan/routes.ts';
import { statusOf } from '../plan/status.ts';
import { pathFigures } from '../plan/bench.ts';
import { verify } from '../plan/verify.ts';
import { explainRoute, parseTarget } from '../plan/why.ts';
import { nowMs, policyOf, wellPair, type Pair } from '../testing-snapshots.ts';
import { checked, controllerOf, goodInstallation } from '../testing-cluster.ts';
import { installedOf } from '../plan/installation/installed.ts';
import { renderBench } from './bench.ts';
import { renderReport } from './check.ts';
import { renderDiagnosis } from './diagnosis.ts';
import { renderInstalled } from './installed.ts';
import { paintFor } from './paint.ts';
import { renderRoutes, renderWhy } from './routes.ts';
import { renderStatus } from './status.ts';
import { renderTable, toned } from './table.ts';
import { renderChecks } from './verification.ts';

const plain = paintFor(false);

function matches(context: TestContext, name: string, text: string): void {
  context.assert.fileSnapshot(text, join(import.meta.dirname, 'testdata', `${name}.txt`), { serializers: [String] });
}

/** West does not hear n1 of east, and refuses a prefix; a gateway is drained. */
function illPair(): Pair {
  const pair = wellPair();
  const { east } = pair;
  const [first, second] = east.gateways;
  assert.ok(first && second);
  for (const tunnel of first.status.tunnels ?? [])
    Object.assign(tunnel, {
      state: 'init',
      diagnostic: 'Neighbor Signaled Session Down',
      remoteDiagnostic: 'Control Detection Time Expired',
    });
  second.isDrained = true;
  Object.assign(east.remotes[0]?.status.paths?.[0] ?? {}, {
    state: 'Down',
    reason: 'TunnelDown',
    bfd: 'init',
    message: 'no BFD packets arrive between e1 and w1',
  });
  Object.assign(east.remotes[0]?.status ?? {}, { phase: 'Degraded', pathsUp: '1/2' });
  east.remotes[0]?.status.routes?.push({
    prefix: '10.18.0.0/24',
    transitSwitch: 'ts',
    nextHop: '100.100.0.2',
    state: 'Rejected',
    reason: 'Denied',
    message: '10.18.0.0/24 of west is denied by rules[0] of RoutePolicy lab',
    tags: ['lab'],
  });
  Object.assign(east.remotes[0]?.status ?? {}, { routesRejected: 1 });
  east.policies = [policyOf('lab', { rules: [{ match: { tags: ['lab'] }, action: 'Deny' }] })];
  return pair;
}

describe('output of isthmus ic', () => {
  it('renders the status of a healthy cluster', (t) =>
    matches(t, 'status-well', renderStatus(statusOf(wellPair().east), nowMs, plain)));
  it('renders the status of a faulty cluster', (t) =>
    matches(t, 'status-ill', renderStatus(statusOf(illPair().east), nowMs, plain)));
  it('renders the status of a cluster that has not joined', (t) => {
    const { east } = wellPair();
    const alone = {
      ...east,
      interconnect: undefined,
      remotes: [],
      transitSwitches: [],
      gateways: [],
      lease: undefined,
      identity: undefined,
    };
    matches(t, 'status-alone', renderStatus(statusOf(alone), nowMs, plain));
  });
  it('renders a diagnosis', (t) => {
    const { east, west } = illPair();
    matches(t, 'diagnosis', renderDiagnosis(diagnose({ near: east, far: west, peer: 'west' }), plain));
  });
  it('renders routes', (t) => matches(t, 'routes', renderRoutes(listRoutes(illPair().east, undefined), plain)));
  it('renders the decision about a prefix', (t) => {
    const target = parseTarget('10.18.0.7');
    assert.ok(target);
    matches(t, 'why', renderWhy(explainRoute(illPair().east, target, undefined), nowMs, plain));
  });
  it('renders a verification', (t) => {
    const { east, west } = illPair();
    matches(t, 'verification', renderChecks(verify(east, west), plain));
  });
  it('renders a benchmark', (t) => {
    const report = {
      cluster: 'east',
      hub: { address: 'hub.example.com:6650', handshakesMs: [5, 3, 4], problem: undefined },
      paths: pathFigures(wellPair().east),
      agent: [{ name: 'route_convergence_seconds', count: 100, mean: 0.1, p50: 0.1, p99: Infinity }],
      marker: { cidr: '10.99.0.0/24', peer: 'west', inForceMs: 80, learnedMs: 410.4, withdrawnMs: undefined },
    };
    matches(t, 'bench', renderBench(report, nowMs, plain));
  });
});

describe('output of isthmus check and isthmus status', () => {
  it('renders a cluster in which Isthmus can be installed', (t) =>
    matches(
      t,
      'check-well',
      renderReport(
        checked(() => undefined),
        plain,
      ),
    ));
  it('renders a cluster with obstacles', (t) => {
    const report = checked(
      (facts) => {
        facts.controllers?.push(controllerOf('calico-node'));
        Object.assign(facts.machines?.[2] ?? {}, { kubelet: 'v1.28.3', kernel: '5.4.0-100-generic' });
        facts.serviceRanges = { cidrs: [], isKnown: false };
        facts.portHolders = undefined;
        facts.unreadable.push({ code: 'Forbidden', what: 'pods', message: 'no permission to read pods (forbidden)' });
      },
      { networking: { joinCIDR: '10.16.128.0/20' } },
    );
    matches(t, 'check-ill', renderReport(report, plain));
  });
  it('renders an installation that is ready', (t) =>
    matches(t, 'installed', renderInstalled(installedOf(goodInstallation()), plain)));
  it('renders an installation with missing parts', (t) => {
    const installation = goodInstallation();
    Object.assign(installation.rollouts[1] ?? {}, { ready: 1 });
    const why = 'container daemon: ImagePullBackOff: Back-off pulling image "isthmus:0.1.0"';
    const pod = { name: 'isthmus-daemon-x7', component: 'isthmus-daemon', node: 'n2', isReady: false, images: [] };
    installation.pods.push({ ...pod, isEnding: false, isPassing: false, why });
    Object.assign(installation.nodes[1] ?? {}, { conditions: [] });
    matches(t, 'installed-not', renderInstalled(installedOf(installation), plain));
  });
});

describe('tables', () => {
  it('align by visible width, without the codes of colours', () => {
    const rows = [
      ['a', toned('up', 'good'), 1],
      ['long name', toned('down', 'bad'), 22],
    ];
    const strip = stripVTControlCharacters;
    assert.deepEqual(
      renderTable(['NAME', 'STATE', 'N'], rows, paintFor(true)).map(strip),
      renderTable(['NAME', 'STATE', 'N'], rows, plain),
    );
    assert.ok(renderTable(['NAME', 'STATE', 'N'], rows, paintFor(true)).join('\n').includes('\u001B[32mup\u001B[0m'));
  });
  it('leave out columns without values, and are empty without rows', () => {
    assert.deepEqual(renderTable(['A', 'B'], [['x', '']], plain), ['A', 'x']);
    assert.deepEqual(renderTable(['A', 'B'], [], plain), []);
  });
});
