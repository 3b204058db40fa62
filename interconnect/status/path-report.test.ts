import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RemoteClusterStatus, RemotePathStatus } from '../../lib/api/kinds/remote-cluster.ts';
import { mostListedPaths, type PathReport } from '../model/messages.ts';
import { pathReport } from './path-report.ts';
import { PathReporter } from './path-reporter.ts';

const path = (index: number, state: RemotePathStatus['state'], rest: Partial<RemotePathStatus> = {}) => ({
  transitSwitch: 'ts',
  path: index,
  state,
  ...rest,
});

const encrypted = (status: 'True' | 'False', reason: string) => ({ type: 'Encrypted', status, reason }) as const;

describe('the report of paths for the hub', () => {
  it('has the worst state of each cluster, its reason, and the newest change', () => {
    const paths = [
      path(0, 'Up', { since: '2026-01-01T00:00:00Z' }),
      path(1, 'Down', { since: '2026-01-02T00:00:00Z', reason: 'TunnelDown' }),
      path(2, 'HoldDown', { reason: 'HoldDown' }),
    ];
    const report = pathReport('1.2.3', [
      ['b', { paths: [path(0, 'Up')], encryption: 'off' }],
      ['a', { paths: [path(0, 'Up')], encryption: 'required', conditions: [encrypted('True', 'Encrypted')] }],
      ['west', { paths, encryption: 'preferred', conditions: [encrypted('False', 'PeerHasNoKey')] }],
      ['new', { paths: [] }],
    ]);
    assert.deepEqual(report, {
      version: '1.2.3',
      clusters: 3,
      clustersUp: 2,
      listed: [
        {
          cluster: 'west',
          paths: 3,
          up: 1,
          state: 'Down',
          reason: 'TunnelDown',
          sinceMs: Date.parse('2026-01-02T00:00:00Z'),
          encryption: 'PeerHasNoKey',
        },
        { cluster: 'a', paths: 1, up: 1, state: 'Up', reason: '', sinceMs: 0, encryption: 'encrypted' },
        { cluster: 'b', paths: 1, up: 1, state: 'Up', reason: '', sinceMs: 0, encryption: 'off' },
      ],
    });
  });

  it('is bounded, and leaves out clusters whose paths are up first', () => {
    const all = Array.from({ length: 100 }, (_, at): [string, RemoteClusterStatus] => [
      `c${at}`,
      { paths: [path(0, at % 2 === 0 ? 'Up' : 'Down')] },
    ]);
    const { listed, clusters, clustersUp } = pathReport('1', all);
    assert.deepEqual([listed.length, clusters, clustersUp], [mostListedPaths, 100, 50]);
    assert.equal(listed.filter(({ up }) => up === 0).length, 50);
  });

  it('is sent once for changes within two seconds', (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const sent: PathReport[] = [];
    const remoteClusters = new Map([['west', { status: { paths: [path(0, 'Up')] } }]]);
    const reporter = new PathReporter({ version: '1', remoteClusters, send: (report) => sent.push(report) });
    reporter.changed();
    reporter.changed();
    context.mock.timers.tick(1999);
    assert.equal(sent.length, 0);
    context.mock.timers.tick(1);
    assert.deepEqual(
      sent.map(({ clustersUp }) => clustersUp),
      [1],
    );
    reporter.changed();
    reporter.close();
    context.mock.timers.tick(5000);
    assert.equal(sent.length, 1);
  });
});
