import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { choice, text, toggle, UsageError } from '../../lib/run/flags.ts';
import { command, duration, durationMs, optionalDuration, repeatable, type Terminal } from './command.ts';

const terminal: Terminal = {
  env: { ISTHMUS_CONTEXT: 'from-env' },
  out: () => undefined,
  note: () => undefined,
  readInput: () => Promise.resolve(''),
  ask: () => Promise.resolve(undefined),
  isColoured: false,
  now: () => 0,
  signal: new AbortController().signal,
};

async function parse(...argv: string[]): Promise<unknown> {
  let seen: unknown;
  const one = command(
    {
      name: 'try',
      operands: ['NODE', '[OTHER]'],
      summary: 's',
      description: 'What it does.',
      examples: ['isthmus ic try n1'],
    },
    {
      output: choice('output', ['table', 'json'], 'table'),
      namespace: text('namespace', 'kube-system'),
      context: text('context', undefined),
      allow: repeatable('prefixes'),
      force: toggle('force'),
      wait: duration('how long', '60s'),
    },
    ({ flags, operands }) => {
      seen = { ...flags, operands };
      return Promise.resolve(0);
    },
  );
  await one.run(argv, terminal, 'ic');
  return seen;
}

const usage =
  (message: RegExp, exitCode = 2) =>
  (error: unknown) =>
    error instanceof UsageError && error.exitCode === exitCode && message.test(error.message);

describe('the words of a command', () => {
  it('operands and flags in any order, short flags, values apart or with =', async () => {
    assert.deepEqual(
      await parse(
        '--force',
        'n1',
        '-o',
        'json',
        '-n',
        'net',
        '--allow=10.0.0.0/8',
        '--allow',
        'fd00::/8,10.1.0.0/16',
        'n2',
      ),
      {
        output: 'json',
        namespace: 'net',
        context: 'from-env',
        allow: ['10.0.0.0/8', 'fd00::/8', '10.1.0.0/16'],
        force: true,
        wait: '60s',
        noColor: false,
        operands: ['n1', 'n2'],
      },
    );
  });

  it('--no-color is a flag of every command, and of its environment', async () => {
    const coloured: boolean[] = [];
    const text = { name: 'plain', operands: [], summary: 's', description: 'd', examples: [] };
    const plain = command(text, {}, ({ terminal: seen }) => {
      coloured.push(seen.isColoured);
      return Promise.resolve(0);
    });
    const tty = { ...terminal, isColoured: true };
    await plain.run([], tty, 'ic');
    await plain.run(['--no-color'], tty, 'ic');
    await plain.run([], { ...tty, env: { ISTHMUS_NO_COLOR: 'true' } }, 'ic');
    await plain.run([], terminal, 'ic');
    assert.deepEqual(coloured, [true, false, false, false]);
    await assert.rejects(plain.run(['--help'], tty, 'ic'), usage(/--no-color/, 0));
  });

  it('-- ends the flags; - is a word', async () => {
    assert.deepEqual(((await parse('-', '--', '--odd')) as { operands: string[] }).operands, ['-', '--odd']);
  });

  it('a usage error names the wrong word', async () => {
    await assert.rejects(parse(), usage(/try: NODE is missing/));
    await assert.rejects(parse('a', 'b', 'c'), usage(/unexpected argument "c"/));
    await assert.rejects(parse('a', '--odd'), usage(/"--odd" is not a flag/));
    await assert.rejects(parse('a', '-o', 'yaml'), usage(/"yaml" is not one of table, json/));
    await assert.rejects(parse('a', '--wait', '5'), usage(/--wait: "5" is not a duration/));
    await assert.rejects(parse('a', '--wait', '5s', '--wait', '6s'), usage(/given twice/));
    await assert.rejects(parse('a', '--allow'), usage(/--allow needs a value/));
  });

  it('--help anywhere has usage, description, examples and flags', async () => {
    await assert.rejects(
      parse('a', '-h'),
      usage(/usage: isthmus ic try NODE \[OTHER\] \[flags\].*What it does\..*isthmus ic try n1.*--allow/s, 0),
    );
  });

  it('an optional duration takes no following word', async () => {
    const given: unknown[] = [];
    const text = { name: 'try', operands: ['[WORD]'], summary: 's', description: 'd', examples: [] };
    const one = command(text, { wait: optionalDuration('how long', '5m') }, ({ flags, operands }) => {
      given.push([flags.wait, ...operands]);
      return Promise.resolve(0);
    });
    for (const argv of [[], ['--wait', 'word'], ['--wait=30s'], ['--wait=false']]) await one.run(argv, terminal, '');
    assert.deepEqual(given, [[undefined], ['5m', 'word'], ['30s'], [undefined]]);
    await assert.rejects(one.run(['--wait=soon'], terminal, ''), usage(/--wait: "soon" is not a duration/));
    await assert.rejects(one.run(['--help'], terminal, ''), usage(/^usage: isthmus try \[WORD\] \[flags\]\n/, 0));
  });

  it('spans of time', () => {
    assert.deepEqual(
      ['250ms', '30s', '5m', '1h', '2d'].map(durationMs),
      [250, 30_000, 300_000, 3_600_000, 172_800_000],
    );
    for (const wrong of ['', '0s', '1.5h', 's', '1w', '-1s']) assert.throws(() => durationMs(wrong), RangeError, wrong);
  });
});
