import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { Exec } from '../../lib/kube/exec.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { localTools, podTools, type PodToolsOptions } from './ovn-tools.ts';

const never = new AbortController().signal;

function podOf(name: string, ready: boolean): RawObject {
  return {
    metadata: { name, uid: name, resourceVersion: '1' },
    status: {
      containerStatuses: [
        { name: 'nb', ready: true },
        { name: 'sb', ready },
      ],
    },
  };
}

function optionsOf(exec: Exec, pods: readonly RawObject[] = [podOf('b', true), podOf('a', true)]): PodToolsOptions {
  return { client: { list: () => Promise.resolve(pods) }, exec, namespace: 'kube-system', signal: never };
}

test('the first pod whose database answers is asked, with words of a command', async () => {
  const commands: string[] = [];
  const exec: Exec = ({ namespace, pod, container, command }) => {
    commands.push([namespace, pod, container, ...command].join(' '));
    return Promise.resolve({ stdout: 'text', stderr: 'no database', exitCode: pod === 'a' ? 1 : 0 });
  };
  const tools = await podTools(optionsOf(exec));
  assert.ok('run' in tools);
  assert.equal(tools.where, 'pod kube-system/b');
  assert.deepEqual(await tools.run('ovn-trace', ['x y']), { text: 'text' });
  const database = '--db=unix:/run/ovn/sb.sock --no-leader-only';
  assert.deepEqual(commands, [
    `kube-system a sb ovn-sbctl ${database} --timeout=5 --columns=_uuid list SB_Global`,
    `kube-system b sb ovn-sbctl ${database} --timeout=5 --columns=_uuid list SB_Global`,
    `kube-system b sb ovn-trace ${database} x y`,
  ]);
});

test('why OVN cannot be asked is a value', async () => {
  const refusalOf = async (options: PodToolsOptions) => {
    const tools = await podTools(options);
    return 'code' in tools ? `${tools.code}: ${tools.message}` : '';
  };
  const fails =
    (exitCode: number): Exec =>
    () =>
      Promise.resolve({ stdout: '', stderr: 'first\nlast\n', exitCode });
  assert.equal(await refusalOf(optionsOf(fails(1))), 'OvnNotAsked: ovn-sbctl ended with exit code 1: last');
  assert.match(await refusalOf(optionsOf(fails(0), [podOf('a', false)])), /^OvnNotAsked: no pod of DaemonSet/);
  const refuses: Exec = () => Promise.reject(new KubeApiError(403, 'Forbidden', 'pods "a" is forbidden'));
  assert.match(
    await refusalOf(optionsOf(refuses)),
    /^Forbidden: no permission to run ovn-trace .*pods "a" is forbidden/,
  );
  const late: Exec = () => Promise.reject(new Error('aborted'));
  const signal = AbortSignal.abort(new DOMException('late', 'TimeoutError'));
  assert.match(await refusalOf({ ...optionsOf(late), signal }), /^OvnNotAsked: OVN did not answer in time/);
  const stopped = AbortSignal.abort(new Error('stopped'));
  await assert.rejects(refusalOf({ ...optionsOf(late), signal: stopped }), /^Error: stopped$/);
});

test('a program that this machine does not have is named', async () => {
  const tools = localTools(['unix:/none'], { PATH: '/nonexistent' }, never);
  const answer = await tools.run('ovn-trace', []);
  assert.match('problem' in answer ? answer.problem.message : '', /^ovn-trace could not be run here .* leave out --sb/);
  const late = localTools(['unix:/none'], process.env, AbortSignal.abort(new DOMException('late', 'TimeoutError')));
  const untimely = await late.run('ovn-trace', []);
  assert.match('problem' in untimely ? untimely.problem.message : '', /in time/);
});
