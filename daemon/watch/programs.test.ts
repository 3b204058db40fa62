import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Program } from '../model/program.ts';
import { ProgramLiveness } from '../settle/program-liveness.ts';
import { ProgramWatch } from './programs.ts';

/** The control socket of a program; while `isFrozen`, it accepts questions and answers none. */
class Control {
  isFrozen = false;
  readonly questions: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('data', (chunk) => {
        this.questions.push(chunk.toString());
        if (!this.isFrozen) socket.write('{"id":0,"result":"ovs-vswitchd (Open vSwitch) 3.1.0\\n","error":null}');
      });
    });
  }

  static async listen(path: string): Promise<Control> {
    const control = new Control();
    await new Promise<void>((resolve) => control.#server.listen(path, resolve));
    return control;
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

let folder: string;
let control: Control;
let watch: ProgramWatch | undefined;
const logged: string[] = [];

/** The observed state of the programs; `asked` resolves once each program was asked. */
type Opened = ProgramLiveness & { readonly asked: Promise<void> };

function open(reason?: string): Opened {
  const folders = new Map<Program, string>([
    ['ovs-vswitchd', folder],
    ['ovn-controller', join(folder, 'not-here')],
  ]);
  const liveness = new ProgramLiveness(folders, reason);
  watch = new ProgramWatch({
    folders,
    onAnswer: (program, answer) => liveness.note(program, answer),
    log: { info: (...args: readonly unknown[]) => logged.push(String(args[1])) },
    timing: { periodMs: 20, timeoutMs: 400 },
  });
  return Object.assign(liveness, { asked: watch.asked });
}

function turned(opened: Opened): Promise<void> {
  return new Promise((resolve) => opened.subscribe(resolve));
}

const states = (opened: Opened): unknown => Object.fromEntries(opened.known);

// Hooks outside a suite would run around the tests of all files of this process.
describe('asking programs whether they live', () => {
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'programs-'));
    control = await Control.listen(join(folder, 'ovs-vswitchd.ctl'));
  });
  afterEach(async () => {
    watch?.close();
    watch = undefined;
    logged.length = 0;
    await control.close();
    rmSync(folder, { recursive: true });
  });

  test('a program that answers is up; a program without its folder is not watched, which is logged once', async () => {
    const opened = open();
    await opened.asked;
    assert.deepEqual([states(opened), opened.down], [{ 'ovs-vswitchd': true }, []]);
    assert.deepEqual(JSON.parse(control.questions[0] ?? ''), { method: 'version', params: [], id: 0 });
    assert.equal(logged.length, 1);
    assert.match(logged[0] ?? '', /^ovn-controller is not watched/);
  });

  test('a frozen program is down, and up once it answers again', async () => {
    const opened = open();
    await opened.asked;
    control.isFrozen = true;
    await turned(opened);
    assert.deepEqual(opened.down, [{ program: 'ovs-vswitchd', folder }]);
    control.isFrozen = false;
    await turned(opened);
    assert.deepEqual([states(opened), opened.down], [{ 'ovs-vswitchd': true }, []]);
  });

  test('killed: its socket refuses connections, and its successor has a socket of another name', async () => {
    const opened = open();
    await opened.asked;
    // As after kill -9: closing the server would remove the socket.
    renameSync(join(folder, 'ovs-vswitchd.ctl'), join(folder, 'ovs-vswitchd.77.ctl'));
    await control.close();
    await turned(opened);
    assert.deepEqual(states(opened), { 'ovs-vswitchd': false });
    control = await Control.listen(join(folder, 'ovs-vswitchd.78.ctl'));
    await turned(opened);
    assert.deepEqual(states(opened), { 'ovs-vswitchd': true });
  });

  test('a start while the program is frozen continues from the state in the Node', async () => {
    control.isFrozen = true;
    const opened = open('SwitchDown');
    await opened.asked;
    assert.deepEqual(states(opened), { 'ovs-vswitchd': false });
    control.isFrozen = false;
    await turned(opened);
    assert.deepEqual(states(opened), { 'ovs-vswitchd': true });
  });
});
