/** Runs one program in a test pod. In: a site, a pod, arguments. Out: what was found; a refusal to run it is a result too. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isKubeError } from '../../lib/kube/errors.ts';
import type { CommandResult } from '../../lib/kube/exec.ts';
import type { Probed, TestPod } from '../model/test-traffic.ts';
import { testContainer } from '../plan/traffic/manifests.ts';
import type { TestSite } from './test-site.ts';

/** Longer than any program of a probe runs. */
const execMs = 15_000;
/** Routes, load balancers and policies of new pods arrive within seconds. */
const mostAttempts = 3;

/** @throws the signal's reason */
export async function inPod(
  { exec }: Pick<TestSite, 'exec'>,
  { namespace, name }: TestPod,
  command: readonly string[],
  judge: (result: CommandResult) => Probed,
  signal: AbortSignal,
): Promise<Probed> {
  const late = AbortSignal.timeout(execMs);
  const inTime = AbortSignal.any([signal, late]);
  try {
    return judge(await exec({ namespace, pod: name, container: testContainer, command, signal: inTime }));
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) return { isWell: false, said: `no answer from the kubelet of ${name} within ${execMs / 1000} s` };
    if (!isKubeError(error)) throw error;
    return { isWell: false, said: `${command[0] ?? ''} could not be run in ${namespace}/${name}: ${error.message}` };
  }
}

/** Repeats a probe until it is well, a few times. */
export async function untilWell(
  once: () => Promise<Probed>,
  { pauseMs, signal }: { readonly pauseMs: number; readonly signal: AbortSignal },
): Promise<Probed> {
  for (let attempt = 1; ; attempt += 1) {
    const { isWell, said } = await once();
    if (isWell || attempt === mostAttempts)
      return { isWell, said: attempt > 1 && isWell ? `${said} at attempt ${attempt}` : said };
    await sleep(pauseMs, undefined, { signal });
  }
}
