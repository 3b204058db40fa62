/** `isthmus ic diagnose` names the fault between the clusters of the lab, with access to one cluster and to both. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Diagnosis } from '../../cli/plan/diagnose/diagnose.ts';
import { openLab } from '../lab/lib/lab.ts';
import { runCli } from './cli-bed.ts';
import { faults } from './diagnose-faults.ts';
import { mend } from './diagnose-injections.ts';
import { conditionsOf } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('diagnose names the first cause when', () => {
  const lab = openLab();
  const dirOf = (cluster: string): string => lab.cluster(cluster).dir;
  const alone = ['--kubeconfig', join(dirOf('east'), 'kubeconfig')];
  const both = [...alone, '--peer-kubeconfig', join(dirOf('west'), 'kubeconfig')];
  const databases = ['nb', 'sb'].flatMap((name) => [`--${name}`, `unix:${dirOf('east')}/${name}.sock`]);

  const ask = async (argv: readonly string[]): Promise<Diagnosis> => {
    const output = await runCli(['diagnose', 'west', '-o', 'json', ...argv]);
    assert.notEqual(output.out, '', output.err);
    return JSON.parse(output.out) as Diagnosis;
  };
  /** Waits until the first cause has one of the codes. */
  const untilNamed = (argv: readonly string[], codes: readonly string[]): Promise<true> =>
    eventually(
      `diagnose to name ${codes.join(' or ')}`,
      async () => {
        const { causes } = await ask(argv);
        const [first] = causes;
        return codes.includes(first?.code ?? '') || notYet(JSON.stringify(first ?? 'nothing'));
      },
      120_000,
    );
  const untilWell = (): Promise<true> =>
    eventually(
      'nothing to be wrong any more',
      async () => {
        const { isWell, causes } = await ask(both);
        return isWell || notYet(JSON.stringify(causes));
      },
      180_000,
    );

  after(() => mend(lab));

  it('the only gateway of a cluster is dead, which the conditions of the cluster report too', async () => {
    const byType = async (...what: readonly ['interconnect' | 'icgw' | 'remotecluster', string]) => {
      const conditions = await conditionsOf(lab, 'east', ...what);
      return Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
    };
    const statuses = async (): Promise<string> => {
      const own = await byType('interconnect', 'default');
      const [gateway, remote] = [await byType('icgw', 'n1'), await byType('remotecluster', 'west')];
      const list = [own['Ready'], own['GatewaysReady'], own['RoutesConverged'], gateway['Ready'], remote['Ready']];
      return list.join(' ');
    };
    const until = (wanted: string): Promise<true> =>
      eventually(
        `${wanted} of Interconnect, gateway and west`,
        async () => {
          const found = await statuses();
          return found === wanted || notYet(found);
        },
        120_000,
      );
    await untilWell();
    await lab.kubectl('east', ['label', 'node', 'n2', 'ovn.kubernetes.io/ic-gw-']);
    try {
      await eventually(
        'all paths to be on n1',
        async () => {
          const text = await lab.kubectl('east', [
            'get',
            'transitswitch',
            'ts',
            '-o',
            'jsonpath={.status.activeGateways}',
          ]);
          return (/n1/.test(text) && !/n2/.test(text)) || notYet(text);
        },
        120_000,
      );
      await until('True True True True True');
      await lab.kill('east/n1', 'ovs-vswitchd');
      await until('False False False False False');
      await untilNamed(alone, ['GatewayDown', 'VswitchdDown']);
      await untilNamed(both, ['GatewayDown', 'VswitchdDown']);
    } finally {
      await mend(lab);
      await lab.kubectl('east', ['label', 'node', 'n2', 'ovn.kubernetes.io/ic-gw=true']);
    }
    await untilWell();
  });

  for (const fault of faults.filter(({ isQuick }) => isQuick === true))
    it(fault.name, async () => {
      await untilWell();
      const given = fault.needsDatabases === true ? databases : [];
      await fault.inject(lab);
      try {
        await untilNamed([...alone, ...given], fault.alone);
        await untilNamed([...both, ...given], fault.both);
      } finally {
        await mend(lab);
        await fault.undo?.(lab);
      }
      await untilWell();
    });
});
