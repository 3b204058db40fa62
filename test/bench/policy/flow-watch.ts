/** Sees each flow of a bridge that is added, changed or deleted, as Open vSwitch reports it (`ovs-ofctl monitor`). */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { ovnProgram } from 'ovsdb-client/testing';
import { run } from '../../lab/run.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

export class FlowWatch {
  readonly #child: ChildProcess;
  /** When a flow with this address was last reported. */
  readonly #atMs = new Map<string, number>();
  #count = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    // What comes later than its first answer is on its standard error.
    if (child.stderr === null) throw new Error('a program without output');
    createInterface(child.stderr).on('line', (line) => {
      if (!line.includes('event=')) return;
      this.#count += 1;
      for (const [, address = ''] of line.matchAll(/nw_(?:src|dst)=([\d.]+)/g))
        this.#atMs.set(address, performance.now());
    });
  }

  /** @param control of the bridge, `unix:PATH`. Resolves once it watches. */
  static async open(control: string): Promise<FlowWatch> {
    const ofctl = ovnProgram('ovs-ofctl');
    // It makes a control socket in that folder.
    const env = { ...process.env, OVS_RUNDIR: dirname(control.replace(/^unix:/, '')) };
    const argv = ['monitor', control, 'watch:!initial'];
    const child = spawn(ofctl, argv, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const watch = new FlowWatch(child);
    // A flow of its own, in a table that OVN does not use.
    const own = 'table=250,priority=1,ip,nw_src=192.0.2.250';
    await eventually('flows are reported', async () => {
      await run([ofctl, 'add-flow', control, `${own},actions=drop`]);
      await run([ofctl, 'del-flows', control, own.replace('priority=1,', '')]);
      return watch.#atMs.size > 0 || notYet('none was');
    });
    return watch;
  }

  forget(address: string): void {
    this.#atMs.delete(address);
  }

  /** When the last flow with the address was reported; undefined: none was, since `forget`. */
  lastMs(address: string): number | undefined {
    return this.#atMs.get(address);
  }

  /** Flows that were reported. */
  get count(): number {
    return this.#count;
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.kill();
    await ended;
  }
}
