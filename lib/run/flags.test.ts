import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { choice, integer, list, parseFlags, port, text, toggle, UsageError } from './flags.ts';

const spec = {
  nb: list('databases'),
  node: text('this node'),
  kubeconfig: text('file', undefined),
  mtu: integer('bytes', 0),
  'metrics-address': text('where to listen', '127.0.0.1:1'),
  'encap-type': choice('tunnels', ['geneve', 'vxlan'], 'geneve'),
  'check-port': port('port of checks', 0),
  verbose: toggle('say more'),
};

const usage = (exitCode: 0 | 2, message: RegExp) => (error: unknown) =>
  error instanceof UsageError && error.exitCode === exitCode && message.test(error.message);

test('values come from the command line, then the environment, then the default', () => {
  const flags = parseFlags(spec, ['--nb', 'unix:/a, tcp:b', '--mtu=1400', '--verbose'], {
    ISTHMUS_NODE: 'n1',
    ISTHMUS_MTU: '9000',
  });
  assert.deepEqual(flags, {
    nb: ['unix:/a', 'tcp:b'],
    node: 'n1',
    kubeconfig: undefined,
    mtu: 1400,
    metricsAddress: '127.0.0.1:1',
    encapType: 'geneve',
    checkPort: 0,
    verbose: true,
  });
});

test('a value may begin with a dash or be empty', () => {
  assert.equal(parseFlags({ a: text('a') }, ['--a', '-1'], {}).a, '-1');
  assert.equal(parseFlags({ a: text('a') }, ['--a='], { ISTHMUS_A: 'x' }).a, '');
});

const refused: readonly [string, readonly string[], RegExp][] = [
  ['an unknown flag', ['--nope', '1'], /"--nope" is not a flag of this program/],
  ['a name of Object', ['--constructor', '1'], /is not a flag/],
  ['a stray word', ['nb'], /"nb" is not a flag/],
  ['a flag given twice', ['--node', 'a', '--node', 'b'], /--node is given twice/],
  ['a missing value', ['--nb'], /--nb needs a value: databases/],
  ['a missing flag', ['--nb', 'x'], /--node \(or ISTHMUS_NODE\) is missing: this node/],
  ['a number that is none', ['--nb', 'x', '--node', 'a', '--mtu', '-1'], /--mtu: "-1" is not a whole number/],
  ['a port that is none', ['--nb', 'x', '--node', 'a', '--check-port', '65536'], /--check-port: "65536" is not a port/],
  [
    'a word that is no choice',
    ['--nb', 'x', '--node', 'a', '--encap-type', 'gre'],
    /"gre" is not one of geneve, vxlan/,
  ],
];
for (const [what, argv, message] of refused)
  test(`${what} is refused by name`, () => {
    assert.throws(() => parseFlags(spec, argv, {}), usage(2, message));
  });

test('--help lists every flag and is no failure', () => {
  assert.throws(
    () => parseFlags(spec, ['--help'], {}),
    usage(0, /--metrics-address <text>\n {6}where to listen \(default "127.0.0.1:1"\)/),
  );
});
